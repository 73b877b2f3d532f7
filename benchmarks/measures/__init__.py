"""One file per measure; its name is the name on the command line, its docstring says how it measures."""
