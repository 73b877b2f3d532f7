"""Remedies for faults of the program, its libraries and its workers."""

from collections.abc import Mapping

from holter.diagnosis.fault_stacks import stack_at_fault
from holter.diagnosis.remedies.particulars import WORKERS, find_float, find_number, python_of
from holter.model import cell_names
from holter.model.evidence import Evidence

UPDATE_NATIVE_LIBRARY = (
    "update or pin the native library at the top of the stack, and try its CPU or single-thread path"
)
GUARD_MAIN = 'put what the script does under if __name__ == "__main__": a spawned child imports the script again'
SPAWN_WORKERS = "start workers with spawn (multiprocessing_context='spawn'): a fork copies locks but not their threads"


def see_native_stack(evidence: Evidence) -> str:
    """Where exactly it was."""
    if stack_at_fault(evidence.subject.fault_log).frames:
        return "look at the Python stack at the moment of death: holter show prints it"
    if evidence.subject.role == "kernel":
        return ""  # `resume` says what would keep it
    if evidence.is_notebook:
        return "run the cell's code as a script with python -X faulthandler: it prints the stack at the moment of death"
    return "get its stack: run it with python -X faulthandler, or under gdb --args python"


def check_heap(evidence: Evidence) -> str:
    """What glibc and the sanitizers can tell."""
    if evidence.is_notebook or evidence.subject.role == "kernel":
        return "run the cell's code as a script with MALLOC_CHECK_=3: the abort comes later than the fault"
    return (
        "run once with MALLOC_CHECK_=3 (or valgrind) to see what damages the heap: the abort comes later than the fault"
    )


def match_versions(evidence: Evidence) -> str:
    """CUDA, cuDNN, the driver and the framework belong together."""
    packages = evidence.facts.get("packages")
    known = packages if isinstance(packages, Mapping) else {}
    here = ", ".join([f"{name} {known[name]}" for name in ("torch", "tensorflow", "jax", "numpy") if name in known])
    now = f" (here: {here})" if here else ""
    return f"install builds that match: framework, CUDA, cuDNN and driver{now}; python -m pip check finds the rest"


def look_at_exception(evidence: Evidence) -> str:
    """Where to begin."""
    raised = evidence.subject.raised
    if evidence.subject.role == "kernel":
        return f"repair its environment: {python_of(evidence.subject)} -m pip install --force-reinstall ipykernel"
    if raised is None or not raised.frames:
        return "read the traceback: holter show prints it"
    frame = raised.frames[-1]
    return (
        f"begin at {cell_names.place(frame.file, frame.line)}, in {frame.function}: the innermost line of your own code"
    )


def look_at_output(evidence: Evidence) -> str:
    """The last lines of the console."""
    if evidence.subject.role == "kernel":
        return "read what the notebook's kernel wrote into the Jupyter server's log or terminal"
    return "read its last words: holter tail prints them"


def look_at_worker(evidence: Evidence) -> str:
    """Without workers the fault shows itself."""
    name, workers = find_number(evidence, WORKERS)
    now = f" (now {workers})" if workers else ""
    return f"run once with {name or 'num_workers'}=0{now}: the fault then shows in the program itself"


def lower_learning_rate(evidence: Evidence) -> str:
    """What to do against NaN."""
    _, rate = find_float(evidence, ("learning_rate", "lr"))
    now = f" (now {rate:g})" if rate is not None else ""
    return f"lower the learning rate{now}, clip gradients, warm up"


def find_nan(evidence: Evidence) -> str:
    """Where it began."""
    first = min(evidence.non_finite, key=lambda each: each.at_ns, default=None)
    where = f"{first.key} at step {first.step:,} was the first; " if first else ""
    return f"{where}torch.autograd.set_detect_anomaly(True) names the operation; look at the data of that step"
