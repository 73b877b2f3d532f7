"""What `holter.watch()` records of a torch model, and where it says NaN began. On the CPU: there is no GPU here."""

from collections.abc import Callable
from typing import Any

import pytest

from holter.client.magnitudes import BINS, LOWEST, MOST_COUNTED, shares_of
from holter.client.tensor_watch import Measure, TensorWatch, understand
from holter.errors import UsageError
from holter.model.media_records import HistogramLogged
from holter.model.record import Record
from holter.model.warning_records import Warned
from tests.e2e.programs import only_run, rows, run
from tests.lazily import Lazily

torch: Any = Lazily("torch")
Net = Any
"""Of torch, which is not looked into here."""
LAYERS = ["0.weight", "0.bias", "2.weight", "2.bias"]


class Recorded:
    """A run that keeps what it is told."""

    def __init__(self) -> None:
        self.step = 0
        self.rows: list[tuple[int | None, dict[str, float]]] = []
        self.remarks: list[str] = []
        self.warned: list[Warned] = []
        self.histograms: list[HistogramLogged] = []

    def log(self, data: dict[str, float], step: int | None = None) -> None:
        self.rows.append((step, data))

    def keep(self, record: Record) -> None:
        match record:
            case HistogramLogged():
                self.histograms.append(record)
            case Warned():
                self.warned.append(record)
            case _:
                pytest.fail(f"{record} has no place here")

    def remark(self, text: str) -> None:
        self.remarks.append(text)

    def report(self, doing: str, error: Exception) -> None:
        raise error


def model(middle: Net = None) -> Net:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(4, 8), middle or torch.nn.ReLU(), torch.nn.Linear(8, 1))


def train(
    net: Net,
    steps: int,
    *,
    spoil: Callable[[int, Net], None] = lambda step, net: None,
    watched: Net = None,
    **asked: Net,
) -> Recorded:
    recorded = Recorded()
    watch = TensorWatch(recorded, watched or net, **{"log": "gradients", "log_freq": 1, **asked})
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for recorded.step in range(steps):
        spoil(recorded.step, net)
        optimizer.zero_grad()
        (watched or net)(torch.ones(2, 4)).pow(2).mean().backward()
        optimizer.step()
    watch.close()
    return recorded


