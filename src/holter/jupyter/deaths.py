"""What the front end shows of a kernel that is gone: why, what says so, what to do."""

import os
import time
from typing import Any

import msgspec

from holter.catalog.catalog import Catalog
from holter.catalog.judge.inquiry import inquire
from holter.catalog.present.death_card import render
from holter.catalog.present.deaths import Death, death_of
from holter.catalog.present.explanation import as_json
from holter.catalog.read.loaded_run import LoadedRun
from holter.errors import HolterError
from holter.jupyter.kernel_run import KernelRun
from holter.jupyter.scribe import the_scribe
from holter.model.state import FINISHED
from holter.recording.kernels import read_joined

# A kernel that could not start is asked again, which takes a second or so.
WRITTEN_WITHIN_S = 5.0
LEFT = "The notebook's kernel exited by itself with exit code 0, as after exit() or quit() in a cell"
STAY = "take exit() and quit() out of the notebook: they end its kernel, with everything in it"


def explain(run: KernelRun) -> dict[str, Any]:
    """The verdict on a kernel process that is gone, as `holter why --json` gives it, and its card.

    `is_death` is false for one that was told to end and was not in the middle of a cell. Blocks, up to seconds where
    evidence is still being gathered. Raises HolterError and OSError.
    """
    the_scribe().drain(WRITTEN_WITHIN_S)
    loaded = _richest(run)
    told = as_json(loaded)
    death = death_of(loaded, now=time.time())
    is_well = loaded.row.state == FINISHED
    if is_well and not run.wish:
        told |= {"title": LEFT, "advice": [STAY]}
        death = msgspec.structs.replace(death, title=LEFT, advice=(STAY,), cause="exit code 0", confidence=1.0)
    return {
        **told,
        **_card(death, others=run.about.deaths_before),
        "is_death": not run.wish or run.was_cut_short,
        "notebook": os.path.basename(run.about.notebook),
        "died_at": run.ended_ns / 1e9,
        "lived_s": round(run.lived_s(), 3),
        "in_a_row": run.about.deaths_before + 1,
    }


def _card(death: Death, others: int) -> dict[str, str]:
    card = render(death, others=others)
    return {"text": card.text, "html": card.html}


def _richest(run: KernelRun) -> LoadedRun:
    """The run of the kernel's own, or one that was opened inside it and did not end before: that one knows more."""
    for joined in reversed(read_joined(run.directory)):
        runs, name = os.path.split(joined.directory)
        try:
            loaded = _load(os.path.dirname(runs), name)
        except (HolterError, OSError):
            continue
        # One whose last cell failed was over before the kernel was.
        if loaded.by_itself.state != FINISHED and loaded.by_itself.failed_cell is None:
            return loaded
    return _load(run.data, run.id)


def _load(data: str, run: str) -> LoadedRun:
    return inquire(Catalog(data).load(run))
