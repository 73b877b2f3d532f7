"""More facts, about the program's own code and progress: what it held, how far it had got, what the kernel said."""

from collections.abc import Iterable

from holter.diagnosis import facts, words
from holter.diagnosis.causality.ends import call
from holter.model import cell_names
from holter.model.evidence import End, KernelLine
from holter.model.records import HeldArray, OwnFrame, Raised
from holter.model.verdicts import Fact

JOURNAL = "journal"
MOST_FACTS = 5


def place(raised: Raised) -> str:
    """`train.py:41 in fit`, the innermost place of the user's own code; empty where there is none."""
    if not raised.frames:
        return ""
    frame = raised.frames[-1]
    return f"{_short(frame)} in {frame.function}"


def of_way(raised: Raised) -> tuple[Fact, ...]:
    """The way through the user's own code to the exception, where it is longer than one function."""
    way = [f"{_short(frame)} {frame.function}" for frame in raised.frames[-4:]]
    return (facts.fact(facts.EXCEPTION, raised.at_ns, f"raised at {' > '.join(way)}"),) if len(way) > 1 else ()


def _short(frame: OwnFrame) -> str:
    return cell_names.place(frame.file.rpartition("/")[2], frame.line)


def of_cause(raised: Raised) -> tuple[Fact, ...]:
    """The exception behind it, where there is one."""
    causes = [each for each in raised.causes if "RemoteTraceback" not in each.type]  # that is the same one as text
    if not causes:
        return ()
    cause = causes[0]
    led = {"cause": "it was raised from", "context": "while handling", "member": "one of its members is"}
    text = words.quote(f"{cause.type}: {cause.message}", 200)
    return (facts.fact(facts.EXCEPTION, raised.at_ns, f"{led.get(cause.how, 'behind it')} {text}"),)


def of_steps(end: End) -> tuple[Fact, ...]:
    """How far it had got, if it logged anything."""
    if end.last_step is None:
        return ()
    at_ns = end.last_row_ns or end.at_ns
    before_s = (end.at_ns - at_ns) / 1e9
    ago = f", {words.seconds(before_s)} before its end" if before_s >= 1 else ""
    return (facts.fact(JOURNAL, at_ns, f"the last step that {call(end)} logged was {end.last_step:,}{ago}"),)


def of_arrays(raised: Raised) -> tuple[Fact, ...]:
    """The largest arrays that the user's own functions held, if any."""
    held = sorted(
        (array for frame in raised.frames for array in frame.arrays if array.size_bytes),
        key=lambda array: -(array.size_bytes or 0),
    )
    if not held:
        return ()
    text = f"held at that moment: {words.listed([_array(each) for each in held[:3]])}"
    return (facts.fact(facts.EXCEPTION, raised.at_ns, text),)


def of_kernel_line(line: KernelLine) -> Fact:
    """A line of the kernel log."""
    return facts.fact(facts.KERNEL_LOG, line.at_ns, line.text)


def few(several: Iterable[Fact]) -> tuple[Fact, ...]:
    """The first five, each once."""
    return tuple(dict.fromkeys(several))[:MOST_FACTS]


def _array(array: HeldArray) -> str:
    shape = "×".join(str(length) for length in array.shape)
    where = f" on {array.device}" if array.device and array.device != "cpu" else ""
    kind = f"{shape} {array.dtype}".strip() or f"{array.count or ''} arrays".strip()
    return f"{array.name} ({kind}, {words.size(array.size_bytes or 0)}{where})"
