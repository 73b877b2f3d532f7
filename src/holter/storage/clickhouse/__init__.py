"""What the engine `clickhouse:` is made of."""
