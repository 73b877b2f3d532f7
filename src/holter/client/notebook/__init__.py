"""Inside a notebook's kernel: its cells, the death of the kernel before it, magics."""
