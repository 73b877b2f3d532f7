"""Guards that CI cannot pass by leaving tests out."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

CONFTEST = Path(__file__).parents[1] / "conftest.py"

IN_TEST = 'import pytest\n\ndef test_it():\n    pytest.skip("{}")\n'
IN_MODULE = 'import pytest\n\npytest.skip("{}", allow_module_level=True)\n'


def run_pytest(folder: Path, code: str, *, ci: str) -> int:
    shutil.copy(CONFTEST, folder)
    (folder / "test_it.py").write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "--rootdir=.", "-p", "no:cacheprovider"]
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take longer than the tests
    environ = {**os.environ, "CI": ci, "PYTHONPATH": str(CONFTEST.parents[1]), **plugins}
    return subprocess.run(command, cwd=folder, env=environ, check=False).returncode


# pytest ends with 1 for a failed test, 2 for a file that cannot be collected, 5 where no test is left.
@pytest.mark.parametrize(("code", "in_ci", "elsewhere"), [(IN_TEST, 1, 0), (IN_MODULE, 2, 5)], ids=["test", "module"])
def test_a_skip_for_a_missing_component_fails_in_ci_only(code: str, in_ci: int, elsewhere: int, tmp_path: Path) -> None:
    assert run_pytest(tmp_path, code.format("no mkfs.ext4"), ci="true") == in_ci
    assert run_pytest(tmp_path, code.format("no mkfs.ext4"), ci="") == elsewhere


@pytest.mark.parametrize(("code", "in_ci"), [(IN_TEST, 0), (IN_MODULE, 5)], ids=["test", "module"])
def test_a_skip_for_another_platform_is_allowed_in_ci(code: str, in_ci: int, tmp_path: Path) -> None:
    assert run_pytest(tmp_path, code.format("not on this platform: pidfd"), ci="true") == in_ci
