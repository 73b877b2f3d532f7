"""Answers from the storage ports: charts, tables, consoles."""
