"""Guards who may import whom, and what `import holter` costs the training process."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# msgspec picks up typing_extensions where it is installed.
ALLOWED = sys.stdlib_module_names | {"holter", "msgspec", "typing_extensions"}

# What site files of the environment have already loaded is not ours.
LIST_LOADED = "import sys; before = set(sys.modules); import holter; holter.init; print(*set(sys.modules) - before)"


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    lint = subprocess.run([*command, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_import_holter_loads_only_the_standard_library_and_msgspec() -> None:
    fresh = subprocess.run([sys.executable, "-c", LIST_LOADED], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in fresh.stdout.split()}
    assert "holter" in loaded
    assert loaded - ALLOWED == set()
