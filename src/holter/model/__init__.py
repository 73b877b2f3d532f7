"""The nouns that every process shares; pure data, no I/O."""
