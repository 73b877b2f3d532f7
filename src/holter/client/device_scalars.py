"""Scalars on a GPU: copied while the program goes on, and recorded by a later `log()` once they have arrived."""

import contextlib
import functools
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from typing import Any, NamedTuple, Protocol

from holter.client.values import DEEPEST
from holter.errors import NotKept
from holter.model.awaiting import Awaited
from holter.model.clock import Clock
from holter.model.record import Record

SLOTS = 4096
"""So many values may be on their way; who is further ahead of the GPU waits for the oldest of them."""
POLL_S = 0.0005
_PLAIN = {float, int, bool, str, type(None)}


class Copies(Protocol):
    """The copies of one call; asked again and again whether they are there."""

    def have_arrived(self) -> bool:
        """Never waits."""

    def read(self) -> list[Any]:
        """The numbers, once they are there; gives back their places."""


class _Seen:
    """Pinned memory for `as_tensor`: as numbers that are as long, since it knows no others."""

    def __init__(self, host: Any) -> None:
        self.host = host
        size = host.element_size()
        self.__cuda_array_interface__ = {
            "shape": (SLOTS,),
            "typestr": f"{'|' if size == 1 else '<'}i{size}",
            "data": (host.data_ptr(), False),
            "strides": None,
            "version": 3,
        }


class _Place(NamedTuple):
    """Where one scalar goes: as the program reads it, and as the device writes it, None where it can't."""

    host: Any
    there: Any


class _Torch:
    """Pinned places for scalars of CUDA devices, made once for each type of number: that waits for the device."""

    def __init__(self, torch: Any) -> None:
        self._torch = torch
        # By the values' own type: to convert them takes a kernel more, and five times as long as the copy.
        self._places: dict[Any, list[_Place]] = {}
        self._events: list[Any] = []
        self._room = SLOTS

    @property
    def may_ask(self) -> bool:
        """While a CUDA graph is captured, any question would end the capture."""
        return not self._torch.cuda.is_current_stream_capturing()

    def has_room(self, count: int) -> bool:
        """Whether so many more can be on their way."""
        return self._room >= count

    def begin(self, values: list[Any]) -> "_TorchCopies":
        """Copy on the stream that makes them: another one would read what in-place code has changed since."""
        self._room -= len(values)
        places = []
        devices: dict[int, None] = {}
        for value in values:
            device = value.get_device()
            kind = (value.dtype, device)
            place = (self._places.get(kind) or self._new_places(kind)).pop()
            scalar = value.detach() if value.dim() == 0 else value.detach().reshape(())
            if place.there is None:
                place.host.copy_(scalar, non_blocking=True)
            else:
                # What the copy engine takes nine microseconds of the stream for, a kernel does in two (on an H200).
                self._torch.maximum(scalar, scalar, out=place.there)
            places.append((kind, place))
            devices[device] = None
        events = []
        for device in devices:
            event = self._events.pop() if self._events else self._torch.cuda.Event()
            event.record(self._torch.cuda.current_stream(device))
            events.append(event)
        return _TorchCopies(self, places, events=events)

    def take_back(self, places: list[tuple[Any, _Place]], events: list[Any]) -> None:
        """Places and events can be used again."""
        self._room += len(places)
        self._events += events
        for kind, place in places:
            self._places[kind].append(place)

    def _new_places(self, kind: Any) -> list[_Place]:
        dtype, device = kind
        host = self._torch.empty(SLOTS, dtype=dtype, pin_memory=True)
        there = self._as_seen(host, dtype, device)
        found = map(_Place, host, there if there is not None else [None] * SLOTS)
        return self._places.setdefault(kind, [*found])

    def _as_seen(self, host: Any, dtype: Any, device: Any) -> Any:
        """The same memory as the device sees it; None where it does not, or has no such kernel for this type."""
        with contextlib.suppress(Exception):  # torch's, of a device or driver that can't
            seen = self._torch.as_tensor(_Seen(host), device=device).view(dtype)
            if seen.data_ptr() == host.data_ptr():
                self._torch.maximum(seen[0], seen[0], out=seen[0])
                return seen
        return None


