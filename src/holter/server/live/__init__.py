"""What happens to runs, while it happens."""
