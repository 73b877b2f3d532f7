"""Where a run can go on, in lines for people."""

import time

from holter.catalog.read.going_on import WayOn, way_on
from holter.catalog.read.loaded_run import LoadedRun
from holter.catalog.read.run_artifacts import RunArtifact, artifacts_of
from holter.cli.figures import age, clean, plural, size

MOST_ARTIFACTS = 20


def going_on_lines(way: WayOn | None) -> list[str]:
    """Nothing where there is no whole checkpoint."""
    if way is None:
        return []
    best = way.checkpoint
    step = f"step {best.step:,}" if best.step is not None else "a checkpoint"
    where = best.path or f"`holter artifact get {best.artifact}`"
    lines = [f"{step}, written {age(time.time() - best.at_ns / 1e9)}: {clean(where)}"]
    lines += [f"{clean(way.command)}"] if way.command else []
    for each in way.passed_over[-3:]:
        name = f"step {each.step:,}" if each.step is not None else "one"
        lines.append(f"not from {name}, {clean(each.path)}: {clean(each.trouble)}")
    return lines


def kept_lines(loaded: LoadedRun) -> dict[str, list[str]]:
    """By title: checkpoints, and what became of the artifacts that the run logged and used."""
    artifacts = [_artifact(each) for each in artifacts_of(loaded)]
    return {"checkpoint": going_on_lines(way_on(loaded)), "artifacts": artifacts[-MOST_ARTIFACTS:]}


def _artifact(found: RunArtifact) -> str:
    name = clean(found.name)
    match found.state:
        case "used":
            return f"used {clean(found.project)}/{name}:{found.version}"
        case "waits":
            return f"{name}: {plural(found.files, 'file')}, {size(found.bytes)}, not whole yet"
        case "absent":
            return f"{name}: absent, never half: {clean(found.why)}"
        case "made":
            return f"made {name}:{found.version}, {size(found.bytes)}, {size(found.new_bytes)} of it new"
