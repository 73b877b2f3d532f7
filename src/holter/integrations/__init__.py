"""One file for each framework that holter records natively; each imports its framework and `holter.client` alone.

A file is called as its framework is. Its docstring has the lines that a user pastes, `REQUIRES` the versions that are
tried, and where `autolog()` can switch it on, a function of that name that does so once its framework is imported.
"""
