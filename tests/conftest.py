"""Keeps every test away from the user's runs, and makes a skipped test a failed one in CI."""

import compileall
import gc
import os
import signal
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from tests.environment import isolate

SOURCE = Path(__file__).parents[1] / "src" / "holter"

TESTS = Path(__file__).parent
QUICK = ("unit", "contract", "architecture")
# Begun first, so that no process is left alone with one of them at the end.
LONGEST = """
e2e/test_upload_chaos.py
architecture/test_types.py
contract/test_storage.py
ui/test_sources.py
zoo/test_zoo.py
jupyter/test_lab.py
jupyter/test_ends.py
jupyter/test_server.py
e2e/test_notebook.py
e2e/test_notebook_cells.py
e2e/test_shipping.py
e2e/test_run.py
e2e/test_run_survival.py
browser/test_run.py
browser/test_workspace.py
e2e/test_recording.py
e2e/test_secrets.py
""".split()

IN_CI = os.environ.get("CI") == "true"
ALLOWED_SKIP = "not on this platform:"


def pytest_configure(config: pytest.Config) -> None:
    if worker := getattr(config, "workerinput", None):
        begin_elsewhere(config, int(worker["workerid"].removeprefix("gw")), worker["workercount"])
    else:
        # With PYTHONDONTWRITEBYTECODE each of the programs that they start would compile all of it again.
        compileall.compile_dir(SOURCE, quiet=2)
    # No example fails because the machine was busy; and in CI a change is judged by the same ones each time: those that
    # nobody has tried yet are tried elsewhere.
    profile = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow], derandomize=IN_CI)
    settings.register_profile("holter", profile)
    settings.load_profile("holter")
    # Whoever starts the tests in the background leaves them, and all programs that they start, deaf to these.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)


def begin_elsewhere(config: pytest.Config, worker: int, count: int) -> None:
    """Of several processes each begins with other files: what one has compiled is there when the next comes to it."""
    if config.args == ["tests"]:
        # What is named here is taken even where it is to be ignored.
        ignored = {Path(each).resolve() for each in config.getoption("ignore") or ()}
        config.args = sorted(str(path) for path in TESTS.glob("[!_]*/") if path not in ignored)
    first = len(config.args) * worker // count
    config.args = config.args[first:] + config.args[:first]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """What takes long comes first, then what waits for processes; the quick ones fill the time at the end."""
    items.sort(key=lambda item: (rank(item.path), item.path))


def rank(path: Path) -> int:
    place = path.relative_to(TESTS).as_posix()
    return LONGEST.index(place) if place in LONGEST else len(LONGEST) + is_quick(path)


def is_quick(path: Path) -> bool:
    return path.relative_to(TESTS).parts[0] in QUICK


def pytest_collection_finish() -> None:
    """The garbage collector need not look through thousands of tests and all modules again and again."""
    gc.freeze()


@pytest.fixture(autouse=True)
def own_environment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    isolate(monkeypatch, own_place(request))


def own_place(request: pytest.FixtureRequest) -> Path:
    """Thousands of tests write nothing: no directory is made and removed for them."""
    if "tmp_path" in request.fixturenames or not is_quick(request.path):
        place: Path = request.getfixturevalue("tmp_path")
        return place
    factory: pytest.TempPathFactory = request.getfixturevalue("tmp_path_factory")
    return factory.getbasetemp() / "of-no-test"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if not hasattr(report, "wasxfail"):
        refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    refuse_skip(report)
    return report


def refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Fail what was skipped for want of a component: CI has them all, or it proves nothing."""
    if not (IN_CI and report.skipped and isinstance(report.longrepr, tuple)):
        return
    path, line, text = report.longrepr
    reason = text.removeprefix("Skipped: ")
    if not reason.startswith(ALLOWED_SKIP):
        report.outcome = "failed"
        report.longrepr = f"{path}:{line}: skipped in CI: {reason}. Add it to scripts/system-packages or the dev extra."
