"""Several servers on one storage whose parts die one after the other, and runs that go on meanwhile."""
