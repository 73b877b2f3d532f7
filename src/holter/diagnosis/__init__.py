"""Evidence in, verdicts out. Pure: reads no file, no clock, no network."""
