"""The process connector: Linux's own announcement of each exit, also of children that nobody had time to meet.

Two sockets listen. One hears of the followed processes, their threads and their children, and wakes whoever polls it.
The other hears of all births, and of all ends but the good ones, and is only read when somebody asks: so a child is
known to descend from a followed process though its parent came and went unseen.

Linux only, in the first network and pid namespaces; before about 6.6 only for a privileged process.
"""

import _socket
import contextlib
import errno
import os
import struct
import time
from array import array
from collections import deque
from collections.abc import Collection, Iterator
from typing import TypeVar

import msgspec

from holter.probes.identity import INITIAL_PID_NAMESPACE, pid_namespace
from holter.probes.postmortem.exit_status import kernel_version
from holter.probes.postmortem.kinship import Kinship

NETLINK_CONNECTOR = 11
CN_IDX_PROC = CN_VAL_PROC = 1
NLMSG_DONE = 3
PROC_CN_MCAST_LISTEN = 1
PROC_EVENT_FORK, PROC_EVENT_EXIT = 0x00000001, 0x80000000
SO_ATTACH_FILTER, SO_RCVBUFFORCE = 26, 33
# A second of births on a busy host, or the threads of a large process; without the right to force it, Linux gives
# what its limit allows.
QUEUE_BYTES = 4 << 20
# nlmsghdr; cn_msg; what, cpu and time of an event; pid, tgid and exit code of an exit; since 4.18 exit signal, pid and
# tgid of the parent.
NETLINK_HEADER = struct.Struct("=IHHII")
CONNECTOR_HEADER = struct.Struct("=IIIIHH")
EXIT_EVENT = struct.Struct("=IIQIII")
PARENT = struct.Struct("=III")
# what, cpu and time of an event; pid and tgid of the parent, then of the child.
FORK_EVENT = struct.Struct("=IIQIIII")
WHAT_AT = NETLINK_HEADER.size + CONNECTOR_HEADER.size
PID_AT, TGID_AT, STATUS_AT = WHAT_AT + 16, WHAT_AT + 20, WHAT_AT + 24
PARENT_AT = WHAT_AT + EXIT_EVENT.size
PARENT_TGID_AT = PARENT_AT + 8
CHILD_PID_AT, CHILD_TGID_AT = WHAT_AT + 24, WHAT_AT + 28
# From this version on a listener may name the events that it wants; an earlier kernel ignores such a message.
MASKS_SINCE = (6, 6)
MOST_DRAINED = 4096
MOST_FOLLOWED = 512
MOST_HEARD = 256
MOST_THREADS = 4096
# A program may start commands without end; with more exits in a second than this, who polls is not woken for each.
MOST_A_SECOND = 50
# An exit that was announced longer ago than this was that of the first thread of a process which lived on.
FRESH_NS = 10_000_000_000
# A process is seen to be dead some moments before its exit is announced.
LATE_NS = 50_000_000
# Classic BPF: load a word, compare with a constant or with X, keep A in X, return.
LOAD, LENGTH, IF_EQUAL, IF_AT_LEAST, IF_EQUAL_X, KEEP, RETURN = 0x20, 0x80, 0x15, 0x35, 0x1D, 0x07, 0x06
ALL_OF_IT = 0xFFFFFFFF

T = TypeVar("T")


class Announced(msgspec.Struct, frozen=True):
    """An exit as Linux announced it; the time is that of the monotonic clock."""

    pid: int
    status: int
    at_ns: int
    parent: int = 0
    """0 where Linux does not say."""
    ancestors: tuple[int, ...] = ()
    """Its parent, grandparent and so on, as far as their births were heard of."""
    thread: int = 0
    """Of which thread it is, where it is not of the whole process."""


