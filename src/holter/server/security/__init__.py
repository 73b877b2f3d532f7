"""Who may come in, and with what."""
