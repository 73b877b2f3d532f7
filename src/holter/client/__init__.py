"""Lives inside the training process: standard library and msgspec only; never raises once training runs."""
