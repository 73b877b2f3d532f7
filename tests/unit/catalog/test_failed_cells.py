"""The end of a run whose last training cell failed, whatever became of the kernel later."""

from holter.catalog.judge.ends import ended_by_cell
from holter.model.evidence import Caught, End
from holter.model.records import Raised

S = 1_000_000_000
FAILED = Raised(at_ns=100 * S, type="ValueError", message="no data", traceback="", where="cell")


def caught(signal: int, at_ns: int) -> Caught:
    return Caught(at_ns=at_ns, pid=7, thread=7, signal=signal, code=0, is_handled=True)


def test_what_put_the_kernel_away_later_is_no_evidence() -> None:
    signals = (caught(2, 99 * S), caught(15, 130 * S))
    kernel = End(
        pid=7,
        role="program",
        at_ns=131 * S,
        status=15,
        signals=signals,
        handled=(2, 15),
        fault_log="Fatal Python error",
    )
    end = ended_by_cell(kernel, FAILED)
    assert (end.at_ns, end.status, end.handled, end.fault_log) == (FAILED.at_ns, None, (2,), "")
    assert [each.signal for each in end.signals] == [2]
    assert end.raised is not None
    assert end.raised.where == "main"
