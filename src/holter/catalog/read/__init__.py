"""Runs as they are found: their journals, samples, cells and stacks."""
