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
import holter.cli, msgspec
assert "typing_extensions" not in sys.modules
waits_for_frameworks = finders.pop(0)
assert type(waits_for_frameworks).__name__ == "Arrivals"
assert sys.meta_path is finders and finders == before
import typing_extensions
assert msgspec.json.decode(b'{"a": 1}', type=typing_extensions.TypedDict("Row", {"a": typing_extensions.Required[int]}))
"""
LATER_IN_A_SIDECAR = """
from holter.lean import load_msgspec_alone
load_msgspec_alone()
import datetime, decimal, uuid, msgspec, msgspec.inspect, msgspec.json
assert str(decimal.Decimal("1.5")) == "1.5" and len(str(uuid.uuid4())) == 36
assert isinstance(msgspec.inspect.type_info(int), msgspec.inspect.IntType)
class Row(msgspec.Struct):
    name: str
    when: datetime.datetime | None = None
for codec in (msgspec.json, msgspec.msgpack):
    assert codec.decode(codec.encode(Row("a")), type=Row) == Row("a")
"""
ANOTHER_MSGSPEC = """
import sys
import holter.lean
class Fails(holter.lean._StandIn):
    def __getattr__(self, name):
        raise AttributeError(name)
holter.lean._StandIn = Fails
holter.lean.load_msgspec_alone()
import decimal, msgspec
assert msgspec.json.decode(b"1.5", type=decimal.Decimal) == decimal.Decimal("1.5")
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
    command = [sys.executable, "-X", "importtime", "-m", "holter.sidecar"]
    said = subprocess.run(command, capture_output=True, text=True, check=False).stderr
    loaded = {line.rpartition("|")[2].strip() for line in said.splitlines() if line.startswith("import time:")}
    assert {"msgspec", "holter.sidecar.loop"} <= loaded
    unneeded = {"decimal", "platform", "selectors", "socket", "textwrap", "uuid"}
    # It is asked for, and not found.
    assert (loaded - {"typing_extensions"}) & (DEAR | unneeded) == set()


def test_what_a_sidecar_loads_of_msgspec_is_whole_for_who_comes_later() -> None:
    assert loaded_by(LATER_IN_A_SIDECAR) == set()


def test_another_msgspec_is_loaded_with_all_that_it_wants() -> None:
    assert loaded_by(ANOTHER_MSGSPEC) == set()


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
