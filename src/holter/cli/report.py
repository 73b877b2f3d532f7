"""One run in full: what `holter show` prints, section by section. Pure: gets what was read, returns lines."""

import shlex
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from holter.catalog.present.last_word import reason
from holter.catalog.read.damage import Damage
from holter.catalog.read.journal_account import SOURCES, wait_status
from holter.catalog.read.loaded_run import PROGRAM, LoadedRun, process_of
from holter.catalog.read.media import lost_media
from holter.cli.figures import age, clean, duration, flat, moment, own_first, plural, size, value
from holter.cli.spending_view import cost_lines, peak_lines
from holter.cli.stdout import Look, state_colour
from holter.cli.warnings_view import warning_lines
from holter.journal.digest import Digest
from holter.model.records import Alerted, Exited, Finished, Lost, Noted
from holter.model.run_row import RunRow
from holter.model.state import RUNNING
from holter.model.verdicts import Stack

MOST_PAIRS = 60
MOST_TEXT = 1000


class Section(msgspec.Struct, frozen=True):
    """A heading with lines below it."""

    title: str
    lines: list[str]


def headline(loaded: LoadedRun, seen: Look) -> str:
    """The state and its reason in one line."""
    row = loaded.row
    state = f"{row.state} (late)" if row.is_stale else row.state
    told = f"{reason(loaded)}; {row.cause_mark.words}" if row.cause_mark else reason(loaded)
    return f"{seen.paint(f'{seen.mark(row.state)} {state}', state_colour(row.state))}: {clean(told)}"


def sections(
    loaded: LoadedRun,
    damage: Sequence[Damage],
    *,
    used_bytes: int,
    now: float,
    console: Sequence[str] = (),
) -> list[Section]:
    """All that there is to say; a section without lines is left out."""
    stack = loaded.explanation.stack if loaded.explanation is not None else Stack()
    found = [
        Section("run", _pairs(_identity(loaded.row, now))),
        Section("config", _pairs(flat(loaded.row.config))),
        Section("summary", _pairs(own_first(loaded.row.summary))),
        Section("host", _pairs(_host(loaded.facts, loaded.row.host))),
        Section("program", _pairs(_program(loaded))),
        Section("peak memory", peak_lines(loaded.digests)),
        Section("processes", [_process(each, loaded) for each in loaded.digests if each.opened.writer in PROGRAM]),
        Section(stack.title.lower(), [clean(line) for line in stack.lines]),
        Section("console", list(console)),
        Section("warnings", warning_lines(loaded.digests)),
        Section("alerts", [_alert(each) for each in loaded.said(Alerted)]),
        Section("notes", [f"{_time(each.at_ns)}  {clean(each.text)}" for each in loaded.said(Noted)]),
        Section("lost", [*(_lost(each) for each in loaded.said(Lost)), *_on_gpu(loaded), *_lost_media(loaded)]),
        Section("damage", [*map(_damage, damage), *_unknown(loaded)]),
        Section("files", _pairs({"directory": loaded.row.directory, "size": size(used_bytes)})),
        Section("holter", cost_lines(loaded.digests)),
    ]
    return [section for section in found if section.lines]


def _pairs(named: Mapping[str, Any]) -> list[str]:
    shown = list(named.items())[:MOST_PAIRS]
    width = max((min(len(name), 40) for name, _ in shown), default=0)
    lines = [f"{clean(name):<{width}}  {value(what, most=MOST_TEXT)}" for name, what in shown]
    rest = len(named) - len(shown)
    return [*lines, f"and {rest:,} more; --json has all"] if rest else lines


def _identity(row: RunRow, now: float) -> dict[str, Any]:
    known = {"id": row.id, "name": row.name, "project": row.project, "entity": row.entity, "group": row.group}
    known |= {"job type": row.job_type, "tags": ", ".join(row.tags), "notes": row.notes}
    ended = row.ended_at is not None and row.state != RUNNING
    took = f"took {duration(row.duration_s)}" if ended else f"running for {duration(row.duration_s)}"
    known["started"] = f"{moment(row.started_at)} ({age(now - row.started_at)}), {took}"
    known["rows"] = f"{row.rows:,}{_last_row(row)}"
    known["forked"] = f"from run {row.fork.run} at step {row.fork.step:,}" if row.fork is not None else ""
    known["went back"] = ", ".join(f"to step {step:,} with attempt {n}" for n, step in sorted(row.rewinds.items()))
    known["masked"] = ", ".join(f"{count:,} × {name}" for name, count in row.masked.items())
    return {name: what for name, what in known.items() if what}


def _last_row(row: RunRow) -> str:
    if row.last_row_at is None:
        return ""
    return f", the last for step {row.last_step} at {moment(row.last_row_at)}"


