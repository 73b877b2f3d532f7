"""A logged value became NaN or infinite, or a loss explodes.

Says the metric and the first step. A loss explodes at fifty times its usual size, and five times the highest so far.
The infinite gradients that a GradScaler skips are normal: it is spoken of only when its logged scale has fallen to 1 or
less, or was halved eight times since it last grew. Gradients vanish where those of the first layers of a watched model
are a millionth of those of the last.
"""

import math
from collections.abc import Iterator

from holter.guards.limits import Limits
from holter.guards.progress import Bad, Metric, Progress
from holter.guards.seen import Caution, Seen

AGAINST = (
    "look at the batch of that step; torch.autograd.set_detect_anomaly(True) names the operation",
    "a lower learning rate, clipped gradients, or bfloat16 instead of float16",
)
MOST_NAMED = 3
LEAST_COUNT = 30
ABOVE_HIGHEST = 5.0
SMALLEST_SCALE = 1.0
MOST_SKIPS = 8
USUAL_SCALE = 256.0
AGAINST_VANISHING = (
    "ReLU or GELU instead of sigmoid or tanh, residual connections, normalisation between the layers",
    "another initialisation of the weights (torch.nn.init)",
)
VANISHING = 1e-6
LEAST_NORMS, LEAST_LAYERS = 5, 2
"""So many rows of a layer, and layers in each third of the model, are needed to say so."""


class Check:
    """Follows the metrics of one run."""

    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._scales: dict[str, float] = {}
        self._falls: dict[str, tuple[float, float]] = {}
        """Of each scale, its last value and from where it has been falling."""

    def look(self, seen: Seen) -> Iterator[Caution]:
        """What became no number since the last look, and what explodes."""
        if bad := [each for each in seen.bad if seen.progress.metrics[each.key].count or "loss" in each.key.lower()]:
            yield _tell(bad)
        for key, metric in seen.progress.metrics.items():
            if "loss" in key.lower() and "scale" not in key.lower() and self._explodes(metric):
                before = f"usually {metric.usual:.3g}"
                text = f"{key} explodes: {metric.last:.3g} at step {metric.step:,}, {before}"
                yield Caution(subject=f"{key} explodes", text=text, advice=AGAINST[1:], figures={"metric": key})
        yield from self._scalers(seen.progress)
        yield from _vanishing(seen.progress)

    def _explodes(self, metric: Metric) -> bool:
        if metric.count < LEAST_COUNT or metric.ratio < self._limits.explosion_times:
            return False
        return abs(metric.last) > ABOVE_HIGHEST * metric.highest_before

    def _scalers(self, progress: Progress) -> Iterator[Caution]:
        for key, metric in progress.metrics.items():
            if not key.lower().endswith(("grad_scale", "loss_scale", "scaler", "scaler/scale")):
                continue
            self._scales[key] = highest = max(self._scales.get(key, 0.0), metric.last if metric.count else 0.0)
            if highest >= USUAL_SCALE and metric.last <= SMALLEST_SCALE:
                text = f"{key} has fallen to {metric.last:g} from {highest:g}: gradients overflow in float16"
                yield Caution(subject=key, text=text, advice=AGAINST, figures={"metric": key})
            elif (skips := self._skips(key, metric)) >= MOST_SKIPS:
                text = f"{key} was halved {skips} times in a row, to {metric.last:g}: as many steps were skipped"
                yield Caution(subject=key, text=text, advice=AGAINST, figures={"metric": key})

    def _skips(self, key: str, metric: Metric) -> int:
        """How often the scale was halved since it last grew; until it first has, it looks for its size."""
        if not metric.count or metric.last <= 0:
            return 0
        last, top = self._falls.get(key, (metric.last, 0.0))
        top = metric.last if metric.last > last else top
        self._falls[key] = metric.last, top
        return round(math.log2(top / metric.last)) if top else 0


def _vanishing(progress: Progress) -> Iterator[Caution]:
    """Of weights alone: a bias in front of a normalisation has no gradient, and needs none."""
    norms = [
        metric.usual
        for key, metric in progress.metrics.items()
        if key.startswith("gradients/") and key.endswith("weight/norm") and metric.count >= LEAST_NORMS
    ]
    third = len(norms) // 3
    if third < LEAST_LAYERS:
        return
    first, last = sorted(norms[:third])[third // 2], sorted(norms[-third:])[third // 2]
    if first < VANISHING * last:
        text = f"gradients vanish on their way back: {first:.1e} in the first layers, {last:.1e} in the last"
        yield Caution(subject="vanishing", text=text, advice=AGAINST_VANISHING)


def _tell(bad: list[Bad]) -> Caution:
    first = min(bad, key=lambda each: each.step)
    keys = [each.key for each in bad if each.step == first.step]
    more = f" and {len(keys) - MOST_NAMED} more" if len(keys) > MOST_NAMED else ""
    word = "NaN" if math.isnan(first.value) else "infinite" if first.value > 0 else "minus infinity"
    return Caution(
        subject=first.key,
        text=f"{', '.join(keys[:MOST_NAMED])}{more} became {word} at step {first.step:,}",
        advice=AGAINST,
        figures={"metric": first.key, "step": first.step},
        at_once=True,
    )


def open_check(limits: Limits) -> Check:
    """The check of one run."""
    return Check(limits)
