"""A death as people are told of it."""
