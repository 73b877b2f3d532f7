"""Artifacts and checkpoints."""
