"""What a worker can make: one file for each kind of work, with `make(work)`, which returns the records to be kept."""
