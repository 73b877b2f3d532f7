"""Media in the configuration or the summary: kept as media of the run, and named there."""

from typing import TYPE_CHECKING, Any

from holter.client.media.medium import Media

if TYPE_CHECKING:
    from holter.client.recorder import Recorder


def with_references(values: dict[str, Any], place: str, /, *, recorder: "Recorder", at_ns: int) -> dict[str, Any]:
    """The same, with `media:PLACE/KEY` for each medium, which is kept under that key at the current step."""

    def referred(value: Any, key: str) -> Any:
        if isinstance(value, dict):
            return {name: referred(inner, f"{key}.{name}") for name, inner in value.items()}
        if not isinstance(value, Media) and not (type(value) is list and value and isinstance(value[0], Media)):
            return value
        with recorder.journal.lock:
            recorder.media.keep(value, key, step=recorder.next_step, at_ns=at_ns, place="row")
        return f"media:{key}"

    return {key: referred(value, f"{place}/{key}") for key, value in values.items()}
