"""The server's figures in the text format that Prometheus reads. Their names are in docs/operation.md, and stay."""

import shutil
from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import psutil

from holter.server.domain.services import Services
from holter.server.process.tally import BOUNDS_S, Times
from holter.version import __version__

MEDIA = "text/plain; version=0.0.4; charset=utf-8"


class Sample(NamedTuple):
    """One number; the suffix is what a histogram adds to its name."""

    value: float
    labels: Mapping[str, str] = {}
    suffix: str = ""


class Family(NamedTuple):
    """One metric."""

    name: str
    kind: str
    about: str
    samples: Iterable[Sample]


def expose(services: Services, pid: int) -> bytes:
    """All of them, as they are now. Reads the disk and the process."""
    return render(
        [*_of_requests(services), *_of_connections(services), *_of_index(services), *_of_process(services, pid)]
    )


def render(families: Iterable[Family]) -> bytes:
    """Pure."""
    lines = []
    for family in families:
        lines += [f"# HELP {family.name} {family.about}", f"# TYPE {family.name} {family.kind}"]
        for sample in family.samples:
            labels = ",".join(f'{name}="{_escaped(value)}"' for name, value in sample.labels.items())
            shown = f"{{{labels}}}" if labels else ""
            lines.append(f"{family.name}{sample.suffix}{shown} {sample.value:.17g}")
    return ("\n".join(lines) + "\n").encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _of_requests(services: Services) -> Iterator[Family]:
    tally = services.tally
    counted = [
        Sample(count, {"method": method, "route": route, "status": str(status)})
        for (method, route, status), count in sorted(tally.requests.copy().items())
    ]
    yield Family("holter_requests_total", "counter", "Requests that were answered.", counted)
    times = [sample for kind, each in sorted(tally.times.copy().items()) for sample in _histogram(kind, each)]
    yield Family("holter_request_seconds", "histogram", "How long answers took, without live streams.", times)
    yield Family("holter_requests_in_flight", "gauge", "Requests that are being answered.", [Sample(tally.in_flight)])
    yield Family("holter_received_bytes_total", "counter", "Bytes of bodies received.", [Sample(tally.bytes_in)])
    yield Family("holter_sent_bytes_total", "counter", "Bytes of bodies sent.", [Sample(tally.bytes_out)])


def _histogram(kind: str, times: Times) -> Iterator[Sample]:
    total = 0
    for bound, count in zip((*map(str, BOUNDS_S), "+Inf"), times.counts, strict=True):
        total += count
        yield Sample(total, {"kind": kind, "le": bound}, "_bucket")
    yield Sample(times.sum_s, {"kind": kind}, "_sum")
    yield Sample(total, {"kind": kind}, "_count")


def _of_connections(services: Services) -> Iterator[Family]:
    crowd = services.crowd
    open_now = [Sample(crowd.known, {"who": "known"}), Sample(crowd.strangers, {"who": "stranger"})]
    yield Family("holter_connections", "gauge", "Open connections, by whether a key was shown.", open_now)
    refused = [Sample(crowd.refused)]
    yield Family("holter_connections_refused_total", "counter", "Connections that found no place.", refused)
    away = [Sample(crowd.sent_away)]
    yield Family("holter_connections_sent_away_total", "counter", "Idle connections that left for others.", away)
    yield Family("holter_streams", "gauge", "Live streams that are read.", [Sample(services.changes.readers)])


def _of_index(services: Services) -> Iterator[Family]:
    lag = services.ingest.lag
    about = "Age of the oldest thing that was received and is not in the index yet."
    yield Family("holter_index_lag_seconds", "gauge", about, [Sample(lag.seconds)])
    yield Family("holter_index_waiting_messages", "gauge", "Messages that wait for it.", [Sample(lag.messages)])
    yield Family("holter_index_waiting_bytes", "gauge", "Their bytes.", [Sample(lag.bytes)])
    is_well = services.follower.trouble is None
    yield Family("holter_index_healthy", "gauge", "1 while it takes in what comes, else 0.", [Sample(is_well)])
    yield Family("holter_followed_runs", "gauge", "Runs in which something may happen.", [Sample(services.ingest.live)])
    unreadable = [Sample(len(services.ingest.unreadable))]
    yield Family("holter_unreadable_runs", "gauge", "Runs that can't be shown.", unreadable)
    disk = shutil.disk_usage(services.data)
    yield Family("holter_disk_free_bytes", "gauge", "Free on the disk of the data directory.", [Sample(disk.free)])
    yield Family("holter_disk_size_bytes", "gauge", "Size of that disk.", [Sample(disk.total)])


def _of_process(services: Services, pid: int) -> Iterator[Family]:
    process = psutil.Process(pid)
    with process.oneshot():
        cpu, memory, began = process.cpu_times(), process.memory_info(), process.create_time()
    soft = process.rlimit(psutil.RLIMIT_NOFILE)[0] if hasattr(process, "rlimit") else -1
    about = {"version": __version__, "kind": services.settings.kind}
    yield Family("holter_build_info", "gauge", "1; its labels say what this server is.", [Sample(1, about)])
    spent = [Sample(cpu.user + cpu.system)]
    yield Family("process_cpu_seconds_total", "counter", "CPU time of the process.", spent)
    yield Family("process_resident_memory_bytes", "gauge", "Memory of the process.", [Sample(memory.rss)])
    yield Family("process_start_time_seconds", "gauge", "When it began, in seconds since 1970.", [Sample(began)])
    yield Family("process_open_fds", "gauge", "Open file descriptors.", [Sample(process.num_fds())])
    yield Family("process_max_fds", "gauge", "How many it may have; -1 for any number.", [Sample(soft)])
