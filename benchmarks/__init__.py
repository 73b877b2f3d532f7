"""The figures that the README quotes, measured: `make bench`, or `benchmarks/run.py --help`."""
