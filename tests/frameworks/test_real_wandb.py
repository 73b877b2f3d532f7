"""The door beside a real wandb: it knows all that one has, stands before it, and gives it back."""

import subprocess
import sys

PROGRAM = """
import importlib, pkgutil, types
import wandb as real
import wandb.apis.public, wandb.sdk.lib, wandb.sdk.data_types, wandb.errors.term
modules = [real, real.apis.public, real.apis, real.data_types, real.errors, real.errors.term, real.plot, real.util]
modules += [importlib.import_module(f"wandb.sdk.{each.name}") for each in pkgutil.iter_modules(real.sdk.__path__)]
has = {module.__name__: sorted(name for name in dir(module) if not name.startswith("_")
                               and getattr(getattr(module, name, None), "__module__", "").startswith("wandb"))
       for module in modules}
settings, run, api = set(real.Settings.model_fields), dir(real.sdk.wandb_run.Run), dir(real.apis.public.Run)

import holter.as_wandb
import wandb
assert wandb is not real and wandb.__spec__.origin == "holter"
assert importlib.import_module("importlib.metadata").version("wandb") == real.__version__
for module, names in has.items():
    for name in names:
        getattr(importlib.import_module(module), name)
assert sum(map(len, has.values())) > 200, sum(map(len, has.values()))
assert all(getattr(wandb.Settings(), name) is None for name in settings)
with wandb.init() as active:
    assert [name for name in run if not name.startswith("_") and not hasattr(active, name)] == []
found = wandb.Api().run(active.id)
assert [name for name in api if not name.startswith("_") and not hasattr(found, name)] == []

holter.as_wandb.off()
import wandb
assert wandb is real and wandb.Settings.__module__ == "wandb.sdk.wandb_settings"
"""


def test_it_knows_what_a_real_one_has_and_gives_it_back() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
