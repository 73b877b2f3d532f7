"""Tables that were logged, read back: rows in parts, sorted, filtered, counted."""
