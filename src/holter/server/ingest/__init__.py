"""From journals, received or local, to the storage ports."""
