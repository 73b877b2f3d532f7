"""`define_metric`: what a program says of its metrics holds in the summary, however the journal is read."""

from pathlib import Path
from typing import Any

import pytest

from holter.catalog.read.loaded_run import merged_summary
from holter.client.defining import Definitions, as_definition, understood
from holter.client.recorder import Recorder
from holter.errors import UsageError
from holter.journal.digest import Digest, GrowingDigest, digest
from holter.model.clock import Clock
from holter.model.masking import Masking
from tests.unit.journal.recording import opened


class Defining:
    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.recorder = Recorder(
            str(directory), opened, complain=lambda cause, text: False, clock=Clock(), masking=Masking()
        )
        self._definitions = Definitions(self.recorder, Clock())

    def define(self, name: str, step_metric: str | None = None, *, overwrite: bool = False, **options: Any) -> None:
        asked = [options.get(each) for each in ("step_sync", "hidden", "summary", "goal")]
        metric = understood(name, step_metric, *asked)
        self._definitions.define(name, as_definition(metric), overwrite=overwrite)

    def log(self, **data: Any) -> None:
        self.recorder.log(data, None, None)

    def read(self) -> Digest:
        paths = [str(path) for path in sorted(self.directory.glob("*.seg"))]
        found = digest("j", paths)
        assert found is not None
        return found

    def summaries(self) -> list[dict[str, Any]]:
        """As the program sees it, and as it is read."""
        return [self.recorder.summarised(), merged_summary([self.read()])]


@pytest.fixture
def defining(tmp_path: Path) -> Defining:
    return Defining(tmp_path)


def test_the_summary_keeps_what_was_defined(defining: Defining) -> None:
    defining.define("loss", summary="min,mean,last")
    defining.define("acc", summary="best", goal="maximize")
    defining.define("secret", summary="none")
    for loss, acc in ((3, 0.1), (1, 0.9), (2, 0.4)):
        defining.log(loss=loss, acc=acc, secret=1, other=loss)
    expected = {"loss.min": 1, "loss.mean": 2, "loss.last": 2, "acc.best": 0.9, "other": 2}
    assert defining.summaries() == [expected, expected]


def test_only_what_was_logged_since_counts_and_nan_does_not(defining: Defining) -> None:
    defining.log(loss=0)
    defining.log(loss=0)
    defining.log(loss=0)
    defining.define("lo*", summary="min,first")
    defining.log(loss=float("nan"))
    defining.log(loss=5)
    defining.log(loss=4)
    assert defining.summaries() == [{"loss.min": 4, "loss.first": 5}] * 2


def test_what_is_read_piece_by_piece_sums_up_to_the_same(defining: Defining) -> None:
    defining.define("loss", summary="min,max,mean")
    (path,) = defining.directory.glob("*.seg")
    growing = GrowingDigest("j", lambda: [str(path)])
    growing.place.start([str(path)])
    for step in range(50):
        defining.log(loss=float((step * 7) % 50))
        if step % 9 == 0:
            list(growing.read([str(path)]))
    list(growing.read([str(path)], is_final=True))
    assert growing.digest is not None
    assert merged_summary([growing.digest]) == {"loss.min": 0, "loss.max": 49, "loss.mean": 24.5}
    assert defining.summaries() == [merged_summary([growing.digest])] * 2


def test_a_row_gets_the_last_value_of_its_axis(defining: Defining) -> None:
    defining.define("val/*", step_metric="epoch")
    defining.define("plain", step_metric="epoch", step_sync=False)
    defining.log(epoch=3)
    defining.recorder.log({"val/loss": 1.0}, None, None)
    defining.log(plain=1)
    rows = defining.recorder.rows
    assert rows.rows == 3
    assert rows.last_values() == {"epoch": 3, "val/loss": 1.0, "plain": 1}
    assert defining.read().metrics.keys() == {"val/*", "epoch", "plain"}


def test_a_second_word_adds_to_the_first_or_replaces_it(defining: Defining) -> None:
    defining.define("loss", step_metric="epoch")
    defining.define("loss", summary="min")
    loss = defining.recorder.metrics["loss"]
    assert (loss.step_metric, loss.summary) == ("epoch", ("min",))
    defining.define("loss", summary="max", overwrite=True)
    loss = defining.recorder.metrics["loss"]
    assert (loss.step_metric, loss.summary) == ("", ("max",))


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("a*b", None, None, None, None, None), "define_metric\\(\\) takes a name"),
        (("a", "b*", None, None, None, None), "step_metric must be"),
        (("a", None, None, None, "median", None), "summary takes min"),
        (("a", None, None, None, None, "up"), "goal must be"),
    ],
)
def test_what_makes_no_sense_is_said(arguments: tuple[Any, ...], sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        understood(*arguments)
