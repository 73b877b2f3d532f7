"""The route table of the server: what all files of the folder `api` offer together."""

import importlib
import pkgutil
from functools import cache

from holter.server import api
from holter.server.transport.routing import Route


@cache
def load_routes() -> list[Route]:
    """The routes of every file, in the order of the files' names."""
    found: list[Route] = []
    for module in pkgutil.iter_modules(api.__path__):
        found += importlib.import_module(f"{api.__name__}.{module.name}").ROUTES
    return found
