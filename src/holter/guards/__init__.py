"""Windows of series in, warnings out, while a run lives. Pure: reads no file, no clock, no network."""
