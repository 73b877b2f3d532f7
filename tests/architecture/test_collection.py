"""What it costs to know which tests there are: each process of `make test` imports all of their files."""

import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
LARGE = ("IPython", "matplotlib", "pandas", "polars", "pyarrow", "schemathesis", "sklearn", "torch", "transformers")
AT_ONCE = re.compile(rf"^(?:import|from) ({'|'.join(LARGE)})\b", re.MULTILINE)
# Not among what `make test` runs.
APART = ("benchmarks", "frameworks", "scale")


def test_large_libraries_are_imported_only_by_tests_that_use_them() -> None:
    files = [path for path in TESTS.rglob("test_*.py") if path.relative_to(TESTS).parts[0] not in APART]
    found = {(str(path.relative_to(TESTS)), name) for path in files for name in AT_ONCE.findall(path.read_text())}
    assert found == set(), "use tests.lazily"
