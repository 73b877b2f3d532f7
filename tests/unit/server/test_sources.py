"""The line that raised, with those around it."""

from holter.model.records import OwnFrame, Raised
from holter.server.query.sources import is_of_script, last_raised, raised_at

SCRIPT = "".join(f"line {number}\n" for number in range(1, 31))


def exception(line: int, *, file: str = "/home/ada/train.py", where: str = "main") -> Raised:
    frames = (
        OwnFrame(file="/home/ada/run.py", line=3, function="main"),
        OwnFrame(file=file, line=line, function="step"),
    )
    return Raised(at_ns=1, type="ValueError", message="no", traceback="a\nb\n", where=where, frames=frames)


def test_the_innermost_line_of_own_code_comes_with_its_neighbours() -> None:
    found = raised_at(exception(20), SCRIPT)
    assert (found.file, found.line, found.function, found.first) == ("/home/ada/train.py", 20, "step", 14)
    assert found.lines == [f"line {number}" for number in range(14, 25)]
    assert found.traceback == ["a", "b"]
    assert raised_at(exception(2), SCRIPT).first == 1
    assert raised_at(exception(30), SCRIPT).lines[-1] == "line 30"


def test_a_file_that_was_not_kept_or_changed_since_shows_no_lines() -> None:
    assert raised_at(exception(20), None).lines == []
    assert raised_at(exception(31), SCRIPT).lines == []


def test_only_what_ended_it_counts() -> None:
    first, second = exception(1), exception(2, where="thread")
    assert last_raised([first, second]) is first
    assert last_raised([second]) is None


def test_the_kept_script_is_known_by_its_path_or_as_text() -> None:
    of_file = {"script": {"kind": "file", "path": "/home/ada/train.py"}, "cwd": "/home/ada"}
    assert is_of_script(OwnFrame(file="train.py", line=1, function="f"), of_file)
    assert is_of_script(OwnFrame(file="/home/ada/train.py", line=1, function="f"), of_file)
    assert not is_of_script(OwnFrame(file="/home/ada/model.py", line=1, function="f"), of_file)
    of_text = {"script": {"kind": "text", "path": ""}}
    assert is_of_script(OwnFrame(file="<string>", line=1, function="f"), of_text)
    assert not is_of_script(OwnFrame(file="<string>", line=1, function="f"), {})
