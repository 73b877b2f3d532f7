"""Moves or copies all that a server has from one storage to another."""
