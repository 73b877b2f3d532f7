"""Storage at scale: `make test-scale`."""
