"""One file per source that is read after a process has died."""
