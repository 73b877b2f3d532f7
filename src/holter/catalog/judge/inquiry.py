"""Asks again about the end of a run, when its sidecar could not or somebody may know more by now."""

from collections.abc import Sequence

import msgspec

from holter.catalog.change.command_journal import as_command, in_memory, may_write, write_down
from holter.catalog.judge.verdict import judge
from holter.catalog.read.run_view import LoadedRun
from holter.model.records import Looked
from holter.model.state import FINISHED, RUNNING


def inquire(loaded: LoadedRun) -> LoadedRun:
    """The run with what the sources say now, and the verdict that follows; written down where that may be done.

    Blocks for seconds where a scheduler must be asked. In a directory that is not ours the answer is the same, but the
    next one who asks has to look for it again.
    """
    if loaded.by_itself.state in (RUNNING, FINISHED):
        return loaded
    from holter.probes.postmortem.asking import look_again  # whoever lists runs does not ask

    looked = look_again(loaded.digests, loaded.by_itself.ended_at_ns or 0)
    news = _news(looked, loaded.said(Looked))
    if not news:
        return loaded
    directory, opened = loaded.view.directory, as_command(loaded.view.id, loaded.view.attempt)
    if may_write(directory):
        write_down(directory, news, opened=opened)
    return judge(msgspec.structs.replace(loaded, digests=[*loaded.digests, in_memory(opened, news)]))


def _news(looked: Sequence[Looked], known: Sequence[Looked]) -> list[Looked]:
    """What nobody has said in the same words."""
    said = [msgspec.structs.replace(record, at_ns=0) for record in known]
    return [record for record in looked if msgspec.structs.replace(record, at_ns=0) not in said]
