"""The runs of one local directory: find them, read them, and settle what a dead sidecar left open."""
