"""Every promise of holter, as a test that fails without it."""
