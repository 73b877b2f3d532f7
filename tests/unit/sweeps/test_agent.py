"""What an agent says of its trial."""

import sys
from types import SimpleNamespace
from typing import Any, cast

import msgspec
import pytest

from holter.agents.agent import GIVE_UP_S, RENEW_S, Holder, work
from holter.agents.asking import device_of, list_gpus
from holter.agents.interrupts import Interrupts
from holter.agents.program import FENCED_GRACE_S, FOLLOW_S
from holter.agents.progress import Progress
from holter.errors import Unreachable
from holter.sweeps.desk import LEASE_S
from holter.sweeps.words import Answer, Asker, Lease, Outcome, Said, Word

LEASE = Lease(sweep="s", number=0, fence=1, run="r", params={})


class Away:
    """A sweep that nobody can reach."""

    def say(self, word: Word) -> Said:
        raise Unreachable("no answer")


def test_a_lease_that_can_not_be_renewed_is_given_up_before_another_agent_may_have_it() -> None:
    assert GIVE_UP_S + RENEW_S + FENCED_GRACE_S + FOLLOW_S < LEASE_S
    holder = Holder(cast("Any", Away()), Asker(id="a"), lease=LEASE)
    assert holder.renew().holds
    holder._answered_at -= GIVE_UP_S
    assert not holder.renew().holds


class Leaving:
    """A sweep that hands out one trial and is away from then on, until its agent has been told twice to leave."""

    id = "s"

    def __init__(self) -> None:
        self.interrupts = Interrupts(lambda text: None)
        self.said = 0

    def ask(self, asker: Asker) -> Answer:
        return Answer(kind="trial", lease=LEASE)

    def run(self, lease: Lease, holder: Holder) -> Outcome:
        return Outcome(state="finished", value=0.5)

    def say(self, word: Word) -> Said:
        self.said += 1
        self.interrupts.times = self.said  # Ctrl-C
        assert self.said < 4, "it goes on trying"
        raise Unreachable("no answer")


def test_an_agent_whose_server_is_away_leaves_when_it_is_told_to_leave_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("holter.agents.agent.RETRY_S", 0.0)
    away = Leaving()
    progress = Progress(metric="loss", goal="minimize", most=None, is_silent=True)
    with pytest.raises(Unreachable):
        work(cast("Any", away), Asker(id="a"), runner=away, count=None, progress=progress, interrupts=away.interrupts)
    assert away.said == 2


class Nvml:
    """A fake, not a GPU: two of them."""

    class NVMLError(Exception):
        pass

    nvmlInit = nvmlShutdown = lambda self: None  # noqa: N815  the names are NVIDIA's
    nvmlDeviceGetCount = lambda self: 2  # noqa: E731, N815
    nvmlDeviceGetHandleByIndex = lambda self, place: place  # noqa: E731, N815
    nvmlDeviceGetMemoryInfo = lambda self, handle: SimpleNamespace(total=(80 << 30) - handle)  # noqa: E731, N815
    nvmlDeviceGetName = lambda self, handle: "NVIDIA A100"  # noqa: E731, N815
    nvmlDeviceGetUUID = lambda self, handle: f"GPU-{handle}"  # noqa: E731, N815


def test_gpus_are_found_by_number_or_uuid_and_told_by_their_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pynvml", Nvml())
    monkeypatch.delenv("CUDA_VISIBLE_DEVICES", raising=False)
    assert (list_gpus("auto"), list_gpus("1"), list_gpus("1,0")) == (["0", "1"], ["0"], ["1", "0"])
    assert device_of("1") == device_of("GPU-0") == "NVIDIA A100, 80 GiB"
    assert device_of("") == "NVIDIA A100, 80 GiB"  # an agent that has no GPU to itself may use them all
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert device_of("").startswith("host memory, ")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-1, GPU-0")
    assert list_gpus("auto") == ["GPU-1", "GPU-0"]


class Far:
    """A sweep that hears what comes through JSON."""

    def __init__(self) -> None:
        self.heard: list[Word] = []

    def say(self, word: Word) -> Said:
        self.heard.append(msgspec.json.decode(msgspec.json.encode(word), type=Word))
        return Said(holds=True)


def test_a_trial_that_diverges_keeps_its_lease() -> None:
    far = Far()
    holder = Holder(cast("Any", far), Asker(id="a"), lease=LEASE)
    holder.value = float("nan")
    assert holder.renew(((1, 0.5), (2, float("nan")), (3, float("inf")))).holds
    assert far.heard[0].reports == ((1, 0.5),)
