"""Received journals and texts as the files that they are where they are recorded, below one directory."""
