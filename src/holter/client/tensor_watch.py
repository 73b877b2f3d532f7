"""`holter.watch(model)`: gradients, parameters and outputs by layer, measured on the device; nothing waits for it.

Measures are kernels that run behind the model's own; their results come back with a copy that is looked at when it has
arrived, some steps later. torch is never imported here: whoever has a model has it.
"""

import importlib
import sys
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any, Protocol

from holter.client import magnitudes
from holter.errors import UsageError
from holter.model.clock import Clock
from holter.model.record import Record
from holter.model.warning_records import Warned

KINDS = ("gradients", "parameters", "all")
MOST_WAITING = 64
MOST_LAYERS = 5000
FEW_STEPS = 20
GUARD = "divergence"


class WatchingRun(Protocol):
    """The run that the measures go to."""

    step: Any

    def log(self, data: Any, step: int | None = None) -> None:
        """Record a row."""

    def keep(self, record: Record) -> None:
        """Keep a sentence."""

    def remark(self, text: str) -> None:
        """Say something once."""

    def report(self, doing: str, error: Exception) -> None:
        """Count a failure of ours."""


class Measure:
    """Numbers of one step on their way from the device; a row for each name, `counts` with one for each too."""

    def __init__(self, step: int, prefix: str, names: list[str], values: dict[str, Any], /, counts: Any = None) -> None:
        self.step = step
        self.prefix = prefix
        self.names = names
        self.is_logged = False
        torch = sys.modules["torch"]
        self.kinds = list(values)
        stacked = torch.stack([value.to(torch.float32) for value in values.values()])
        stacked = stacked if counts is None else torch.cat([stacked, counts.T])
        self._event = None
        if stacked.is_cuda:
            self._host = torch.empty(stacked.shape, dtype=stacked.dtype, pin_memory=True)
            self._host.copy_(stacked, non_blocking=True)
            self._event = torch.cuda.Event()
            self._event.record()
        else:
            self._host = stacked.detach().clone()

    def has_arrived(self) -> bool:
        """Never waits."""
        return self._event is None or bool(self._event.query())

    def read(self) -> dict[str, list[float]]:
        """By kind, a number for each name."""
        return dict(zip(self.kinds, self._host[: len(self.kinds)].tolist(), strict=True))

    def read_counts(self) -> list[list[float]]:
        """For each name how many values lie in each part; empty where they were not counted."""
        counts: list[list[float]] = self._host[len(self.kinds) :].T.tolist()
        return counts if self._host.shape[0] > len(self.kinds) else []


