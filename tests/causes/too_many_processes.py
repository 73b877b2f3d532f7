"""What is, and what is not, `too-many-processes`."""

from holter.model.evidence import Surroundings
from holter.model.records import Finished
from tests.causes.example import Example
from tests.causes.specimens import before, evidence, exited, failed, gone, said

_AGAIN = "Resource temporarily unavailable"

_RUST = f'could not spawn threads: ThreadPoolBuildError {{ kind: IOError(Os {{ code: 11, message: "{_AGAIN}" }}) }}'

_TEAM = said("libgomp: Thread creation failed: Resource temporarily unavailable", is_error=False)

_NEAR_LIMIT = Surroundings(threads=1023, threads_limit=1024)

_FORKED = failed("BlockingIOError", "[Errno 11] Resource temporarily unavailable", statement="os.fork()")

_MAKE = failed(
    "subprocess.CalledProcessError", "Command '['make', '-j', '100', 'all']' returned non-zero exit status 2."
)

EXAMPLES = [
    # Nobody read its exit code, and it had said with which one it left.
    Example(
        evidence(
            gone(finished=Finished(at_ns=before(0.1), how="atexit", exit_code=1)),
            said=(said("RuntimeError: can't start new thread"),),
        ),
        fires=True,
    ),
    Example(evidence(failed("RuntimeError", "can't start new thread"), surroundings=_NEAR_LIMIT), fires=True),
    Example(evidence(failed("RuntimeError", "can't start new thread"), config={"num_workers": 32}), fires=True),
    Example(evidence(_FORKED), fires=True),
    Example(
        evidence(exited(254, role="command"), said=(said("bash: fork: retry: Resource temporarily unavailable"),)),
        fires=True,
    ),
    # A library of Rust, whose panic comes out as an exception; and one for which there was no room.
    Example(evidence(failed("pyo3_runtime.PanicException", _RUST)), fires=True),
    Example(
        evidence(failed("pyo3_runtime.PanicException", _RUST.replace("11", "12").replace(_AGAIN, ""))), fires=False
    ),
    # A library that leaves by itself, where both streams are one; and a program that got over it.
    Example(evidence(exited(1), said=(_TEAM,)), fires=True),
    Example(evidence(exited(1), said=(_TEAM, said("threshold missed", before_s=0.1, is_error=False))), fires=False),
    Example(evidence(exited(0), said=(_TEAM,)), fires=False),
    Example(
        evidence(failed("BlockingIOError", "[Errno 11] Resource temporarily unavailable", statement="sock.recv(9)")),
        fires=False,
    ),
    # A thread needs a stack: here it is the address space that has run out.
    Example(
        evidence(
            failed("RuntimeError", "can't start new thread"),
            surroundings=Surroundings(address_space_bytes=800, address_space_limit_bytes=1000),
        ),
        fires=False,
    ),
    Example(evidence(failed("ValueError", "no"), surroundings=_NEAR_LIMIT), fires=False),
    # A command of the program says so, and Python only hands on that it failed; or fails for something of its own.
    Example(evidence(_MAKE, said=(said("/bin/sh: 1: Cannot fork"),)), fires=True),
    Example(evidence(_MAKE, said=(said("make: *** [Makefile:3: shard24] Error 2"),)), fires=False),
    Example(evidence(failed("ValueError", "no"), said=(said("/bin/sh: 1: Cannot fork"),)), fires=False),
]
