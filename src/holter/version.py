"""The version, here alone: reading it from the installed metadata would cost an import of ten milliseconds."""

__version__ = "0.1.0"
