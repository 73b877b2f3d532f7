"""A habit of the program that costs time, loses what it logs, or makes it hang.

Seen from inside of it, and said once: garbage that is collected in each step, Keras's session cleared over and over,
steps of TensorFlow that no graph was made of, processes forked once TensorFlow has a GPU, values that replace each
other under commit=False, and whole datasets that lie on a GPU.
"""

from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.seen import Caution, Seen
from holter.model.warning_records import Noticed

TEXTS = {
    "gc-collect": "gc.collect(){where} is called in each step and takes {ms:.0f} ms, {percent:.0f} % of the time",
    "clear-session": "clear_session() was called {times} times while the same models are trained: what they hold stays,"
    " and each call makes Keras trace its functions anew",
    "eager-loop": "the training step{where} runs eagerly, one operation of TensorFlow after the other",
    "forked-gpu": "a process was forked{where} after TensorFlow had taken a GPU: it hangs as soon as it uses it",
    "commit-false": "log(…, commit=False) wrote {what} {times} times at step {step:,}: each replaced the one before",
    "array-on-gpu": "{what} lies on the GPU as a whole, {percent:.0f} % of its memory",
}
ADVICE = {
    "gc-collect": "leave it out: Python frees what nobody refers to at once; what stays is referred to"
    " (`holter.trace_memory()` names it)",
    "clear-session": "call it only between models, once the old one is deleted",
    "eager-loop": "@tf.function above the function of a step; in Keras compile() without run_eagerly=True",
    "forked-gpu": 'multiprocessing.get_context("spawn"), or start the processes before TensorFlow is used',
    "commit-false": "leave commit=False out of the last log() of a step, or give the step: log(…, step=…)",
    "array-on-gpu": "keep it in the host's memory and move batch by batch (pin_memory=True, non_blocking=True)",
}


class Check:
    """Words what the program noticed."""

    def __init__(self) -> None:
        self._told: set[str] = set()

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What is new. It is over soon, so that the run's row in the table does not speak of it for ever."""
        for noticed in seen.noticed:
            if noticed.habit in TEXTS and noticed.habit not in self._told:
                self._told.add(noticed.habit)
                yield Caution(subject=noticed.habit, text=_text(noticed), advice=(ADVICE[noticed.habit],))


def _text(noticed: Noticed) -> str:
    return TEXTS[noticed.habit].format(
        where=f" ({noticed.where})" if noticed.where else "",
        what=noticed.what,
        times=noticed.times,
        step=noticed.step or 0,
        ms=1000 * (noticed.took_s or 0.0),
        percent=100 * (noticed.share or 0.0),
    )


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check()
