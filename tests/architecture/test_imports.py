"""Guards who may import whom, and what `import holter` costs the training process."""

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]

# msgspec picks up typing_extensions where it is installed.
ALLOWED = sys.stdlib_module_names | {"holter", "msgspec", "typing_extensions"}

# What site files of the environment have already loaded is not ours.
LIST_LOADED = "import sys; before = set(sys.modules); import holter; holter.init; print(*set(sys.modules) - before)"


# Each is loaded where it is needed; at the start of every run it would be paid for by everybody.
DEAR = {
    "asyncio",
    "http",
    "inspect",
    "logging",
    "numpy",
    "psutil",
    "pynvml",
    "shutil",
    "subprocess",
    "traceback",
    "urllib",
}

LIST_OF_SIDECAR = (
    "import sys; before = set(sys.modules); import holter.sidecar.__main__; "
    "from holter.probes.sampler import open_sampler; open_sampler(); print(*set(sys.modules) - before)"
)
LIST_OF_RUN = (
    "import sys; before = set(sys.modules); import holter; holter.init(mode='offline').log({'loss': 1.0}); "
    "print(*set(sys.modules) - before)"
)
LIST_OF_RULES = (
    "import sys; before = set(sys.modules); import holter.cli; "
    "from holter.diagnosis.loading import load_rules; load_rules(); print(*set(sys.modules) - before)"
)
SEEN_BY_OTHERS = """
import sys
finders = sys.meta_path
before = [*finders]
import holter.sidecar, msgspec
assert "typing_extensions" not in sys.modules
assert sys.meta_path is finders and finders == before
import typing_extensions
assert msgspec.json.decode(b'{"a": 1}', type=typing_extensions.TypedDict("Row", {"a": typing_extensions.Required[int]}))
"""


def test_the_import_contracts_hold() -> None:
    command = [sys.executable, "-c", "from importlinter.cli import lint_imports_command; lint_imports_command()"]
    lint = subprocess.run([*command, "--no-logo"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert lint.returncode == 0, lint.stdout + lint.stderr


def test_import_holter_loads_only_the_standard_library_and_msgspec() -> None:
    fresh = subprocess.run([sys.executable, "-c", LIST_LOADED], capture_output=True, text=True, check=True)
    loaded = {name.partition(".")[0] for name in fresh.stdout.split()}
    assert "holter" in loaded
    assert loaded - ALLOWED == set()


def loaded_by(program: str, **environ: str) -> set[str]:
    fresh = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env=os.environ | environ
    )
    return set(fresh.stdout.split())


def test_a_sidecar_starts_without_what_only_some_of_them_need() -> None:
    assert loaded_by(LIST_OF_SIDECAR) & (DEAR | {"typing_extensions"}) == set()


def test_a_run_begins_without_what_only_some_of_them_need(tmp_path: Path) -> None:
    environ = {"HOLTER_DIR": str(tmp_path), "HOLTER_SILENT": "1", "HOLTER_WITHOUT": ""}
    # What describes an exception is loaded before there is one.
    assert loaded_by(LIST_OF_RUN, **environ) & (DEAR - {"traceback"} | {"socket", "typing_extensions"}) == set()


def test_the_rules_are_loaded_without_what_only_some_need() -> None:
    assert (
        loaded_by(LIST_OF_RULES) & {"email", "importlib.metadata", "inspect", "pkgutil", "typing_extensions"} == set()
    )


def test_what_msgspec_does_without_is_there_for_everybody_else() -> None:
    assert loaded_by(SEEN_BY_OTHERS) == set()
