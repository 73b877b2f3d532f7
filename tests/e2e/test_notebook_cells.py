"""What is recorded of a kernel's cells, what it shows, and that nothing of it disturbs the notebook."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from holter.catalog.catalog import Catalog
from holter.journal.rundir import data_directory
from holter.model.records import KERNEL, CellEnded, CellStarted, Described, Finished
from tests.e2e.kernels import Kernel, kernel_in
from tests.e2e.programs import only_run, records, wait_until
from tests.unit.catalog.journals import BEGAN_NS, Journal, age, dead

OPEN = "import holter; run = holter.init(project='notebook')"
HOLTER = [sys.executable, "-m", "holter"]


@pytest.fixture
def kernel(tmp_path: Path) -> Iterator[Kernel]:
    with kernel_in(tmp_path) as kernel:
        yield kernel


def cells() -> list[tuple[CellStarted, CellEnded | None]]:
    """Each cell of the only run with its end, in order."""
    said = list(records(only_run().row.directory))
    ends = {each.ordinal: each for each in said if isinstance(each, CellEnded)}
    starts = {each.ordinal: each for each in said if isinstance(each, CellStarted)}
    return [(start, ends.get(ordinal)) for ordinal, start in sorted(starts.items())]


def ended(source: str) -> CellEnded:
    """The end of the cell with this source."""
    [end] = [end for start, end in cells() if start.source == source]
    assert end is not None
    return end


def ls(*arguments: str) -> list[dict[str, Any]]:
    done = subprocess.run([*HOLTER, "ls", "--json", *arguments], capture_output=True, check=True)
    runs: list[dict[str, Any]] = json.loads(done.stdout)["runs"]
    return runs


def output() -> str:
    """What the only run knows of the console."""
    directory = Path(only_run().row.directory)
    return "".join(path.read_text() for path in sorted(directory.glob("output*.log")))


def test_each_cell_is_known_with_its_number_source_and_true_peak(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.run("import numpy")
    held = "held = numpy.ones(10_000_000)"
    passing = "passing = numpy.ones(20_000_000); del passing"
    kernel.run(held)
    kernel.run(passing)
    assert [(start.number, start.source) for start, _ in cells()] == [
        (1, OPEN),
        (2, "import numpy"),
        (3, held),
        (4, passing),
    ]
    before, after = ended("import numpy"), ended(held)
    assert before.rss_bytes is not None
    assert after.rss_bytes is not None
    assert after.rss_bytes - before.rss_bytes == pytest.approx(80e6, rel=0.1)
    [variable] = after.variables
    assert (variable.name, variable.type) == ("held", "numpy.ndarray")
    assert variable.host_bytes == pytest.approx(80e6, rel=0.001)
    gone = ended(passing)
    assert gone.rss_bytes is not None
    assert gone.peak_bytes is not None
    assert gone.rss_bytes - after.rss_bytes < 20e6
    assert gone.peak_bytes - after.rss_bytes == pytest.approx(160e6, rel=0.1)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        ("1 / 0", "ZeroDivisionError: division by zero"),
        ("1 +", "SyntaxError: invalid syntax"),
        ("%run script.py", "KeyError: 'lr'"),
        ("get_ipython().run_cell('1 / 0')", "ZeroDivisionError: division by zero"),
        ("raise SystemExit", "SystemExit"),
        ("'fine'", ""),
    ],
)
def test_what_went_wrong_in_a_cell_is_known(code: str, error: str, kernel: Kernel, tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("raise KeyError('lr')")
    kernel.run(OPEN)
    kernel.run(code)
    assert ended(code).error.startswith(error)
    assert bool(ended(code).error) == bool(error)
    assert len(cells()) == 2
    kernel.shut_down()
    assert only_run().row.state == "finished"


def test_the_cells_of_a_run_can_be_listed(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.run("1 / 0")
    kernel.begin("print('ready', flush=True)\nimport time; time.sleep(100)")
    done = subprocess.run([*HOLTER, "show", "--cells"], capture_output=True, text=True, check=True)
    heading, first, second, third = done.stdout.splitlines()
    assert heading.split() == ["CELL", "STARTED", "TOOK", "GREW", "BY", "PEAK", "SOURCE", "ERROR"]
    assert OPEN in first
    assert second.split()[0] == "[2]"
    assert second.endswith("1 / 0" + " " * (len(OPEN) - 5) + "  ZeroDivisionError: division by zero")
    assert "not over" in third
    kernel.kill()
    as_json = subprocess.run([*HOLTER, "show", "--cells", "--json"], capture_output=True, check=True).stdout
    cells = json.loads(as_json)["cells"]
    assert [(cell["number"], cell["took_s"] is None) for cell in cells] == [(1, False), (2, False), (3, True)]


def test_secrets_in_a_cell_are_not_kept(kernel: Kernel) -> None:
    kernel.run(OPEN)
    kernel.run("api_key = 'abcd1234abcd1234abcd'")
    assert [start.source for start, _ in cells()][-1] == "api_key = '********************'"


def test_all_that_a_cell_printed_and_showed_is_kept(kernel: Kernel) -> None:
    kernel.run(f"{OPEN}; print('from the first cell')")
    kernel.run("import os, sys\nprint('to stderr', file=sys.stderr)\nos.system('echo from a child')\n6 * 7")
    kernel.run("import threading; threading.Timer(0.2, print, ['between cells']).start()")
    time.sleep(0.6)
    kernel.run("from IPython.display import display; display({'text/plain': 'shown'}, raw=True)")
    kernel.run("run.finish(); print('after the run')")
    kept = output()
    for line in ("from the first cell", "to stderr", "from a child", "Out[2]: 42", "between cells", "shown"):
        assert f"{line}\n" in kept
    assert "after the run" not in kept


def test_load_ext_alone_records_the_kernel_apart_from_runs(kernel: Kernel, tmp_path: Path) -> None:
    kernel.run("%load_ext holter")
    kernel.run("print('hello')")
    assert "needs a run" in kernel.run("import holter; holter.log({'loss': 1})").error
    assert ls() == []
    [recorded] = ls("--kernels")
    assert (recorded["kind"], recorded["state"], recorded["project"]) == ("kernel", "running", "notebooks")
    assert "hello\n" in output()
    kernel.begin("print('ready', flush=True)\nimport time; time.sleep(100)")
    kernel.kill()
    with kernel_in(tmp_path) as successor:
        card = successor.run("%load_ext holter").card
        assert "killed" in card
        assert "import time; time.sleep(100)" in card
        assert "killed" in successor.run("%holter why").card


def test_a_run_in_a_recorded_kernel_comes_and_goes_by_itself(kernel: Kernel) -> None:
    kernel.run("%load_ext holter")
    kernel.run(OPEN)
    kernel.run("run.log({'loss': 1.0})")
    kernel.run(OPEN)
    assert [(each["state"], each["steps"]) for each in ls()] == [("running", 0), ("finished", 1)]
    assert [each["state"] for each in ls("--kernels")] == ["running"]
    kernel.shut_down()
    assert {each["state"] for each in (*ls(), *ls("--kernels"))} == {"finished"}


def leave_behind(name: str, *, kind: str, days: int) -> Path:
    """What a run leaves that ended well so long ago."""
    directory = Path(data_directory(os.environ), "runs", name)
    directory.mkdir(parents=True)
    described = Described(at_ns=BEGAN_NS, project="notebooks", name=name, started_ns=BEGAN_NS, kind=kind)
    Journal(directory, dead()).say(described, Finished(at_ns=BEGAN_NS + 1, exit_code=0)).close()
    age(directory, days * 86_400.0)
    return directory


def test_when_a_recorded_kernel_ends_the_records_of_old_ones_go_and_runs_stay(kernel: Kernel) -> None:
    old, young = leave_behind("old", kind=KERNEL, days=20), leave_behind("young", kind=KERNEL, days=2)
    metrics = leave_behind("metrics", kind="", days=20)
    kernel.run("%load_ext holter")
    assert old.exists()
    kernel.shut_down()
    wait_until(lambda: not old.exists(), within_s=60)
    assert young.exists()
    assert metrics.exists()
    [own] = [each for each in ls("--kernels") if each["name"] not in ("old", "young")]
    told = Path(own["directory"], "debug-internal.log")
    wait_until(lambda: "INFO records of old kernels were removed: old\n" in told.read_text())


INSIDES = """shell = get_ipython()
hooks = {event: len(callbacks) for event, callbacks in shell.events.callbacks.items()}
print(hooks, 'do_shutdown' in vars(shell.kernel), 'showtraceback' in vars(shell))"""


def test_unloading_ends_the_record_and_takes_everything_off(kernel: Kernel) -> None:
    clean = kernel.run(INSIDES).stdout
    kernel.run("%load_ext holter")
    assert kernel.run(INSIDES).stdout != clean
    kernel.run("%unload_ext holter")
    assert kernel.run(INSIDES).stdout == clean
    assert [each["state"] for each in ls("--kernels")] == ["finished"]


def test_nothing_is_recorded_where_holter_is_disabled(tmp_path: Path) -> None:
    with kernel_in(tmp_path, HOLTER_MODE="disabled") as kernel:
        for code in ("%load_ext holter", OPEN, "run"):
            answer = kernel.run(code)
            assert (answer.status, answer.stderr, answer.displays) == ("ok", "", [])
    assert not (tmp_path / "holter").exists()


def test_hooks_that_fail_take_themselves_off_without_a_word(tmp_path: Path) -> None:
    with kernel_in(tmp_path, HOLTER_STRICT="") as kernel:
        kernel.run(OPEN)
        kernel.run("from holter.client.notebook import cells\ncells.rss_bytes = None")
        answer = kernel.run("print('fine')")
        assert (answer.status, answer.stdout, answer.stderr, answer.error) == ("ok", "fine\n", "", "")
        count = "print([each for each in get_ipython().events.callbacks['pre_run_cell'] if 'holter' in repr(each)])"
        assert kernel.run(count).stdout == "[]\n"
        assert kernel.run("run.log({'loss': 1}); print(run.step)").stdout == "1\n"


def test_a_run_shows_itself_with_its_curves(kernel: Kernel) -> None:
    kernel.run("import holter; run = holter.init(project='<i>', name='tidy-fox-1')")
    [shown] = kernel.run("for i in range(50): run.log({'loss': 1 / (i + 1), 'note': 'x'})\nrun").results
    assert shown["text/plain"].startswith("holter run <i>/tidy-fox-1 (")
    assert "█▂▂▁" in shown["text/plain"]
    assert "&lt;i&gt;/tidy-fox-1" in shown["text/html"]
    assert shown["text/html"].count("<svg") == 1
    assert kernel.run("import sys; print('ipywidgets' in sys.modules)").stdout == "False\n"


@pytest.mark.parametrize("end", ["shut_down", "kill"])
def test_the_page_is_shown_in_a_frame_and_ends_with_the_kernel(kernel: Kernel, end: str) -> None:
    import httpx

    kernel.run(OPEN)
    [shown] = kernel.run("%holter").displays
    address = shown["text/plain"]
    assert f'src="{address}"' in shown["text/html"]
    first = httpx.get(address)
    assert first.status_code == 200
    assert "127.0.0.1" in first.headers["content-security-policy"]
    [again] = kernel.run("%holter").displays
    assert again["text/plain"].partition("/p/")[0] == address.partition("/p/")[0]
    getattr(kernel, end)()
    wait_until(lambda: not _answers(address))


def _answers(address: str) -> bool:
    import httpx

    try:
        httpx.get(address)
    except httpx.TransportError:
        return False
    return True


def test_what_is_only_nice_to_know_is_no_error_in_a_notebook(kernel: Kernel) -> None:
    opened, ended = kernel.run(OPEN), kernel.run("run.finish()")
    assert (opened.stdout, opened.stderr, ended.stdout, ended.stderr) == ("", "", "", "")
    [first], [last] = opened.displays, ended.displays
    assert first["text/plain"].startswith("holter: recording notebook/")
    assert " ended after " in last["text/plain"]
    assert "holter: " not in output()  # what we say is no output of the program


def test_rows_after_the_end_of_their_run_are_told_once_in_each_cell(kernel: Kernel) -> None:
    kernel.run(f"{OPEN}; run.finish()")
    for _ in range(2):
        said = kernel.run("for step in range(3):\n    run.log({'loss': 1.0})").stderr
        assert said.count("holter: ") == 1
        assert "log() after finish()" in said


@pytest.mark.parametrize("line", ["%holter ?", "%holter help", "%holter nonsense"])
def test_the_magic_says_what_it_can_be_told(line: str, kernel: Kernel) -> None:
    kernel.run(OPEN)
    answer = kernel.run(line)
    said = answer.stderr + "".join(each["text/plain"] for each in answer.displays)
    assert answer.status == "ok"
    for word in ("%holter why [RUN]", "%holter vars", "%holter free", "%%holter_memory"):
        assert word in said


NOTEBOOK = ["import holter\nrun = holter.init()", "for i in range(3):\n    run.log({'loss': i})\nprint('trained')"]


def write_notebook(path: Path, sources: list[str]) -> None:
    made: list[dict[str, object]] = [
        {"cell_type": "code", "execution_count": None, "id": f"c{at}", "metadata": {}, "outputs": [], "source": source}
        for at, source in enumerate(sources)
    ]
    spec = {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}}
    path.write_text(json.dumps({"cells": made, "metadata": spec, "nbformat": 4, "nbformat_minor": 5}))


def outputs(path: Path) -> list[list[str]]:
    """The names of what each cell put out."""
    return [
        [each.get("name", each["output_type"]) for each in cell["outputs"]]
        for cell in json.loads(path.read_text())["cells"]
    ]


@pytest.mark.parametrize("tool", ["nbconvert", "papermill"])
def test_notebooks_that_a_tool_runs_are_undisturbed(tool: str, tmp_path: Path) -> None:
    book, done = tmp_path / "book.ipynb", tmp_path / "done.ipynb"
    write_notebook(book, NOTEBOOK)
    commands = {
        "nbconvert": ["-m", "nbconvert", "--execute", "--to", "notebook", "--output", str(done), str(book)],
        "papermill": ["-m", "papermill", "--no-progress-bar", str(book), str(done)],
    }
    ran = subprocess.run([sys.executable, *commands[tool]], capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 0, ran.stderr
    assert outputs(done) == [["display_data"], ["stdout"]]
    row = only_run().row
    assert (row.state, row.rows) == ("finished", 3)
    assert "trained\n" in output()


def test_a_notebook_that_a_tool_runs_fails_with_its_cell(tmp_path: Path) -> None:
    book = tmp_path / "book.ipynb"
    write_notebook(book, [*NOTEBOOK, "raise ValueError('the batch is empty')", "print('never')"])
    command = [sys.executable, "-m", "papermill", "--no-progress-bar", str(book), str(tmp_path / "done.ipynb")]
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert ran.returncode == 1
    assert "ValueError: the batch is empty" in ran.stderr
    run = only_run()
    assert (run.row.state, run.row.cause) == ("failed", "uncaught-exception")
    assert "the batch is empty" in (run.diagnosis.title if run.diagnosis else "")


def test_a_terminal_with_ipython_shows_the_card_as_text(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "IPython", "--simple-prompt", "--no-banner", "--no-confirm-exit"]

    def type_in(*lines: str) -> str:
        typed = "\n".join([*lines, ""])
        done = subprocess.run(command, input=typed, capture_output=True, text=True, check=False, cwd=tmp_path)
        return done.stdout

    type_in("%load_ext holter", "import os", "os.kill(os.getpid(), 9)")
    said = type_in("%load_ext holter")
    assert "the notebook's previous kernel died" in said
    assert "os.kill(os.getpid(), 9)" in said
    assert "<div" not in said
    assert "died" not in type_in("%load_ext holter")
    assert len(Catalog(data_directory({"HOLTER_DIR": str(tmp_path / "holter")})).rows()) == 3


def test_stacks_call_cells_as_the_notebook_does_also_those_from_before_holter_came(kernel: Kernel) -> None:
    kernel.run(
        "import ctypes\ndef fit():\n    raise ValueError('no data')\ndef crash():\n    ctypes.CDLL(None).strlen(0)"
    )
    kernel.run("import holter\nwith holter.init(project='failing'):\n    holter.log({'loss': 1.0})\n    fit()")
    kernel.run(OPEN)
    kernel.run("1 +")
    kernel.client.execute("# native\ncrash()")
    kernel.dies()

    told = {run: holter("why", run) for run in (each["id"] for each in ls())}
    [failed] = [text for text in told.values() if "no data" in text]
    assert "begin at In[1], line 3, in fit" in failed
    assert "In[2], line 4, in <module>" in failed
    [crashed] = [text for text in told.values() if "segmentation-fault" in text]
    assert "(In[1], line 5)" in crashed
    assert not any("ipykernel_" in text for text in told.values())
    [run] = [each["id"] for each in ls() if each["state"] == "crashed"]
    assert "SyntaxError: invalid syntax (In[4], line 1)" in holter("show", "--cells", run)


def holter(*arguments: str) -> str:
    wide = {**os.environ, "COLUMNS": "250"}
    done = subprocess.run([*HOLTER, *arguments], capture_output=True, text=True, check=True, env=wide)
    return done.stdout