def test_a_model_that_plays_many_steps_between_two_updates_is_not_told_that_nobody_trains_it() -> None:
    done = run(
        """
        import torch, holter
        holter.init(mode="offline")
        policy = torch.nn.Linear(2, 1)
        holter.watch(policy)
        optimizer = torch.optim.SGD(policy.parameters(), lr=0.1)
        with torch.no_grad():
            for _ in range(30): policy(torch.ones(1, 2))
        policy(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_norms_are_logged_by_layer_at_the_steps_that_were_asked_for() -> None:
    recorded = train(model(), 7, log="all", log_freq=3)
    assert sorted({step for step, _ in recorded.rows if step is not None}) == [0, 3, 6]
    kinds = ["norm", "nan", "inf", "underflow"]
    wanted = {f"{what}/{name}/{kind}" for what in ("gradients", "parameters") for name in LAYERS for kind in kinds}
    assert {name for _, values in recorded.rows for name in values} == wanted
    first = {name: value for step, values in recorded.rows if step == 0 for name, value in values.items()}
    assert first["gradients/2.weight/norm"] > 0
    assert first["gradients/2.weight/nan"] == 0
    assert (recorded.remarks, recorded.warned) == ([], [])


def test_how_large_values_are_is_counted_by_layer_in_parts_that_stay_the_same() -> None:
    net = torch.nn.Linear(4, 1)

    def spoil(step: int, net: Net) -> None:
        net.weight.data = torch.tensor([[1.0, -1.5, 0.0, 4.0]]) * (1.0, 0.0, float("inf"))[step]

    recorded = train(net, 3, spoil=spoil, log="parameters")
    told = [each for each in recorded.histograms if each.key == "parameters/weight/log10"]
    assert [each.step for each in told] == [0, 1]  # of what is not finite nothing is counted
    # 1 and 1.5 lie in one part, 4 two parts above it; zeros are told where there is nothing else.
    assert [each.counts for each in told] == [(2, 0, 1), (4,)]
    assert [(round(each.low, 3), round(each.high, 3)) for each in told] == [(0.0, 0.903), (-12.041, -11.74)]


def test_of_a_large_tensor_a_share_is_counted_and_its_order_in_memory_makes_no_difference() -> None:
    large = torch.full((1 << 10, 1 << 10), 2.0)
    several = shares_of([large, large.T, large[:, ::2]]).counted()
    assert several.shape == (3, BINS)
    for counts in several.tolist():
        assert MOST_COUNTED / 2 < sum(counts) <= MOST_COUNTED
        assert counts[1 - LOWEST] == sum(counts)


def spoil_weight(step: int, net: Net) -> None:
    if step == 4:
        net[2].weight.data.fill_(float("nan"))


def spoil_bias(step: int, net: Net) -> None:
    if step == 4:
        net[0].bias.data[0] = float("inf")


def spoil_loss(step: int, net: Net) -> None:
    if step == 4:
        net[2].bias.data.fill_(float("nan"))


@pytest.mark.parametrize(
    ("spoil", "log", "layer"), [(spoil_weight, "all", "2"), (spoil_bias, "all", "0"), (spoil_loss, "gradients", "loss")]
)
def test_the_first_layer_and_step_that_are_not_finite_are_named_once(
    spoil: Callable[[int, Net], None], log: str, layer: str
) -> None:
    recorded = train(model(torch.nn.Tanh()), 9, spoil=spoil, log=log, log_freq=100)
    [warned] = recorded.warned
    assert (warned.guard, warned.subject) == ("divergence", layer)
    assert "at step 4" in warned.text
    assert recorded.remarks == [warned.text]


def test_what_begins_on_the_way_back_is_the_last_layer_that_has_it() -> None:
    class Root(torch.nn.Module):  # type: ignore[misc]  # torch is not looked into here
        def forward(self, values: Net) -> Net:
            return torch.sqrt(values)

    net = model(Root())
    net[0].weight.data.fill_(1.0)
    net[0].bias.data.fill_(1.0)

    def spoil(step: int, net: Net) -> None:
        if step == 2:  # the square root of 0 has an infinite gradient: all before it are not finite, none behind it
            net[0].weight.data.zero_()
            net[0].bias.data.zero_()

    [warned] = train(net, 5, spoil=spoil).warned
    assert warned.subject == "0.bias"
    assert "at step 2" in warned.text


def test_a_compiled_model_is_watched_but_for_its_outputs() -> None:
    net = model()
    recorded = train(net, 3, watched=torch.compile(net, backend="eager"), log="all", log_freq=2)
    assert any("of a compiled model" in text for text in recorded.remarks)
    assert "gradients/0.weight/norm" in {name for _, values in recorded.rows for name in values}


def test_what_has_not_arrived_is_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    arrived: list[bool] = []
    monkeypatch.setattr(Measure, "has_arrived", lambda self: bool(arrived))
    net, recorded = torch.nn.Linear(2, 1), Recorded()
    watch = TensorWatch(recorded, net, log="gradients", log_freq=1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
    for recorded.step in range(3):
        optimizer.zero_grad()
        net(torch.ones(1, 2)).sum().backward()
        optimizer.step()
    assert recorded.rows == []
    arrived.append(True)
    watch.close()
    assert [step for step, _ in recorded.rows] == [0, 1, 2]


def test_a_gradient_that_a_scaler_will_skip_is_no_alarm() -> None:
    net, recorded = torch.nn.Linear(2, 1), Recorded()
    watch = TensorWatch(recorded, net, log="gradients", log_freq=1)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
    optimizer.grad_scale, optimizer.found_inf = torch.ones(()), torch.ones(())
    net(torch.full((1, 2), float("inf"))).sum().backward()
    optimizer.step()
    watch.close()
    assert (recorded.remarks, recorded.warned) == ([], [])


def test_nothing_is_asked_of_the_device_while_a_graph_is_captured(monkeypatch: pytest.MonkeyPatch) -> None:
    net = model()
    with monkeypatch.context() as capturing:
        capturing.setattr(torch.cuda, "is_initialized", lambda: True)
        capturing.setattr(torch.cuda, "is_current_stream_capturing", lambda: True)
        recorded = train(net, 2, log="all")
    assert (recorded.rows, recorded.remarks[0]) == ([], "watch(): what runs as a CUDA graph can't be measured")
    assert train(net, 1).rows != []


@pytest.mark.parametrize(
    ("model", "options", "text"),
    [
        ("no model", {}, "takes a torch.nn.Module, got str"),
        (None, {"log": "everything"}, "log must be one of gradients, parameters, all; got 'everything'"),
        (None, {"log_freq": 0}, "log_freq must be a whole number of steps, at least 1; got 0"),
    ],
)
def test_what_cannot_work_is_refused(model: object, options: dict[str, object], text: str) -> None:
    with pytest.raises(UsageError, match=text):
        understand(model or torch.nn.Linear(1, 1), **{"log": None, "log_freq": 1, **options})


def test_what_a_run_logs_stays_at_its_steps_and_what_can_t_be_watched_gets_a_sentence() -> None:
    done = run(
        """
        import torch, holter
        run = holter.init(mode="offline")
        net = torch.nn.Linear(2, 1)
        holter.watch(net, log_graph=True, log_freq=2)
        run.watch(net)
        optimizer = torch.optim.SGD(net.parameters(), lr=0.1)
        for _ in range(30): net(torch.ones(1, 2))
        for step in range(5):
            optimizer.zero_grad()
            net(torch.ones(1, 2)).sum().backward()
            optimizer.step()
            run.log({"step": step})
        holter.unwatch()
        """,
        HOLTER_STRICT="0",
    )
    assert done.returncode == 0, done.stderr
    for text in (
        "log_graph is not supported",
        "this model is watched already",
        "no optimizer of torch.optim has stepped",
    ):
        assert text in done.stderr
    found = rows(only_run().row.directory)
    assert [row.step for row in found if "step" in row.values] == [0, 1, 2, 3, 4]
    assert [row.step for row in found if "gradients/weight/norm" in row.values] == [0, 2, 4]


def test_a_model_that_is_gone_is_not_held_and_nothing_is_hooked_once_the_run_has_ended() -> None:
    done = run(
        """
        import gc, weakref, torch, holter
        from torch.optim import optimizer
        for number in range(2):
            run = holter.init(mode="offline")
            first, net = torch.nn.Linear(2, 1), torch.nn.Linear(2, 1)
            holter.watch([first, net], log_freq=1)
            gone = weakref.ref(first.weight)
            del first
            gc.collect()
            print(gone() is None, len(optimizer._global_optimizer_pre_hooks), end=" ")
            net(torch.ones(1, 2)).sum().backward()
            torch.optim.SGD(net.parameters(), lr=0.1).step()
            run.finish()
            print(len(optimizer._global_optimizer_pre_hooks), len(net._forward_pre_hooks))
        run = holter.init(mode="disabled")
        run.watch(net)
        print(len(optimizer._global_optimizer_pre_hooks))
        """
    )
    assert done.stdout == "True 2 0 0\nTrue 2 0 0\n0\n", done.stderr
