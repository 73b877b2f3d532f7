"""Guards that CI cannot pass by leaving tests out."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

CONFTEST = Path(__file__).parents[1] / "conftest.py"

MISSING, FOREIGN = "no mkfs.ext4", "not on this platform: pidfd"
FILES = {
    "test_missing.py": f'import pytest\n\ndef test_it():\n    pytest.skip("{MISSING}")\n',
    "test_missing_module.py": f'import pytest\n\npytest.skip("{MISSING}", allow_module_level=True)\n',
    "test_foreign.py": f'import pytest\n\ndef test_it():\n    pytest.skip("{FOREIGN}")\n',
    "test_foreign_module.py": f'import pytest\n\npytest.skip("{FOREIGN}", allow_module_level=True)\n',
}


def outcomes(folder: Path, *, ci: str) -> dict[str, str]:
    """What became of each file: all of them in one pytest."""
    shutil.copy(CONFTEST, folder)
    for name, code in FILES.items():
        (folder / name).write_text(code)
    command = [sys.executable, "-m", "pytest", "-q", "-ra", "--rootdir=.", "-p", "no:cacheprovider"]
    command += ["--continue-on-collection-errors", "--no-fold-skipped"]
    plugins = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}  # they take longer than the tests
    environ = {**os.environ, "CI": ci, "PYTHONPATH": str(CONFTEST.parents[1]), **plugins}
    done = subprocess.run(command, cwd=folder, env=environ, capture_output=True, text=True, check=False)
    told = re.findall(r"^(SKIPPED|FAILED|ERROR) (?:\[1\] )?(\w+\.py)", done.stdout, re.MULTILINE)
    found = {name: outcome for outcome, name in told}
    assert set(found) == set(FILES), done.stdout
    assert (done.returncode == 0) == (set(found.values()) == {"SKIPPED"}), done.stdout
    return found


def test_a_skip_for_a_missing_component_fails_in_ci_and_one_for_another_platform_does_not(tmp_path: Path) -> None:
    allowed = {"test_foreign.py": "SKIPPED", "test_foreign_module.py": "SKIPPED"}
    assert outcomes(tmp_path, ci="true") == {**allowed, "test_missing.py": "FAILED", "test_missing_module.py": "ERROR"}


def test_elsewhere_every_skip_is_allowed(tmp_path: Path) -> None:
    assert outcomes(tmp_path, ci="") == dict.fromkeys(FILES, "SKIPPED")
