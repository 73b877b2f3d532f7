"""From what is known about the end of a run to its verdict."""
