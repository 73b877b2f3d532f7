"""Contract suites and fakes for tests, of ours and of third parties. Nothing of holter imports it."""
