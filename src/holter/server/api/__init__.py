"""One file for each resource of the HTTP API; each has the ROUTES that it offers."""
