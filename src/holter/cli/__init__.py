"""The `holter` command: finds the verb's file, lets it work, and turns errors into one line and an exit code."""

from holter.lean import load_msgspec

load_msgspec()
