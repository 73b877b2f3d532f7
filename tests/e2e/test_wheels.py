"""A wheel with and without a compiler: both record, and one of them has a signal witness."""

import os
import platform
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from holter.journal.signal_log import read_signal_log

ROOT = Path(__file__).parents[2]
PROGRAM = (
    "import holter, os; run = holter.init(); run.log({'a': 1}); print(run.dir, flush=True); os.kill(os.getpid(), 15)"
)
COMPILED = "holter/native/signal_witness.so"

pytestmark = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in ("x86_64", "aarch64"),
    reason="not on this platform: the signal witness is for Linux on x86-64 and aarch64",
)


def build(target: str, folder: Path, *, compiler: str) -> Path:
    command = [sys.executable, "-m", "hatchling", "build", "-t", target, "-d", str(folder)]
    subprocess.run(command, cwd=ROOT, env={**os.environ, "CC": compiler}, check=True, capture_output=True)
    (built,) = folder.iterdir()
    return built


def record(wheel: Path, folder: Path) -> tuple[int, str]:
    """Run a program with what is in the wheel; its exit code and the directory of its run."""
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder)
    environment = {**os.environ, "PYTHONPATH": str(folder), "HOLTER_QUIET": "1"}
    command = [sys.executable, "-c", f"{PROGRAM}  # {holter_is_there(folder)}"]
    ended = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=False)
    return ended.returncode, ended.stdout.strip()


def holter_is_there(folder: Path) -> str:
    command = [sys.executable, "-c", "import holter; print(holter.__file__)"]
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    found = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True, check=True)
    assert found.stdout.startswith(str(folder))
    return found.stdout.strip()


def test_a_wheel_built_with_a_compiler_has_a_witness_and_a_platform(tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path / "dist", compiler="cc")
    assert wheel.name.endswith(f"-py3-none-linux_{platform.machine()}.whl")
    code, directory = record(wheel, tmp_path / "installed")
    assert code == -15
    assert [each.signal for each in read_signal_log(directory).caught] == [15]


@pytest.mark.parametrize("compiler", ["/bin/false", "/bin/true", "no-such-compiler"])
def test_a_wheel_built_without_a_compiler_records_all_the_same(compiler: str, tmp_path: Path) -> None:
    wheel = build("wheel", tmp_path / "dist", compiler=compiler)
    assert wheel.name.endswith("-py3-none-any.whl")
    assert COMPILED not in zipfile.ZipFile(wheel).namelist()
    code, directory = record(wheel, tmp_path / "installed")
    assert code == -15
    assert list(Path(directory).glob("*.seg"))
    assert not list(Path(directory).glob("signals*"))


def test_a_source_distribution_carries_the_source_and_nothing_compiled(tmp_path: Path) -> None:
    archive = build("sdist", tmp_path / "dist", compiler="cc")
    names = subprocess.run(["tar", "tzf", archive], capture_output=True, text=True, check=True).stdout.splitlines()
    assert any(name.endswith("/src/holter/native/signal_witness.c") for name in names)
    assert any(name.endswith("/hatch_build.py") for name in names)
    assert not [name for name in names if name.endswith(".so")]
