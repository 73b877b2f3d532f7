"""The guards on recorded runs, and at work."""
