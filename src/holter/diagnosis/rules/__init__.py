"""One file per cause, named after it."""
