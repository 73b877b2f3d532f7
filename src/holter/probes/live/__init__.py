"""One file per source that is sampled while a run lives: `open_probe()` gives its probe, the file name its name."""