class TensorWatch:
    """One model that is watched for one run. Used by the thread that trains."""

    def __init__(self, run: WatchingRun, model: Any, *, log: str, log_freq: int, prefix: str = "") -> None:
        self._run = run
        self._log = log
        self._log_freq = log_freq
        self._prefix = prefix
        self._clock = Clock()
        # Held weakly: who trains one model after the other needs the memory of those that are gone.
        self._known = [(name, weakref.ref(parameter)) for name, parameter in _parameters(model)]
        self._model = weakref.ref(model)
        self._waiting: deque[Measure] = deque()
        self._outputs: dict[str, Any] = {}
        self._forwards = self._steps = 0
        self._has_told = self._is_off = False
        self._handles: list[Any] = []
        self._hook(model)

    def close(self) -> None:
        """Watch no more. What has arrived is kept. Idempotent."""
        if not self._is_off:
            self._read()
        self._is_off = True
        while self._handles:
            self._handles.pop().remove()

    def is_of(self, model: Any) -> bool:
        """Whether it watches this one."""
        return self._model() is model

    @property
    def _named(self) -> list[tuple[str, Any]]:
        """The parameters that are still there."""
        return [(name, found) for name, each in self._known if (found := each()) is not None]

    def _hook(self, model: Any) -> None:
        register = importlib.import_module("torch.optim.optimizer").register_optimizer_step_pre_hook
        self._handles.append(register(lambda optimizer, *_: self._guarded(self._before_step, optimizer)))
        self._handles.append(model.register_forward_pre_hook(lambda *_: self._guarded(self._before_forward)))
        if any(hasattr(parameter, "to_local") or "_flat_param" in name for name, parameter in self._named):
            self._run.remark("watch(): the model is sharded, so the norms are those of this process's shards")
        if self._log != "all":
            return
        if _is_compiled(model):
            self._run.remark(
                "watch(): outputs of a compiled model's layers can't be seen; its gradients and parameters are"
            )
            return
        for name, module in list(model.named_modules())[:MOST_LAYERS]:
            if name and not any(True for _ in module.children()):
                self._handles.append(module.register_forward_hook(self._output_hook(name)))

    def _output_hook(self, name: str) -> Any:
        def after(module: Any, _: Any, output: Any, /) -> None:
            if module.training:
                self._guarded(self._keep_output, name, output)

        return after

    def _guarded(self, work: Any, *arguments: Any) -> None:
        """Whatever goes wrong with a measure goes wrong once, and not in the training."""
        if self._is_off:
            return
        try:
            work(*arguments)
        except Exception as error:  # noqa: BLE001  the boundary
            self._is_off = True
            self._run.report("watch", error)

    def _is_capturing(self) -> bool:
        """Whether a CUDA graph is captured: any question to the device would end that, and its replays call no hook."""
        cuda = sys.modules["torch"].cuda
        if not (cuda.is_initialized() and cuda.is_current_stream_capturing()):
            return False
        self._run.remark("watch(): what runs as a CUDA graph can't be measured")
        return True

    def _keep_output(self, name: str, output: Any) -> None:
        if self._is_capturing():
            return
        tensor = output[0] if isinstance(output, tuple | list) and output else output
        if getattr(getattr(tensor, "dtype", None), "is_floating_point", False) and name not in self._outputs:
            # NaN and Inf go through a sum; a layer that is called again in this step counts as it was first.
            self._outputs[name] = tensor.detach().sum(dtype=sys.modules["torch"].float32)

    def _before_forward(self) -> None:
        if not sys.modules["torch"].is_grad_enabled():
            return  # it plays or is tested, as between the updates of PPO
        self._forwards += 1
        if self._forwards == FEW_STEPS and not self._steps:
            self._run.remark(
                f"watch(): the model ran {FEW_STEPS} times and no optimizer of torch.optim has"
                " stepped with its parameters:"
                " gradients are measured when one steps"
            )

    def _before_step(self, optimizer: Any) -> None:
        if self._is_capturing():
            return
        named = self._named
        owned = {id(parameter) for _, parameter in named}
        if not any(id(each) in owned for group in optimizer.param_groups for each in group["params"]):
            return
        # A fused optimizer gets gradients that a GradScaler has scaled, and skips the infinite ones by itself.
        is_scaled = getattr(optimizer, "grad_scale", None) is not None
        is_due = self._steps % self._log_freq == 0
        self._steps += 1
        step = int(self._run.step)
        outputs, self._outputs = self._outputs, {}
        if outputs:
            self._send(Measure(step, "outputs", list(outputs), {"sum": _stack(outputs.values())}))
        found = [(name, each, _local(each.grad)) for name, each in named if each.grad is not None]
        if found and self._log != "parameters" and not is_scaled:
            self._measure("gradients", step, [(name, grad) for name, _, grad in found], is_due=is_due)
        if is_due and self._log != "gradients":
            self._measure("parameters", step, [(name, _local(each)) for name, each in named], is_due=True)
        self._read()

    def _measure(self, what: str, step: int, tensors: list[tuple[str, Any]], /, *, is_due: bool) -> None:
        torch = sys.modules["torch"]
        for names, group in _by_place(tensors):
            counts = None
            with torch.no_grad():
                values = {"norm": torch.stack(torch._foreach_norm(group))}
                if is_due:
                    shares = magnitudes.shares_of(group)
                    values |= {
                        "nan": torch.stack([each.isnan().sum() for each in group]),
                        "inf": torch.stack([each.isinf().sum() for each in group]),
                        "underflow": shares.underflow(),
                    }
                    counts = self._counted(group[0], shares)
            measure = Measure(step, what, names, values, counts)
            measure.is_logged = is_due
            self._send(measure)

    def _counted(self, first: Any, shares: magnitudes.Shares) -> Any:
        if magnitudes.are_allowed(first):
            return shares.counted()
        self._run.remark("watch(): histograms are left out while torch uses deterministic algorithms only")
        return None

    def _send(self, measure: Measure) -> None:
        self._waiting.append(measure)
        if len(self._waiting) > MOST_WAITING:
            self._waiting.popleft()

    def _read(self) -> None:
        while self._waiting and self._waiting[0].has_arrived():
            measure = self._waiting.popleft()
            values = measure.read()
            self._look(measure, values)
            if measure.is_logged:
                row = {
                    f"{self._prefix}{measure.prefix}/{name}/{kind}": number
                    for kind, numbers in values.items()
                    for name, number in zip(measure.names, numbers, strict=True)
                }
                self._run.log(row, step=measure.step)
            for name, counts in zip(measure.names, measure.read_counts(), strict=False):
                key = f"{self._prefix}{measure.prefix}/{name}/log10"
                if (told := magnitudes.told(key, counts, step=measure.step, clock=self._clock)) is not None:
                    self._run.keep(told)

    def _look(self, measure: Measure, values: dict[str, list[float]]) -> None:
        """Tell where it began, once."""
        numbers = values.get("norm") or values["sum"]
        odd = [index for index, number in enumerate(numbers) if number - number != 0]
        if not odd or self._has_told:
            return
        self._has_told = True
        # Backwards the layers come last first: where only some are not finite, the last of these was the first.
        is_all = len(odd) == len(numbers)
        index = odd[0] if measure.prefix != "gradients" else odd[-1]
        name, word = measure.names[index], "NaN" if numbers[index] != numbers[index] else "Inf"
        if measure.prefix == "gradients" and is_all and len(numbers) > 1:
            name = "loss"
            text = (
                f"{word} in the gradients of all {len(numbers)} layers at step {measure.step}: the loss was not finite"
            )
        else:
            text = f"{word} in the {measure.prefix} of {name} at step {measure.step}, the first layer to have it"
        self._tell(text, name)

    def _tell(self, text: str, name: str) -> None:
        advice: tuple[str, ...] = (
            "torch.autograd.set_detect_anomaly(True) for some steps names the operation",
            "lower the learning rate, or clip the gradients: torch.nn.utils.clip_grad_norm_",
        )
        if self._log != "all":
            advice = ("holter.watch(model, log='all') names the layer whose output is the first", *advice)
        self._run.remark(text)
        self._run.keep(Warned(at_ns=self._clock.now_ns(), guard=GUARD, subject=name, text=text, advice=advice))


