"""The death of a notebook's kernel as a card: HTML for browsers, text for terminals. Pure; everything is escaped."""

import html
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from holter.catalog.present.deaths import Curve, Death
from holter.diagnosis import words
from holter.model.records import CellStarted, HeldVariable

SOURCE_LINES = 6
MOST_LINE = 160
MOST_ADVICE = 4
TO_DO = "What to do"
BARS = "▁▂▃▄▅▆▇█"
SPARK_WIDTH = 32
WIDTH, HEIGHT, TOP = 560.0, 84.0, 14.0

_BOX = (
    "border:1px solid rgba(128,128,128,.35);border-left:4px solid #d9480f;border-radius:6px;padding:10px 14px;"
    "margin:4px 0;max-width:760px;font-family:system-ui,sans-serif;font-size:13px;line-height:1.45"
)
_SMALL = "opacity:.75;font-size:12px;margin:8px 0 2px"
_CODE = (
    "font-family:ui-monospace,Menlo,Consolas,monospace;font-size:12px;line-height:1.4;margin:0;padding:6px 8px;"
    "background:rgba(128,128,128,.12);border-radius:4px;white-space:pre-wrap;overflow-wrap:anywhere;color:inherit"
)


class Card(NamedTuple):
    """One death in both forms."""

    text: str
    html: str


def render(death: Death, *, others: int = 0) -> Card:
    """`others` are earlier deaths of the same notebook that get no card of their own."""
    return Card("\n".join(_text(death, others)), _html(death, others))


