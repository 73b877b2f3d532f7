"""Each type of media from each kind of input, read back."""
