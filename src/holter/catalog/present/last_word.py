"""How and why a run ended, in a line. Pure."""

from holter.catalog.read.loaded_run import LoadedRun
from holter.wire.way_back import HowItEnded


def reason(loaded: LoadedRun) -> str:
    """Why it ended, with the cause by its name; where no rule spoke, how."""
    diagnosis = loaded.diagnosis
    if diagnosis is None or diagnosis.cause is None or loaded.outcome.because != loaded.by_itself.because:
        return loaded.outcome.because  # a person's own word comes with holter's
    if diagnosis.cause == "unknown":
        return f"{loaded.outcome.because} (why is unknown)"
    return f"{diagnosis.title.rstrip('.')} ({diagnosis.cause})"


def how_it_ended(loaded: LoadedRun) -> HowItEnded:
    """What `holter run` says at its end of a run that is judged."""
    row, advice = loaded.row, loaded.diagnosis.advice if loaded.diagnosis else ()
    return HowItEnded(
        name=row.name,
        state=row.state,
        why=reason(loaded),
        advice=advice[0] if advice else "",
        rows=row.rows,
        duration_s=row.duration_s,
        has_status=loaded.outcome.status is not None,
    )
