"""How and why a run ended, in a line. Pure."""

from holter.catalog.read.run_view import LoadedRun
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
    view, advice = loaded.view, loaded.diagnosis.advice if loaded.diagnosis else ()
    return HowItEnded(
        name=view.name,
        state=view.state,
        why=reason(loaded),
        advice=advice[0] if advice else "",
        rows=view.rows,
        duration_s=view.duration_s,
    )