class _TorchCopies:
    def __init__(self, owner: _Torch, places: list[tuple[Any, _Place]], *, events: list[Any]) -> None:
        self._owner = owner
        self._places = places
        self._events = events

    def have_arrived(self) -> bool:
        return all(event.query() for event in self._events)

    def read(self) -> list[Any]:
        found = [place.host.item() for _, place in self._places]
        self._owner.take_back(self._places, self._events)
        return found


class _JaxCopies:
    def __init__(self, values: list[Any]) -> None:
        self._values = values
        for value in values:
            value.copy_to_host_async()

    def have_arrived(self) -> bool:
        return all(value.is_ready() for value in self._values)

    def read(self) -> list[Any]:
        return [value.item() for value in self._values]


class _Waiting:
    def __init__(self, step: int, at_ns: int, *, names: list[str], copies: Copies) -> None:
        self.step = step
        self.at_ns = at_ns
        self.names = names
        self.copies = copies


class DeviceScalars:
    """What is on its way from devices into one journal. The caller holds the journal's lock.

    Args:
        append: keeps a row of plain values.
        record: keeps a sentence.
        complain: says something once.
    """

    def __init__(
        self,
        append: Callable[[dict[str, Any], int, int], None],
        record: Callable[[Record], None],
        *,
        complain: Callable[[str, str], object],
        clock: Clock,
    ) -> None:
        self._append = append
        self._record = record
        self._complain = complain
        self._clock = clock
        self._waiting: deque[_Waiting] = deque()
        self._torch: _Torch | None = None
        self._said = 0

    @property
    def pending(self) -> int:
        """How many values are on their way."""
        return sum(len(each.names) for each in self._waiting)

    def take(self, data: Mapping[str, Any], step: int, at_ns: int, /) -> Mapping[str, Any] | None:
        """The row without what is on a device, which follows; None where nothing is left. Raises NotKept."""
        may_ask = self._torch is None or self._torch.may_ask
        has_emptied = bool(self._waiting) and may_ask and self._look()
        if _PLAIN.issuperset(map(type, data.values())):
            self._say_empty(has_emptied)
            return data
        rest: dict[str, Any] = {}
        ours: dict[str, Any] = {}
        others: dict[str, Any] = {}
        is_refused = False
        for name, value in _flat(data, ""):
            if type(value) in _PLAIN or not is_on_device(value):
                rest[name] = value
            elif self._refuse(name, value):
                is_refused = True
            elif getattr(value, "is_cuda", False) is True:
                ours[name] = value
            else:
                others[name] = value
        if ours:
            has_emptied = not self._begin(ours, step, at_ns, may_ask=may_ask) and has_emptied
        if others:
            self._await(_JaxCopies([*others.values()]), [*others], step, at_ns)
            has_emptied = False
        self._say_empty(has_emptied)
        return data if not (ours or others or is_refused) else rest or None

    def settle(self, within_s: float) -> None:
        """Wait for what is on its way, so long at most. Raises NotKept."""
        deadline = time.monotonic() + within_s
        while self._waiting:
            self._say_empty(self._look())
            if self._waiting and time.monotonic() > deadline:
                self._complain(
                    "gpu-late",
                    f"not recorded, still on the GPU after {within_s:g} s: {self.pending:,} of the values logged last",
                )
                return
            if self._waiting:
                time.sleep(POLL_S)

    def _begin(self, values: dict[str, Any], step: int, at_ns: int, /, *, may_ask: bool) -> bool:
        """Have torch's values copied; whether they are on their way."""
        if self._torch is None:
            self._torch = _Torch(sys.modules["torch"])
            may_ask = self._torch.may_ask
        if not may_ask:
            names = ", ".join(sorted(values))
            self._complain("gpu-capture", f"{names}: logged while a CUDA graph is captured, and not recorded")
            return False
        known = [*values]
        for part in (known[at : at + SLOTS] for at in range(0, len(known), SLOTS)):
            if not self._torch.has_room(len(part)):
                self._make_room(len(part))
            self._await(self._torch.begin([values[name] for name in part]), part, step, at_ns)
        return True

    def _await(self, copies: Copies, names: list[str], step: int, at_ns: int) -> None:
        self._waiting.append(_Waiting(step, at_ns, names=names, copies=copies))
        self._say(step, tuple(names))

    def _make_room(self, count: int) -> None:
        while self._waiting and self._torch is not None and not self._torch.has_room(count):
            self._look()
            time.sleep(POLL_S)

    def _refuse(self, name: str, value: Any) -> bool:
        """A distributed tensor has to be gathered by all ranks: that is the program's to do."""
        if not _is_distributed(value):
            return False
        self._complain(
            f"value:{name}",
            f"{name!r} is a DTensor and not recorded: to read it, all ranks have to; log(…full_tensor()) does that",
        )
        return True

    def _look(self) -> bool:
        """Keep the rows that have arrived, in the order in which they were logged; whether that were the last ones."""
        has_news = False
        try:
            while self._waiting and self._waiting[0].copies.have_arrived():
                arrived = self._waiting.popleft()
                has_news = True
                row = dict(zip(arrived.names, arrived.copies.read(), strict=True))
                self._append(row, arrived.step, arrived.at_ns)
        except NotKept:
            raise
        except Exception as error:  # noqa: BLE001  CUDA's own, after which nothing can be read any more
            lost = self.pending
            self._waiting.clear()
            self._complain(
                "gpu-failed", f"values on the GPU can't be read any more, {lost:,} of them are lost ({error})"
            )
            self._record(Awaited(at_ns=self._clock.now_ns(), pending=0, lost=lost))
            return False
        return has_news and not self._waiting

    def _say_empty(self, is_news: bool) -> None:
        if is_news and not self._waiting:
            self._say(None, ())

    def _say(self, step: int | None, keys: tuple[str, ...]) -> None:
        self._record(Awaited(at_ns=self._clock.now_ns(), pending=self.pending, step=step, keys=keys))


