"""One file for each guard: its name is the guard's id, `open_check(limits)` makes the check of one run."""