def understand(model: Any, *, log: Any, log_freq: Any) -> tuple[Any, str, int]:
    """What `watch` was asked, checked. Raises UsageError."""
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(model, torch.nn.Module):
        raise UsageError(
            f"watch() takes a torch.nn.Module, got {type(model).__name__}: other libraries' models can't be"
        )
    chosen = "gradients" if log is None else log
    if chosen not in KINDS:
        raise UsageError(f"watch(): log must be one of {', '.join(KINDS)}; got {log!r}")
    if type(log_freq) is not int or log_freq < 1:
        raise UsageError(f"watch(): log_freq must be a whole number of steps, at least 1; got {log_freq!r}")
    return model, chosen, log_freq


def _parameters(model: Any) -> list[tuple[str, Any]]:
    """With the names that they had before anybody wrapped the model."""
    found = [(_plain(name), each) for name, each in model.named_parameters() if each.requires_grad]
    return found[:MOST_LAYERS]


def _plain(name: str) -> str:
    name = name.removeprefix("module.")  # of DataParallel and its kin
    for wrapper in ("_orig_mod.", "_fsdp_wrapped_module.", "_checkpoint_wrapped_module."):
        name = name.replace(wrapper, "")
    return name


def _is_compiled(model: Any) -> bool:
    return any(hasattr(each, "_orig_mod") for each in model.modules()) or (
        getattr(model, "_compiled_call_impl", None) is not None
    )


def _local(tensor: Any) -> Any:
    """Of a sharded tensor the part that is here; of a sparse one its values."""
    tensor = tensor.detach() if tensor.requires_grad else tensor
    if hasattr(tensor, "to_local"):
        tensor = tensor.to_local()
    return tensor.coalesce().values() if tensor.is_sparse else tensor


def _by_place(tensors: list[tuple[str, Any]]) -> Iterator[tuple[list[str], list[Any]]]:
    """Those of one device and type together: one kernel serves many."""
    groups: dict[Any, tuple[list[str], list[Any]]] = {}
    for name, tensor in tensors:
        if tensor.numel():
            names, group = groups.setdefault((tensor.device, tensor.dtype), ([], []))
            names.append(name)
            group.append(tensor)
    yield from groups.values()


def _stack(values: Any) -> Any:
    return sys.modules["torch"].stack([each.float() for each in values])
