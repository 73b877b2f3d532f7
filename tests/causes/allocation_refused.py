"""What is, and what is not, `allocation-refused`."""

from holter.model.evidence import Memory, Surroundings
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, gone, said, signalled

_TOKENS = "Error tokenizing data. C error: out of memory"

_ROOM = Surroundings(address_space_bytes=300 * 2**20, address_space_limit_bytes=1000 * 2**20)

_LIMIT = Surroundings(address_space_bytes=950 * 2**20, address_space_limit_bytes=1000 * 2**20)

_NUMPY = "numpy._core._exceptions._ArrayMemoryError"

_ABSURD = "Unable to allocate 32.0 TiB for an array with shape (2097152, 2097152) and data type float64"

_TORCH = (
    "[enforce fail at alloc_cpu.cpp:127] err == 0. DefaultCPUAllocator: can't allocate memory: you tried to allocate"
    " 8000000000 bytes. Error code 12 (Cannot allocate memory)"
)

_CPP = said("terminate called after throwing an instance of 'std::bad_alloc'")

EXAMPLES = [
    # Nobody read its exit code, and it had said with which one it left.
    Example(
        evidence(gone(finished=Finished(at_ns=before(0.1), how="atexit", exit_code=1)), said=(said("std::bad_alloc"),)),
        fires=True,
    ),
    Example(evidence(failed("MemoryError", ""), surroundings=_LIMIT), fires=True),
    Example(evidence(failed(_NUMPY, _ABSURD), memory=Memory(total_bytes=64e9, available_bytes=60e9)), fires=True),
    Example(evidence(failed("RuntimeError", _TORCH)), fires=True),
    Example(evidence(failed("OSError", "[Errno 12] Cannot allocate memory", statement="os.fork()")), fires=True),
    Example(evidence(signalled(6), said=(_CPP,), surroundings=_LIMIT), fires=True),
    # A library with a type of its own for all errors, near a limit and far from one.
    Example(evidence(failed("pandas.errors.ParserError", _TOKENS), surroundings=_LIMIT), fires=True),
    Example(evidence(failed("pandas.errors.ParserError", _TOKENS), surroundings=_ROOM), fires=False),
    Example(evidence(failed("pandas.errors.ParserError", _TOKENS, role="command")), fires=True),
    # A thread wants a stack; where there is room for one, it was refused for another reason.
    Example(evidence(failed("RuntimeError", "can't start new thread"), surroundings=_LIMIT), fires=True),
    Example(
        evidence(
            failed("RuntimeError", "can't start new thread"),
            surroundings=_ROOM,
        ),
        fires=False,
    ),
    Example(evidence(failed("MemoryError", "mine", statement="raise MemoryError('mine')")), fires=False),
    Example(evidence(failed("torch.OutOfMemoryError", "CUDA out of memory")), fires=False),
    Example(evidence(exited(3), surroundings=_LIMIT), fires=False),
    Example(evidence(signalled(9), surroundings=_LIMIT), fires=False),
]
