"""One file for each engine; its name is the scheme of the URL that opens it."""
