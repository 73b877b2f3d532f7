"""What holds memory in the user's process: its variables by size, and its lines by what they took."""
