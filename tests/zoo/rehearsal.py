"""`python -m tests.zoo.rehearsal`: whether faults happen as they say. Nobody watches, and nobody asks for a verdict."""

import argparse
import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.zoo.fault import Fault, load_faults
from tests.zoo.jobs import LIVING, JobStaging
from tests.zoo.modes import NOBODY, ORDINARY_USER, Mode
from tests.zoo.needs import lacks
from tests.zoo.obituaries import Obituaries
from tests.zoo.slurm import Cluster
from tests.zoo.staging import Staging
from tests.zoo.users import uid_of_lane

OUT_OF_MEMORY = "cgroup-out-of-memory"


def main() -> int:
    """Rehearse what was chosen; 1 where something did not happen as it should have."""
    chosen = _arguments()
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number in (signal.SIGHUP, signal.SIGQUIT):
        signal.signal(number, signal.SIG_DFL)
    faults = [fault for fault in load_faults() if re.search(chosen.only, f"{fault.share} {fault.kind}: {fault.name}")]
    with contextlib.ExitStack() as stack:
        base = Path(tempfile.mkdtemp(prefix="holter-rehearsal-"))
        base.chmod(0o755)
        stack.callback(shutil.rmtree, base, ignore_errors=True)
        obituaries = Obituaries()
        stack.callback(obituaries.close)
        missing = {fault.name: why for fault in faults if (why := lacks(fault))}
        faults = [fault for fault in faults if fault.name not in missing]
        cluster = stack.enter_context(_started(base)) if any(fault.place.job for fault in faults) else None
        lanes = stack.enter_context(ThreadPoolExecutor(chosen.lanes))
        results = lanes.map(lambda fault: _rehearse(base, fault, obituaries, cluster, is_user=chosen.user), faults)
        wrong = 0
        for fault, (trouble, words) in zip(faults, results, strict=True):
            wrong += bool(trouble)
            if trouble or chosen.verbose:
                print(f"{'BAD ' if trouble else 'ok  '} {fault.kind}: {fault.name}\n{trouble}{words}", flush=True)
    for name, why in missing.items():
        print(f"left out: {name}: {why}")
    print(f"{len(faults) - wrong} of {len(faults)} happened as they should")
    return int(bool(wrong))


def _rehearse(
    base: Path, fault: Fault, obituaries: Obituaries, cluster: Cluster | None, *, is_user: bool
) -> tuple[str, str]:
    """What went wrong, and what was seen."""
    stage = Path(tempfile.mkdtemp(prefix="stage-", dir=base))
    mode = Mode(watch=NOBODY)
    uid = uid_of_lane(0) if (is_user or fault.place.is_user) and not fault.place.job else 0
    staging = (
        JobStaging(stage, fault, mode, cluster=cluster)
        if fault.place.job and cluster is not None
        else Staging(stage, fault, mode, uid=uid)
    )
    began, pid, trouble, words = time.monotonic(), 0, "", ""
    try:
        with contextlib.ExitStack() as stack:
            scene = staging.raise_curtain(stack)
            pid = scene.process.pid
            staging.play(scene)
            code = staging.await_end(scene)
            if isinstance(staging, JobStaging):
                pid = scene.pid
                while staging.job_state() in LIVING:
                    time.sleep(0.1)
            kills = sum(group.kills for group in staging.cgroups if group.has_memory)
            words = f"     ended: {staging.seen(code)}; kills for memory: {kills}; {time.monotonic() - began:.1f} s\n"
            if not staging.is_expected(code):
                trouble = f"     expected {fault.ends or fault.job_states}\n"
            if OUT_OF_MEMORY in fault.truths[:1] and not kills and not fault.place.job:
                trouble += "     nobody was killed for memory\n"
    except (TimeoutError, subprocess.SubprocessError, OSError, ValueError, AssertionError) as error:
        trouble = f"     {type(error).__name__}: {error}\n"
    time.sleep(0.5)
    ends = "".join(f"       {each}\n" for each in obituaries.below(pid))
    output = "".join(f"     | {line}\n" for line in staging.output().splitlines()[-12:])
    shutil.rmtree(stage, ignore_errors=True)
    return trouble, words + ends + output


@contextlib.contextmanager
def _started(base: Path) -> Iterator[Cluster]:
    (base / "slurm").mkdir()
    cluster = Cluster(base / "slurm")
    cluster.start()
    try:
        yield cluster
    finally:
        cluster.stop()


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.zoo.rehearsal", description=__doc__)
    parser.add_argument("--only", default="", help="a pattern for `share kind: name` of the faults")
    parser.add_argument("--user", action="store_true", help=f"as {ORDINARY_USER}s without rights")
    parser.add_argument("--lanes", type=int, default=os.cpu_count() or 1, help="how many at a time")
    parser.add_argument("--verbose", action="store_true", help="what was seen of each, not only of those that failed")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
