"""Watches a training process from outside: one per run and host, started by the client, outlives the death."""
