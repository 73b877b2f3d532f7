"""Reads the stacks that Python wrote down at a fatal signal: that of the thread that died, and none of holter's own."""

import msgspec

from holter.diagnosis import words
from holter.diagnosis.phrases.tags import says, tags_in
from holter.model import cell_names

_OF_OURS = tuple(f"/holter/{part}/" for part in ("client", "wire", "recording", "console", "journal", "jupyter"))
_RUNS_THREADS = ("/threading.py", "/holter/client/capture/witness.py")
_TYPED = ("<string>", "<stdin>")
INNERMOST = 3
"""So many frames are shown of libraries that the program had called, where there are too many of them."""


class Place(msgspec.Struct, frozen=True):
    """One frame."""

    file: str
    line: int
    function: str

    @property
    def is_own(self) -> bool:
        """Neither installed nor part of Python: the user's own code."""
        return self.file in _TYPED or (not says(self.file, "not-own-file") and not self.file.startswith("<"))

    @property
    def text(self) -> str:
        """`step (train.py:41)`, `step (In[12], line 3)`."""
        return f"{self.function} ({cell_names.place(self.file.rpartition('/')[2], self.line)})"


class FaultStack(msgspec.Struct, frozen=True):
    """Where Python was, the innermost frame first."""

    frames: tuple[Place, ...] = ()
    is_of_the_dead: bool = True
    """The thread that faulted, and not the first one because that was a thread of native code."""

    @property
    def own(self) -> Place | None:
        """The innermost frame of the user's own code."""
        return next((frame for frame in self.frames if frame.is_own), None)

    @property
    def place(self) -> str:
        """Of the user's own code, or of whatever was there; empty where no frame is known."""
        frame = self.own or next(iter(self.frames), None)
        return frame.text if frame is not None else ""


def stack_at_fault(fault_log: str) -> FaultStack:
    """Python writes the thread that faulted as the current one, if it is one of Python's, and the first one last."""
    heads = tags_in(fault_log).every("thread-at-fault")
    ends = [*(head.start() for head in heads[1:]), len(fault_log)]
    stacks = [
        FaultStack(_frames(fault_log[head.end() : end]), is_of_the_dead=head["current"] != "T")
        for head, end in zip(heads, ends, strict=False)
    ]
    shown = [stack for stack in stacks if stack.frames and not _is_of_ours(stack)]
    dead = [stack for stack in shown if stack.is_of_the_dead]
    return [*shown, *dead][-1] if shown else FaultStack()


def lines_at_fault(fault_log: str, most: int) -> list[str]:
    """That stack for people, the innermost frame first; always with the innermost line of the user's own code."""
    stack = stack_at_fault(fault_log)
    lines = [f"{cell_names.file_line(each.file, each.line)} in {each.function}" for each in stack.frames]
    own = next((number for number, frame in enumerate(stack.frames) if frame.is_own), 0)
    if own >= most:
        lines = [*lines[:INNERMOST], f"… {words.count(own - INNERMOST, 'more frame')}", *lines[own:]]
    head = [] if stack.is_of_the_dead or not lines else ["it was a thread of native code; Python's first thread was at"]
    return [*head, *lines][:most]


def _frames(text: str) -> tuple[Place, ...]:
    """Without what runs threads and the cells of a notebook."""
    found = [Place(each["file"], int(each["line"]), each["function"]) for each in tags_in(text).every("frame-at-fault")]
    while found and found[-1].file.endswith(_RUNS_THREADS):
        found.pop()
    cells = [number for number, frame in enumerate(found) if cell_names.is_name(frame.file)]
    return tuple(found[: cells[-1] + 1] if cells else found)


def _is_of_ours(stack: FaultStack) -> bool:
    """What a thread was started for is its outermost frame."""
    return any(part in stack.frames[-1].file for part in _OF_OURS)
