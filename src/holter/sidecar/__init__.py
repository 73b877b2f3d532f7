"""Watches a training process from outside: one per run and host, started by the client, outlives the death."""

from holter.lean import load_msgspec

load_msgspec()
