"""Lives inside the user's training process: standard library and msgspec only, and it never raises once training runs."""
