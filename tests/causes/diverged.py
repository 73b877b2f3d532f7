"""What is, and what is not, `diverged`."""

from holter.model.evidence import NonFinite
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, gone

_NAN = NonFinite(key="train/loss", value="NaN", step=120, at_ns=before(3), last_finite=8.1e4, last_finite_step=119)

_NO_VALUE = NonFinite(key="val/loss", value="NaN", step=0, at_ns=before(3000))

_HEALED = NonFinite(key="train/loss", value="NaN", step=12, at_ns=before(3000), is_last=False)

_SAID_NAN = Finished(at_ns=before(0), how="context", exit_code=1, exit_text="loss is nan")

EXAMPLES = [
    Example(
        evidence(failed("AssertionError", "", statement="assert torch.isfinite(loss)"), non_finite=(_NAN,)), fires=True
    ),
    Example(evidence(failed("FloatingPointError", "overflow encountered in exp")), fires=True),
    Example(
        evidence(failed("RuntimeError", "Function 'SqrtBackward0' returned nan values in its 0th output.")), fires=True
    ),
    Example(evidence(exited(1, finished=_SAID_NAN), non_finite=(_NAN,)), fires=True),
    # Nobody read its exit code, and it had said with which one it left.
    Example(evidence(gone(finished=_SAID_NAN), non_finite=(_NAN,)), fires=True),
    # Words about the training's own numbers, and about its data: nothing that was logged had been NaN.
    Example(evidence(failed("ValueError", "loss is nan, stopping training")), fires=True),
    Example(evidence(failed("AssertionError", "", statement="assert torch.isfinite(loss)")), fires=True),
    Example(evidence(failed("ValueError", "Input X contains NaN.")), fires=False),
    Example(evidence(failed("AssertionError", "", statement="assert np.isfinite(features).all()")), fires=False),
    # NaN was logged, but the end has nothing to do with it.
    Example(evidence(failed("FileNotFoundError", "[Errno 2] 'val.csv'"), non_finite=(_NAN,)), fires=False),
    Example(evidence(failed("KeyError", "'loss'"), non_finite=(_NAN,)), fires=False),
    Example(evidence(failed("AssertionError", "wrong shape"), non_finite=(_NO_VALUE,)), fires=False),
    Example(evidence(failed("ValueError", "bad label"), non_finite=(_HEALED,)), fires=False),
    Example(evidence(exited(0), non_finite=(_NAN,)), fires=False),
]
