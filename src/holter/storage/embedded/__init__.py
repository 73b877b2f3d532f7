"""The parts of the embedded engine: SQLite files and a directory."""