def holds_device_scalars(data: Mapping[str, Any]) -> bool:
    """Whether a row has a scalar on a GPU, or a distributed one."""
    return any(is_on_device(value) for _, value in _flat(data, ""))


def is_on_device(value: Any) -> bool:
    """Whether to read it would wait for a GPU, or for other ranks."""
    if type(value) in _PLAIN:
        return False
    with contextlib.suppress(Exception):  # users' own classes may raise anything from anything
        if _is_distributed(value):
            return True
        if getattr(value, "is_cuda", False) is True:
            return bool(value.numel() == 1 and not value.is_complex())
        if hasattr(value, "copy_to_host_async"):
            return bool(value.size == 1) and {each.platform for each in value.devices()} != {"cpu"}
    return False


def _is_distributed(value: Any) -> bool:
    kind: Any = type(value)
    return _is_distributed_type(kind)


@functools.lru_cache(maxsize=256)
def _is_distributed_type(kind: type) -> bool:
    return any(each.__name__ == "DTensor" for each in kind.__mro__)


def _flat(data: Mapping[Any, Any], prefix: str, depth: int = 0) -> Iterator[tuple[str, Any]]:
    for key, value in data.items():
        if isinstance(value, Mapping) and depth < DEEPEST:
            yield from _flat(value, f"{prefix}{key}.", depth + 1)
        else:
            yield f"{prefix}{key}", value


def uses_gpu() -> bool:
    """Whether this process has a GPU at work by now."""
    cuda = getattr(sys.modules.get("torch"), "cuda", None)
    with contextlib.suppress(Exception):  # torch is being imported in another thread
        return bool(cuda is not None and cuda.is_initialized())
    return False
