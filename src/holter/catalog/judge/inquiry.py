"""Asks again about the end of a run, when its sidecar could not or somebody may know more by now."""

from collections.abc import Sequence

import msgspec

from holter.catalog.change.command_journal import as_command, in_memory, may_write, write_down
from holter.catalog.judge.verdict import as_record, is_by_todays_rules, judge_anew
from holter.catalog.read.loaded_run import LoadedRun
from holter.model.records import Looked
from holter.model.state import FINISHED, RUNNING


def inquire(loaded: LoadedRun) -> LoadedRun:
    """The run with what the sources say now, and the verdict of the rules of today; written down where we may do that.

    Blocks for seconds where a scheduler must be asked. In a directory that is not ours the answer is the same, but the
    next one who asks has to look for it again.
    """
    if loaded.by_itself.state in (RUNNING, FINISHED):
        return loaded
    from holter.probes.postmortem.asking import look_again  # whoever lists runs does not ask

    looked = look_again(loaded.digests, loaded.by_itself.ended_at_ns or 0)
    news = _news(looked, loaded.said(Looked))
    if not news and is_by_todays_rules(loaded):
        return loaded
    directory, opened = loaded.row.directory, as_command(loaded.row.id, loaded.row.attempt)
    if news:
        loaded = msgspec.structs.replace(loaded, digests=[*loaded.digests, in_memory(opened, news)])
    judged = judge_anew(loaded)
    record = as_record(judged)
    if may_write(directory):
        write_down(directory, [*news, *([record] if record is not None else [])], opened=opened)
    return judged


def _news(looked: Sequence[Looked], known: Sequence[Looked]) -> list[Looked]:
    """What nobody has said in the same words."""
    said = [msgspec.structs.replace(record, at_ns=0) for record in known]
    return [record for record in looked if msgspec.structs.replace(record, at_ns=0) not in said]