class Connector:
    """Listens for the exits of the processes it follows and of their descendants. One thread; never blocks; closed by
    its owner.

    Args:
        link: hears of the followed ones and of their children.
        family: hears of births; None where there is none, and then grandchildren are known only by their parents.
    """

    def __init__(self, link: _socket.socket, family: _socket.socket | None = None) -> None:
        self._link = link
        self._family = family
        self._followed: set[int] = set()
        self._kin = Kinship(self._followed, stranger=os.getpid())
        self._announced: dict[int, Announced] = {}
        self._threads: dict[int, set[int]] = {}
        self._forgotten: dict[int, int] = {}
        self._of_children: deque[Announced] = deque(maxlen=MOST_HEARD)
        self._known: deque[tuple[int, int]] = deque(maxlen=MOST_HEARD)
        self._heard = 0
        self._second, self._in_second = 0, 0

    @property
    def descriptor(self) -> int:
        """Readable when there is something to drain; negative while so much is that it can wait for the next tick."""
        is_flooded = self._in_second > MOST_A_SECOND and time.monotonic_ns() // 10**9 == self._second
        return -1 if is_flooded else self._link.fileno()

    def follow(self, pid: int) -> None:
        """Listen for the exit of one more process; idempotent."""
        if pid not in self._followed and len(self._followed) < MOST_FOLLOWED:
            self._followed.add(pid)
            self._set_filter()

    def forget(self, pid: int) -> None:
        """The process is gone, and its pid may be given to another; idempotent."""
        self._announced.pop(pid, None)
        _put(self._forgotten, pid, time.monotonic_ns())
        if pid in self._followed:
            self._followed.discard(pid)
            self._set_filter()

    def status(self, pid: int) -> int | None:
        """The wait status with which a process that is known to be dead has ended, None where that was not heard."""
        self.drain()
        heard = self._announced.get(pid)
        if heard is None or time.monotonic_ns() - heard.at_ns > FRESH_NS:
            return None
        return heard.status

    def threads_of(self, pid: int) -> frozenset[int]:
        """The threads that ended with a process which did not end well, as far as they were heard of: the kernel log
        names the thread that faulted."""
        self.drain()
        return frozenset(self._threads.get(pid, ()))

    def children_since(self, number: int) -> tuple[int, list[Announced]]:
        """The exits of descendants of the followed ones, from this number on, and the number to ask with next.

        Not of those that left with 0.
        """
        self.drain()
        new = min(self._heard - number, len(self._of_children))
        return self._heard, list(self._of_children)[len(self._of_children) - new :] if new > 0 else []

    def drain(self) -> None:
        """Take in what was announced."""
        for message in _received(self._family) if self._family is not None else ():
            if born := parse_fork(message):
                self._kin.born(*born)
            elif (heard := parse_exit(message)) is not None and heard.pid in self._kin:
                self._keep(heard)
        for message in _received(self._link):
            if (heard := parse_exit(message)) is not None:
                self.take_in(heard)

    def take_in(self, heard: Announced) -> None:
        """Keep one exit, of a process or thread that the filter let pass, until somebody asks."""
        second = time.monotonic_ns() // 10**9
        self._second, self._in_second = second, self._in_second + 1 if second == self._second else 1
        if heard.thread:
            threads = self._threads.get(heard.pid, set())
            if len(threads) < MOST_THREADS:
                threads.add(heard.thread)
            _put(self._threads, heard.pid, threads)
        elif heard.pid in self._followed:
            self._announced[heard.pid] = heard
        elif heard.parent:
            self._keep(heard)

    def _keep(self, heard: Announced) -> None:
        is_old = heard.at_ns < self._forgotten.get(heard.pid, 0) + LATE_NS
        if is_old or (heard.pid, heard.at_ns) in self._known or heard.pid in self._followed:
            return  # both sockets have heard it, or whoever followed it has seen it die
        self._known.append((heard.pid, heard.at_ns))
        ancestors = self._kin.ancestors(heard.pid) or ((heard.parent,) if heard.parent else ())
        self._of_children.append(msgspec.structs.replace(heard, ancestors=ancestors))
        self._heard += 1

    def close(self) -> None:
        """Stop listening; idempotent."""
        self._link.close()
        if self._family is not None:
            self._family.close()

    def _set_filter(self) -> None:
        """Let Linux drop what is about others, so that a busy host neither costs us time nor fills our queue."""
        with contextlib.suppress(OSError):
            attach_filter(self._link, filter_program(self._followed))


def open_connector() -> Connector | None:
    """Return a connector, or None where Linux, a namespace or the lack of a right does not allow one."""
    # In other pid namespaces the pids that we hear of are not those that we know.
    if not hasattr(_socket, "AF_NETLINK") or pid_namespace() != INITIAL_PID_NAMESPACE:
        return None
    link = _listen(filter_program(set()), PROC_EVENT_EXIT)
    if link is None:
        return None
    return Connector(link, _listen(family_filter(), PROC_EVENT_FORK | PROC_EVENT_EXIT))


def _listen(program: bytes, events: int) -> _socket.socket | None:
    link = None
    try:
        link = _socket.socket(_socket.AF_NETLINK, _socket.SOCK_DGRAM | _socket.SOCK_CLOEXEC, NETLINK_CONNECTOR)
        link.setblocking(False)
        for option in (_socket.SO_RCVBUF, SO_RCVBUFFORCE):
            with contextlib.suppress(OSError):
                link.setsockopt(_socket.SOL_SOCKET, option, QUEUE_BYTES)
        attach_filter(link, program)
        link.bind((0, CN_IDX_PROC))
        link.send(listen_message(events, with_mask=kernel_version(os.uname().release) >= MASKS_SINCE))
    except OSError:
        if link is not None:
            link.close()
        return None
    return link


def _put(kept: dict[int, T], pid: int, value: T) -> None:
    """Of many the newest stay."""
    kept.pop(pid, None)
    kept[pid] = value
    if len(kept) > MOST_FOLLOWED:
        del kept[next(iter(kept))]


def _received(link: _socket.socket) -> Iterator[bytes]:
    for _ in range(MOST_DRAINED):
        try:
            yield link.recv(4096)
        except BlockingIOError:
            return
        except OSError as error:
            if error.errno != errno.ENOBUFS:  # else some were lost
                return


