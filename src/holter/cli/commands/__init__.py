"""One file per command: its name is the file's name, its help the docstring, its place in the overview `GROUP`."""
