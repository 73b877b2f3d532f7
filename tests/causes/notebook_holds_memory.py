"""What is, and what is not, `notebook-holds-memory`."""

from holter.model.evidence import Memory, MemoryLevel
from tests.causes.example import Example
from tests.causes.specimens import evidence, failed, signalled

_FULL = Memory(levels=(MemoryLevel(level=0, limit_bytes=8e9, usage_bytes=7.9e9, kills=1),), own_bytes=7.5e9)

EXAMPLES = [
    Example(evidence(signalled(9), memory=_FULL, is_notebook=True), fires=True),
    Example(evidence(failed("torch.OutOfMemoryError", "CUDA out of memory."), is_notebook=True), fires=True),
    Example(evidence(signalled(9), memory=_FULL), fires=False),
    Example(evidence(failed("ValueError", "bad label"), is_notebook=True), fires=False),
]
