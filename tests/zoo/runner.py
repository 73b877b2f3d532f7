"""Runs faults in modes: several at a time, each with a directory and a user of its own."""

import contextlib
import os
import queue
import shutil
import tempfile
import threading
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import msgspec

from tests.zoo.case import Case
from tests.zoo.fault import Fault
from tests.zoo.modes import ORDINARY_USER, Mode
from tests.zoo.performance import JobPerformance, Performance
from tests.zoo.slurm import Cluster
from tests.zoo.users import uid_of_lane

LANES = max(3, (os.cpu_count() or 1) + 1)
JOBS = 4
"""Jobs of SLURM wait more than they work."""


class Runner:
    """Takes faults and gives back their cases. A context manager; removes what it made when it ends."""

    def __init__(self, lanes: int = LANES) -> None:
        self._base = Path(tempfile.mkdtemp(prefix="holter-zoo-"))
        self._base.chmod(0o755)
        self._uids: queue.SimpleQueue[int] = queue.SimpleQueue()
        for lane in range(lanes):
            self._uids.put(uid_of_lane(lane))
        self._lanes = ThreadPoolExecutor(lanes)
        self._jobs = ThreadPoolExecutor(JOBS)
        self._cluster: Cluster | None = None
        self._starting = threading.Lock()

    def __enter__(self) -> "Runner":
        return self

    def __exit__(self, *_: object) -> None:
        for pool in (self._lanes, self._jobs):
            pool.shutdown(wait=True, cancel_futures=True)
        if self._cluster is not None:
            self._cluster.stop()
        shutil.rmtree(self._base, ignore_errors=True)

    def submit(self, fault: Fault, mode: Mode) -> Future[Case]:
        """Have it run as soon as there is room."""
        pool = self._jobs if fault.place.job else self._lanes
        return pool.submit(self._run, fault, mode)

    def run(self, wanted: Iterable[tuple[Fault, Mode]]) -> Iterator[Case]:
        """All of them, in their order."""
        for future in [self.submit(fault, mode) for fault, mode in wanted]:
            yield future.result()

    def _run(self, fault: Fault, mode: Mode) -> Case:
        stage = Path(tempfile.mkdtemp(prefix="stage-", dir=self._base))
        try:
            return self._perform(stage, fault, mode)
        except Exception as error:  # noqa: BLE001  one case that can't be had is no reason to lose all others
            return msgspec.structs.replace(Case.of(fault, mode), trouble=f"{type(error).__name__}: {error}")
        finally:
            shutil.rmtree(stage, ignore_errors=True)

    def _perform(self, stage: Path, fault: Fault, mode: Mode) -> Case:
        if fault.place.job:
            return JobPerformance(stage, fault, mode, cluster=self._started_cluster()).perform()
        with self._user() as uid:
            is_user = mode.user == ORDINARY_USER or fault.place.is_user
            return Performance(stage, fault, mode, uid=uid if is_user else 0).perform()

    @contextlib.contextmanager
    def _user(self) -> Iterator[int]:
        uid = self._uids.get()
        try:
            yield uid
        finally:
            self._uids.put(uid)

    def _started_cluster(self) -> Cluster:
        with self._starting:
            if self._cluster is None:
                base = self._base / "slurm"
                base.mkdir()
                self._cluster = Cluster(base)
                self._cluster.start()
            return self._cluster