def sparkline(values: Sequence[float], most: float, *, width: int = SPARK_WIDTH) -> str:
    """The curve as a line of bars, the highest of which is `most`."""
    stride = max(1, -(-len(values) // width))
    peaks = [max(values[at : at + stride]) for at in range(0, len(values), stride)]
    return "".join(
        BARS[min(len(BARS) - 1, int(len(BARS) * max(0.0, peak) / most))] if most else BARS[0] for peak in peaks
    )


def _text(death: Death, others: int) -> Iterator[str]:
    yield f"holter: {_headline(death)}"
    yield f"  {_clean(death.title)}"
    yield f"  {_certainty(death)}"
    for heading, lines in _sections(death):
        yield f"  {heading}"
        yield from (f"    {line}" for line in lines)
    yield f"  More: holter why {death.run}{_others(others)}"


def _sections(death: Death) -> Iterator[tuple[str, list[str]]]:
    if death.cell is not None and death.cell.source.strip():
        yield f"{_cell_name(death.cell)}, after {words.seconds(death.cell_s)}", [f"| {each}" for each in _source(death)]
    if death.curve is not None:
        yield "Memory", [f"{_spark(death.curve)}  {_memory_words(death.curve)}"]
    if death.variables:
        yield "What it held before that cell", [_variable(each) for each in death.variables]
    if death.output:
        yield "The last lines that the cell printed", [f"| {_cut(each)}" for each in death.output]
    if death.stack:
        yield "Where it was", [f"| {_cut(each)}" for each in death.stack]
    if death.advice:
        yield TO_DO, [f"{number}. {_clean(each)}" for number, each in enumerate(death.advice[:MOST_ADVICE], 1)]


def _html(death: Death, others: int) -> str:
    parts = [
        f'<div style="font-size:12px;opacity:.75">{_escaped(_headline(death))}</div>',
        f'<div style="font-size:15px;font-weight:600;margin:2px 0">{_escaped(_clean(death.title))}</div>',
        f'<div style="{_SMALL}">{_escaped(_certainty(death))}</div>',
        *_html_sections(death),
        f'<div style="{_SMALL}"><code>holter why {_escaped(death.run)}</code> says more{_others(others)}</div>',
    ]
    return f'<div class="holter-card" style="{_BOX}">{"".join(parts)}</div>'


def _html_sections(death: Death) -> Iterator[str]:
    """What to do first: a dialog is small, and whoever reads no further has read that."""
    for heading, lines in sorted(_sections(death), key=lambda section: section[0] != TO_DO):
        yield f'<div style="{_SMALL}">{_escaped(heading)}</div>'
        if heading == "Memory" and death.curve is not None:
            yield _chart(death.curve)
            yield f"<div>{_escaped(_memory_words(death.curve))}</div>"
        elif heading == TO_DO:
            items = "".join(f"<li>{_escaped(line.partition(' ')[2])}</li>" for line in lines)
            yield f'<ol style="margin:0;padding-left:20px">{items}</ol>'
        else:
            text = "\n".join(line.removeprefix("| ") for line in lines)
            yield f'<pre style="{_CODE}">{_escaped(text)}</pre>'


def _chart(curve: Curve) -> str:
    """The curve and the limit as an inline picture that needs no script."""
    begin, most = curve.points[0][0], _most(curve)
    span = -begin or 1.0
    scale = (HEIGHT - TOP - 2) / (most or 1.0)
    places = [((at - begin) / span * WIDTH, HEIGHT - 1 - value * scale) for at, value in curve.points]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    limit = ""
    if curve.limit is not None and curve.limit.size_bytes <= most:
        y = HEIGHT - 1 - curve.limit.size_bytes * scale
        limit = (
            f'<line x1="0" x2="{WIDTH:.0f}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e03131" stroke-dasharray="5 4"/>'
            f'<text x="0" y="{y - 4:.1f}" font-size="11" fill="#e03131">'
            f"{_escaped(f'{curve.limit.whose}: {words.size(curve.limit.size_bytes)}')}</text>"
        )
    area = f"0,{HEIGHT - 1:.0f} {line} {places[-1][0]:.1f},{HEIGHT - 1:.0f}"
    return (
        f'<svg viewBox="0 0 {WIDTH:.0f} {HEIGHT:.0f}" width="100%" style="max-width:{WIDTH:.0f}px;display:block"'
        f' role="img" aria-label="{_escaped(_memory_words(curve))}">'
        f'<polygon points="{area}" fill="#228be6" fill-opacity=".18"/>'
        f'<polyline points="{line}" fill="none" stroke="#228be6" stroke-width="1.5"/>{limit}</svg>'
    )


def _most(curve: Curve) -> float:
    """What the height stands for: the limit, unless the curve stayed so far below it that nothing could be seen."""
    peak = max(value for _, value in curve.points)
    return curve.limit.size_bytes if curve.limit is not None and curve.limit.size_bytes < 20 * peak else peak


def _spark(curve: Curve) -> str:
    return sparkline([value for _, value in curve.points], max(_most(curve), *(value for _, value in curve.points)))


def _memory_words(curve: Curve) -> str:
    first, last = curve.points[0], curve.points[-1]
    text = f"{words.size(first[1])} to {words.size(last[1])} in the last {words.seconds(-first[0])}"
    return f"{text}, of {words.size(curve.limit.size_bytes)} ({curve.limit.whose})" if curve.limit is not None else text


def _headline(death: Death) -> str:
    where = ", while no cell was running" if death.has_seen_cells else ""
    if death.cell is not None:
        name = _cell_name(death.cell)
        where = f", in {name[0].lower()}{name[1:]}"
    ago = words.seconds(max(0.0, death.now - death.ended_at))
    return f"the notebook's previous kernel died {ago} ago{where}"


def _cell_name(cell: CellStarted) -> str:
    return f"Cell In[{cell.number}]" if cell.number else "A cell"


def _certainty(death: Death) -> str:
    said = f"; {_clean(death.mark.words)}" if death.mark else ""
    if death.cause == "unknown":
        could = f": it could be {words.listed(death.candidates)}" if death.candidates else ""
        return f"no cause can be named{could}{said}"
    return f"{death.cause}, {words.how_sure(death.confidence)}{said}"


def _source(death: Death) -> list[str]:
    lines = death.cell.source.strip("\n").splitlines() if death.cell is not None else []
    more = [f"… {words.count(len(lines) - SOURCE_LINES, 'more line')}"] if len(lines) > SOURCE_LINES else []
    return [*(_cut(line) for line in lines[:SOURCE_LINES]), *more]


def _variable(each: HeldVariable) -> str:
    on_gpu = f", {words.size(each.gpu_bytes)} on the GPU" if each.gpu_bytes else ""
    size = words.size(each.host_bytes) if each.host_bytes or not each.gpu_bytes else "0 B"
    return _cut(f"{each.name}  {each.type} {each.what}".rstrip() + f"  {size}{on_gpu}")


def _others(count: int) -> str:
    return f"; before it {words.count(count, 'other kernel')} of this notebook died" if count else ""


def _cut(text: str) -> str:
    text = _clean(text.expandtabs(4))
    return text if len(text) <= MOST_LINE else text[: MOST_LINE - 1] + "…"


def _clean(text: str) -> str:
    """Without anything that moves a cursor or turns the writing around."""
    return text if text.isprintable() else "".join(each if each.isprintable() else " " for each in text)


def _escaped(text: str) -> str:
    return html.escape(text, quote=True)
