"""Ways in which notebooks hold memory without meaning to, each with who is to be named for it, and what frees it."""

from typing import NamedTuple

OPEN = """
import ctypes, functools, gc, json
import numpy as np, torch
import holter
from holter.memory.readings import rss_bytes
run = holter.init(project="notebook")
decoy = np.ones(2_000_000)
def rss_mib():
    gc.collect()
    ctypes.CDLL(None).malloc_trim(0)
    return rss_bytes() / 2**20
"""
MODULE = """
import numpy
CACHE = {}
def features(key):
    CACHE[key] = numpy.ones(8_000_000)
"""


class Seed(NamedTuple):
    """Cells that leave about 60 MiB held by somebody, who it is, and what frees it."""

    cells: tuple[str, ...]
    name: str
    frees: str


SEEDS = {
    "losses with graph": Seed(
        (
            "model = torch.nn.Sequential(torch.nn.Linear(500, 500), torch.nn.Tanh(), torch.nn.Linear(500, 1))",
            "losses = []\nfor _ in range(40):\n    losses.append(model(torch.rand(400, 500)).square().mean())",
        ),
        "losses",
        "del losses",
    ),
    "a running loss": Seed(
        (
            "net = torch.nn.Sequential(torch.nn.Linear(500, 500), torch.nn.Tanh(), torch.nn.Linear(500, 1))",
            "total = 0\nfor _ in range(40):\n    total += net(torch.rand(400, 500)).square().mean()",
        ),
        "total",
        "del total",
    ),
    "Out": Seed(("np.ones(8_000_000)", "'something else'"), "Out[{0}]", "%xdel _{0}"),
    "Out and a name": Seed(("table = np.ones(8_000_000)", "table"), "table", "%xdel table"),
    "Out with views of it": Seed(
        ("whole = np.ones(8_000_000)\nwhole[:3]", "whole[3:5]"), "whole", "%holter free out\ndel whole"
    ),
    "Out cleared by hand": Seed(("np.ones(8_000_000)", "Out.clear()"), "_{0}", "%xdel _{0}"),
    "an exception's frame": Seed(
        ("def train():\n    batch = np.ones(8_000_000)\n    return batch @ np.ones(3)", "train()"),
        "last traceback",
        "%holter free traceback",
    ),
    "a cause's frame": Seed(
        (
            "def load():\n    raw = np.ones(8_000_000)\n    raise OSError('unreadable')",
            "try:\n    load()\nexcept OSError as error:\n    raise ValueError('no data') from error",
        ),
        "last traceback",
        "%holter free traceback",
    ),
    "a global dict": Seed(
        ("cache = {}\ndef remember(key):\n    cache[key] = np.ones(1_000_000)", "for n in range(8):\n    remember(n)"),
        "cache",
        "cache.clear()",
    ),
    "lru_cache": Seed(
        ("@functools.lru_cache\ndef load(n):\n    return np.ones(1_000_000 + n)", "for n in range(8): load(n)"),
        "load",
        "load.cache_clear()",
    ),
    "a module's cache": Seed(
        ("import features_of_notebook", "features_of_notebook.features('a')"),
        "features_of_notebook.CACHE",
        "import features_of_notebook\nfeatures_of_notebook.CACHE.clear()",
    ),
}
