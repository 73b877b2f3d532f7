"""Reads runs from Python, from a server or from the local directory."""