def listen_message(events: int = PROC_EVENT_EXIT, *, with_mask: bool) -> bytes:
    """Return the request for events: for these only where Linux understands that, else for all."""
    wanted = struct.pack("=II", PROC_CN_MCAST_LISTEN, events)
    wanted = wanted if with_mask else wanted[:4]
    body = CONNECTOR_HEADER.pack(CN_IDX_PROC, CN_VAL_PROC, 0, 0, len(wanted), 0) + wanted
    return NETLINK_HEADER.pack(NETLINK_HEADER.size + len(body), NLMSG_DONE, 0, 0, os.getpid()) + body


def parse_exit(message: bytes) -> Announced | None:
    """Return the exit of a process or thread that a message announces, None for any other message."""
    if len(message) < WHAT_AT + EXIT_EVENT.size:
        return None
    what, _, at_ns, pid, process, status = EXIT_EVENT.unpack_from(message, WHAT_AT)
    if what != PROC_EVENT_EXIT:
        return None
    has_parent = len(message) >= PARENT_AT + PARENT.size
    parent = PARENT.unpack_from(message, PARENT_AT)[2] if has_parent else 0
    return Announced(process, status, at_ns, parent, thread=pid if pid != process else 0)


def parse_fork(message: bytes) -> tuple[int, int] | None:
    """Return the child and the parent of a birth that a message announces, None for any other message."""
    if len(message) < WHAT_AT + FORK_EVENT.size:
        return None
    what, _, _, _, parent, child, process = FORK_EVENT.unpack_from(message, WHAT_AT)
    return (child, parent) if what == PROC_EVENT_FORK and child == process else None


def filter_program(pids: Collection[int]) -> bytes:
    """Return classic BPF that lets only the exits of these processes, their threads and their children pass.

    Of threads, and of children that nobody met, only those pass that did not leave with 0: a script may start
    thousands.
    """
    known = sorted(pids)
    return _assembled(
        (LOAD, 0, 0, WHAT_AT),
        (IF_EQUAL, 1, 0, _as_loaded(PROC_EVENT_EXIT)),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, TGID_AT),
        (KEEP, 0, 0, 0),
        (LOAD, 0, 0, PID_AT),
        (IF_EQUAL_X, 3, 0, 0),
        (LOAD, 0, 0, STATUS_AT),
        (IF_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, TGID_AT),
        *_one_of(known),
        (LOAD, 0, 0, PID_AT),
        (IF_EQUAL_X, 1, 0, 0),
        (RETURN, 0, 0, 0),
        (LENGTH, 0, 0, 0),  # to load what an old kernel did not send would end the filter too, with the same answer
        (IF_AT_LEAST, 1, 0, PARENT_AT + PARENT.size),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, STATUS_AT),
        (IF_EQUAL, 0, 1, 0),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, PARENT_TGID_AT),
        *_one_of(known),
        (RETURN, 0, 0, 0),
    )


def family_filter() -> bytes:
    """Return classic BPF that lets all births of processes pass, and all their ends but the good ones; no thread's."""
    return _assembled(
        (LOAD, 0, 0, WHAT_AT),
        (IF_EQUAL, 0, 6, _as_loaded(PROC_EVENT_FORK)),
        (LOAD, 0, 0, CHILD_TGID_AT),
        (KEEP, 0, 0, 0),
        (LOAD, 0, 0, CHILD_PID_AT),
        (IF_EQUAL_X, 0, 1, 0),
        (RETURN, 0, 0, ALL_OF_IT),
        (RETURN, 0, 0, 0),
        (IF_EQUAL, 1, 0, _as_loaded(PROC_EVENT_EXIT)),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, TGID_AT),
        (KEEP, 0, 0, 0),
        (LOAD, 0, 0, PID_AT),
        (IF_EQUAL_X, 1, 0, 0),
        (RETURN, 0, 0, 0),
        (LOAD, 0, 0, STATUS_AT),
        (IF_EQUAL, 1, 0, 0),
        (RETURN, 0, 0, ALL_OF_IT),
        (RETURN, 0, 0, 0),
    )


def _assembled(*instructions: tuple[int, int, int, int]) -> bytes:
    return b"".join(struct.pack("=HBBI", *instruction) for instruction in instructions)


def _one_of(pids: list[int]) -> Iterator[tuple[int, int, int, int]]:
    for pid in pids:
        yield IF_EQUAL, 0, 1, _as_loaded(pid)
        yield RETURN, 0, 0, ALL_OF_IT


def _as_loaded(number: int) -> int:
    """Return a number as a filter sees it, which takes all words for those of the network."""
    return int.from_bytes(struct.pack("=I", number), "big")


def attach_filter(link: _socket.socket, program: bytes) -> None:
    """Replace the socket's filter at once. Raises OSError."""
    code = array("B", program)
    link.setsockopt(_socket.SOL_SOCKET, SO_ATTACH_FILTER, struct.pack("HP", len(code) // 8, code.buffer_info()[0]))