def _host(facts: Mapping[str, Any], host: str) -> dict[str, Any]:
    limit, memory = facts.get("cgroup_memory_limit_bytes"), facts.get("memory_total_bytes")
    gpus = (facts.get("gpus") or {}).get("devices") or []
    cpus, shared = facts.get("cgroup_cpu_limit"), facts.get("shared_memory_bytes")
    named = {
        "name": host,
        "system": ", ".join(filter(None, (facts.get("os"), facts.get("kernel"), facts.get("container")))),
        "CPUs": f"{facts.get('cpu_count') or ''}" + (f", limited to {cpus:g}" if cpus else ""),
        "memory": (size(memory) if memory else "")
        + (f", limited to {size(limit)}" if limit and not (memory and limit > memory) else ""),
        "/dev/shm": size(shared) if shared is not None else "",
        "GPUs": ", ".join(f"{gpu.get('name')} ({size(gpu.get('memory_total_bytes') or 0)})" for gpu in gpus),
        "driver": _driver(facts.get("gpus") or {}),
        "job": ", ".join(_job(name, job) for name, job in (facts.get("schedulers") or {}).items()),
    }
    return {name: what for name, what in named.items() if what}


def _driver(gpus: Mapping[str, Any]) -> str:
    cuda = f", CUDA {gpus['cuda']}" if gpus.get("cuda") else ""
    return f"{gpus.get('driver') or ''}{cuda}"


def _job(launcher: str, job: Mapping[str, Any]) -> str:
    name = job.get("job_id") or job.get("pod") or job.get("run_id") or job.get("rank") or ""
    return f"{launcher} {name}".rstrip()


def _program(loaded: LoadedRun) -> dict[str, Any]:
    facts = loaded.facts
    git, python = facts.get("git") or {}, facts.get("python") or {}
    branch = f" on {git['branch']}" if git.get("branch") else ""
    named = {
        "command": shlex.join(loaded.command),
        "directory": facts.get("cwd"),
        "git": f"{git['commit'][:12]}{branch}{', with changes' if git.get('is_dirty') else ''}" if git else "",
        "python": " ".join(filter(None, (python.get("version"), python.get("executable")))),
    }
    return {name: what for name, what in named.items() if what}


def _process(each: Digest, loaded: LoadedRun) -> str:
    opened = each.opened
    rank = f", rank {opened.rank}" if opened.rank is not None else ""
    kind = {"worker": " (worker)", "launcher": " (the command)"}.get(opened.writer, "")
    who = f"attempt {opened.attempt}{rank}: process {process_of(each).pid}{kind} on {clean(opened.host)}"
    return f"{who}, {plural(each.rows, 'row')}{_end(each, loaded)}"


def _end(each: Digest, loaded: LoadedRun) -> str:
    exits = [record for record in loaded.said(Exited) if record.journal == each.journal]
    best = max(exits, key=lambda record: (record.status is not None, record.source == "wait"), default=None)
    if best is not None:
        how = SOURCES.get(best.source, best.source)
        return f", gone: {how}" if best.status is None else f", {wait_status(best.status)}: {how}"
    return ", ended the run" if any(isinstance(record, Finished) for record in each.said) else ""


def _alert(alert: Alerted) -> str:
    text = f": {clean(alert.text)}" if alert.text else ""
    return f"{_time(alert.at_ns)}  {clean(alert.level)} {clean(alert.title)}{text}"


def _lost(lost: Lost) -> str:
    since = f" since {_time(lost.since_ns)}" if lost.since_ns else ""
    return f"{plural(lost.records, 'record')} could not be kept{since}: {clean(lost.because)}"


def _on_gpu(loaded: LoadedRun) -> list[str]:
    """What was logged and had not come from a GPU when its process died."""
    left = sum(each.awaited.pending for each in loaded.digests if each.awaited is not None)
    failed = sum(each.awaited.lost for each in loaded.digests if each.awaited is not None)
    if failed or (left and loaded.row.state != RUNNING):
        return [f"{left + failed:,} values of the last rows were still on the GPU and are not recorded"]
    return []


def _lost_media(loaded: LoadedRun) -> list[str]:
    lost = lost_media(loaded.row.directory)
    lines = [
        f"{each.count:,} of the media {clean(each.key)!r}"
        f"{'' if each.last is None else f', the last one at step {each.last:,}'}: {clean(each.because)}"
        for each in lost[:MOST_PAIRS]
    ]
    return [*lines, f"and {len(lost) - MOST_PAIRS:,} more; --json has all"] if len(lost) > MOST_PAIRS else lines


def _damage(damage: Damage) -> str:
    amount = f"{plural(damage.bytes, 'byte')} of {damage.file} can't be read: " if damage.bytes else f"{damage.file}: "
    return amount + damage.because


def _unknown(loaded: LoadedRun) -> list[str]:
    count = sum(each.unknown for each in loaded.digests)
    return [f"{plural(count, 'record')} can't be understood by this version of holter"] if count else []


def _time(at_ns: int) -> str:
    return moment(at_ns / 1e9)


def render(found: Sequence[Section], seen: Look) -> list[str]:
    """The sections as text."""
    lines = []
    for section in found:
        lines += ["", seen.paint(section.title, "bold"), *(f"  {line}" for line in section.lines)]
    return lines
