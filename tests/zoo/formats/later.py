"""Kinds of records that came after the first format: a journal of their own, since the others stay as they are."""

from holter.model.amending import Amended
from holter.model.artifact_records import ArtifactLogged, ArtifactSealed, ArtifactUsed, Checkpointed, WentOn
from holter.model.awaiting import Awaited
from holter.model.media_records import HistogramLogged, MediaItem, MediaLogged, MediaLost, MediaMade
from holter.model.metric_definitions import Defined, MetricDefinition
from holter.model.record import Record
from holter.model.spending import Peak, Spent
from holter.model.sweep_records import OfSweep
from holter.model.warning_records import Eased, GpuRefused, Noticed, Pressed, Silenced, Stood, Warned

ITEM = MediaItem(digest="ab" * 32, ext="png", size=70, meta='{"width":4}')
STORY: list[Record] = [
    Defined(at_ns=60, metrics={"val/loss": MetricDefinition(step_metric="epoch", summary=("min",))}),
    Awaited(at_ns=61, pending=2, step=4, keys=("loss", "norm")),
    Amended(at_ns=62, by="ann", values={"summary": {"best": 0.2}}),
    OfSweep(at_ns=63, sweep="s1", trial=7, attempt=2),
    MediaLogged(at_ns=64, step=3, key="samples", type="image", count=2, spool="1-2.image"),
    MediaMade(at_ns=65, step=3, key="samples", type="image", logged_ns=64, items=(ITEM,), spool="1-2.image"),
    MediaLost(at_ns=66, key="film", because="the spool was full", step=4),
    HistogramLogged(at_ns=67, step=3, key="weights", counts=(1.0, 4.0), low=-1.0, high=1.0),
    ArtifactLogged(
        at_ns=68, ask="a1", name="model", type="model", aliases=("best",), files=1, bytes=9, policy="mutable"
    ),
    ArtifactSealed(at_ns=69, ask="a1", name="model", type="model", version=0, digest="d1", bytes=9, new_bytes=9),
    ArtifactUsed(at_ns=70, project="zoo", name="data", type="dataset", version=3, digest="d2", asked="latest"),
    Checkpointed(
        at_ns=71, step=30, path="/data/last.pt", bytes=9, metrics='{"loss":0.5}', saver="torch", state=(1, 2, 3, 4)
    ),
    WentOn(at_ns=72, run="zoo", step=20, since_ns=71),
    Warned(
        at_ns=73,
        guard="memory",
        text="full in 4 min",
        subject="cgroup/0",
        advice=("less",),
        eta_s=240.0,
        figures={"limit": 8},
    ),
    Eased(at_ns=74, guard="memory", subject="cgroup/0"),
    Silenced(at_ns=75, guard="leak", by="ann"),
    Stood(at_ns=76, pid=4711, silent_s=60.0, usual_s=0.5, kind="deadlock", kernel_state="S", stack="train.py:7"),
    Pressed(at_ns=77, done="saved", what="save_checkpoint", took_s=0.5),
    GpuRefused(at_ns=78, device=0, asked=2**31, total=2**37, allocated=2**36, reserved=2**36 + 2**33, split=2**33),
    Spent(
        at_ns=79,
        cpu_s=1.5,
        wall_s=300.0,
        peaks=(Peak(memory="host", phase="steps", bytes=2**31, at_ns=70, step=12, cell=3),),
    ),
    Noticed(at_ns=80, habit="gc-collect", where="train.py:7", times=10, took_s=0.05, share=0.5),
]
