"""TensorBoard's event files: each folder that has some is a run."""

import os
from collections.abc import Iterator

from holter.client.media.foreign import as_logged
from holter.errors import UsageError
from holter.formats.event_files import EventFile
from holter.formats.event_folders import find_event_files
from holter.formats.events import Event, Unread
from holter.importing.checksums import damaged_among
from holter.importing.gathered import Gathered
from holter.importing.imported_run import ImportedRun, Origin

KIND = "tensorboard"
REPORT_EVERY = 10_000


def find_runs(path: str) -> Iterator["EventRun"]:
    """The runs in a folder, in the order of their names. Raises UsageError where there is none."""
    if not os.path.exists(path):
        raise UsageError(f"there is no file or folder {path!r}")
    found = find_event_files(path)
    if not found:
        raise UsageError(f"there are no event files below {path!r}: their names contain `tfevents`")
    top = os.path.basename(os.path.realpath(path if os.path.isdir(path) else os.path.dirname(path) or "."))
    for part, paths in found.items():
        yield EventRun(top, part, paths=paths)


class EventRun:
    """The event files of one folder."""

    def __init__(self, project: str, part: str, *, paths: list[str]) -> None:
        self._paths = paths
        started = min(map(_begun_ns, paths))
        place = os.path.realpath(os.path.dirname(paths[0]))
        name = project if part == "." else part.replace(os.sep, "/")
        self.origin = Origin(kind=KIND, identity=place, project=project, name=name, started_ns=started)
        self.size_bytes = sum(map(os.path.getsize, paths))

    def read_into(self, run: ImportedRun) -> Iterator[int]:
        """Rows as they were written, one file after the other."""
        done = 0
        for path in self._paths:
            file = EventFile(path, check=damaged_among)
            gathered = Gathered(run)
            for count, event in enumerate(file.read()):
                self._add(event, gathered, run)
                if count % REPORT_EVERY == 0:
                    yield done + file.at
            gathered.write()
            done += os.path.getsize(path)
            if file.damaged:
                run.trouble.append(f"{path}: {file.damaged:,} damaged events are left out")
            if file.trouble:
                run.trouble.append(f"{path}: {file.trouble}: what stands behind it is left out")
        run.ended(0)  # these files know nothing of ends
        yield done

    def _add(self, event: Event, gathered: Gathered, run: ImportedRun) -> None:
        value = event.value if type(event.value) is float else as_logged(event.value)
        if value is None:
            run.left_out[event.value.kind if isinstance(event.value, Unread) else "empty media"] += 1
        else:
            gathered.add(event.tag, value, step=event.step, at_ns=event.at_ns)


def _begun_ns(path: str) -> int:
    """The time is in the name: `events.out.tfevents.1700000000.host`."""
    number = os.path.basename(path).partition("tfevents.")[2].partition(".")[0]
    return int(number) * 10**9 if number.isdigit() and len(number) < 11 else int(os.path.getmtime(path) * 1e9)
