"""A GPU without a GPU: kernels, copies and events wait in streams until the test lets them run.

It has what `device_scalars` uses of torch, and the same promises: work of one stream runs in order, a copy into pinned
memory reads the tensor when it runs and not when it is asked for, an event is reached when all before it has run, and
whatever reads a tensor at once waits for its stream.
"""

from collections import deque
from collections.abc import Callable, Iterator
from types import SimpleNamespace
from typing import Any, Protocol


class DType:
    def __init__(self, name: str) -> None:
        self.name = name


FLOAT32 = DType("float32")
INT64, BOOL = DType("int64"), DType("bool")


class Stream:
    def __init__(self) -> None:
        self.work: deque[Callable[[], None]] = deque()

    def run(self, count: int | None = None) -> None:
        while self.work and count != 0:
            self.work.popleft()()
            count = None if count is None else count - 1


class Gpu:
    """One device; `waits` counts how often somebody waited for it.

    Args:
        is_mapped: whether its kernels can write into pinned memory.
    """

    def __init__(self, *, is_mapped: bool = True) -> None:
        self.is_mapped = is_mapped
        self.stream = Stream()
        self.waits = 0
        self.pinned = 0
        self.is_capturing = False
        self.asked_while_capturing = 0
        self.failure: Exception | None = None
        self.cuda = SimpleNamespace(
            Event=lambda: Event(self),
            current_stream=lambda device: self.stream,
            is_current_stream_capturing=lambda: self.is_capturing,
            is_initialized=lambda: True,
        )

    def tensor(self, value: float, dtype: DType = FLOAT32) -> "Tensor":
        return Tensor(self, value, dtype)

    def empty(self, count: int, *, dtype: DType, pin_memory: bool) -> "Pinned":
        assert pin_memory
        self.pinned += count
        return Pinned([Place(dtype) for _ in range(count)])

    def as_tensor(self, seen: "Seen", device: int) -> "Pinned":
        assert (self.is_mapped, device) == (True, 0), "this GPU sees no memory of the host"
        assert seen.__cuda_array_interface__["data"] == (seen.host.data_ptr(), False)
        return Pinned(seen.host.places)

    def maximum(self, one: "Tensor | Place", other: "Tensor | Place", *, out: "Place") -> None:
        """A kernel of whatever it is called with."""
        assert one is other
        if isinstance(one, Tensor):
            out.copy_(one, non_blocking=True)

    def wait(self) -> None:
        self.waits += 1
        self.stream.run()


class Tensor:
    """A scalar on the device."""

    is_cuda = True
    requires_grad = True
    shape = ()
    device = "cuda:0"

    def __init__(self, gpu: Gpu, value: float, dtype: DType) -> None:
        self.gpu = gpu
        self.value = value
        self.dtype = dtype

    def numel(self) -> int:
        return 1

    def get_device(self) -> int:
        return 0

    def dim(self) -> int:
        return 0

    def is_complex(self) -> bool:
        return False

    def detach(self) -> "Tensor":
        return self

    def reshape(self, shape: tuple[()]) -> "Tensor":
        return self

    def add_(self, other: float) -> None:
        """A kernel that changes it in place, later."""

        def work() -> None:
            self.value += other

        self.gpu.stream.work.append(work)

    def item(self) -> float:
        self.gpu.wait()
        return self.value

    __float__ = item


class Place:
    """A scalar in pinned memory."""

    def __init__(self, dtype: DType) -> None:
        self.dtype = dtype
        self.value: Any = None

    def copy_(self, source: Tensor, *, non_blocking: bool) -> None:
        assert non_blocking
        self.value = "not there yet"

        def work() -> None:
            assert source.dtype is self.dtype, "a conversion costs a kernel"
            self.value = bool(source.value) if self.dtype is BOOL else source.value

        source.gpu.stream.work.append(work)

    def item(self) -> object:
        return self.value


class Pinned:
    """Pinned memory, or what a device sees of it."""

    def __init__(self, places: list[Place]) -> None:
        self.places = places

    def __iter__(self) -> Iterator[Place]:
        return iter(self.places)

    def __getitem__(self, index: int) -> Place:
        return self.places[index]

    def view(self, dtype: DType) -> "Pinned":
        return self

    def element_size(self) -> int:
        return 4

    def data_ptr(self) -> int:
        return id(self.places)


class Seen(Protocol):
    """Pinned memory as it is described to a device."""

    host: Pinned
    __cuda_array_interface__: dict[str, Any]


class Event:
    def __init__(self, gpu: Gpu) -> None:
        self.gpu = gpu
        self.is_reached = True

    def record(self, stream: Stream) -> None:
        self.is_reached = False

        def work() -> None:
            self.is_reached = True

        stream.work.append(work)

    def query(self) -> bool:
        self.gpu.asked_while_capturing += self.gpu.is_capturing
        if self.gpu.failure is not None:
            raise self.gpu.failure
        return self.is_reached
