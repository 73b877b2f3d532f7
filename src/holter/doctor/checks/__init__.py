"""One file for each check; its name is the id of what it finds."""
