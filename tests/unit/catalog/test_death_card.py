"""How a kernel's death is told."""

import re

import msgspec

from holter.catalog.present.death_card import render, sparkline
from holter.catalog.present.deaths import Curve, Death
from holter.model.records import CellStarted, HeldVariable
from holter.model.verdicts import CauseMark, MemoryLimit

MIB = 1 << 20
DEATH = Death(
    run="abcd1234",
    name="tidy-fox-1",
    state="crashed",
    cause="cgroup-out-of-memory",
    confidence=0.99,
    title="Its cgroup had used up its 512 MiB of memory",
    advice=("give the container more", "lower the batch size"),
    candidates=(),
    ended_at=1000.0,
    now=1012.0,
    cell=CellStarted(at_ns=0, ordinal=2, number=7, source="for x in loader:\n\ttrain(x)\n"),
    has_seen_cells=True,
    cell_s=21.0,
    curve=Curve(
        ((-20.0, 100.0 * MIB), (-10.0, 256.0 * MIB), (0.0, 512.0 * MIB)), MemoryLimit(512.0 * MIB, "its memory limit")
    ),
    variables=(HeldVariable(name="cache", type="dict", what="300 items", host_bytes=380 * MIB, gpu_bytes=2 * MIB),),
    output=("epoch 17",),
    stack=(),
)
NOTHING = msgspec.structs.replace(
    DEATH, cause="unknown", cell=None, curve=None, variables=(), output=(), advice=(), title="It is gone"
)


def test_the_text_has_all_there_is_to_say() -> None:
    assert render(DEATH).text.splitlines() == [
        "holter: the notebook's previous kernel died 12 s ago, in cell In[7]",
        "  Its cgroup had used up its 512 MiB of memory",
        "  cgroup-out-of-memory, certain (99 %)",
        "  Cell In[7], after 21 s",
        "    | for x in loader:",
        "    |     train(x)",
        "  Memory",
        "    ▂▅█  100 MiB to 512 MiB in the last 20 s, of 512 MiB (its memory limit)",
        "  What it held before that cell",
        "    cache  dict 300 items  380 MiB, 2.0 MiB on the GPU",
        "  The last lines that the cell printed",
        "    | epoch 17",
        "  What to do",
        "    1. give the container more",
        "    2. lower the batch size",
        "  More: holter why abcd1234",
    ]


def test_what_a_person_says_against_it_stands_beside_the_cause() -> None:
    mark = CauseMark(cause="disk-full", reason="df <showed> 100 %", by="ada", at=1.0)
    card = render(msgspec.structs.replace(DEATH, mark=mark))
    said = "cgroup-out-of-memory, certain (99 %); ada says that it was disk-full: df <showed> 100 %"
    assert said in card.text
    assert said.replace("<", "&lt;").replace(">", "&gt;") in card.html


def test_a_dialog_begins_with_what_to_do() -> None:
    shown = render(DEATH).html
    assert shown.index(DEATH.title) < shown.index("What to do") < shown.index("Cell In[7]") < shown.index("<svg")


def test_what_nobody_knows_is_left_out() -> None:
    assert render(NOTHING).text.splitlines() == [
        "holter: the notebook's previous kernel died 12 s ago, while no cell was running",
        "  It is gone",
        "  no cause can be named",
        "  More: holter why abcd1234",
    ]


def test_candidates_and_other_deaths_are_told() -> None:
    death = msgspec.structs.replace(NOTHING, candidates=("killed", "host-lost"))
    text = render(death, others=2).text
    assert "no cause can be named: it could be killed and host-lost" in text
    assert text.endswith("holter why abcd1234; before it 2 other kernels of this notebook died")


def test_nothing_of_the_users_is_markup_in_the_card() -> None:
    evil = '"><script>alert(1)</script>'
    death = msgspec.structs.replace(
        DEATH,
        title=evil,
        name=evil,
        advice=(evil,),
        cell=CellStarted(at_ns=0, ordinal=1, number=1, source=evil),
        variables=(HeldVariable(name=evil, type=evil, what=evil),),
        output=(evil,),
        stack=(evil,),
    )
    shown = render(death).html
    assert "<script" not in shown
    assert shown.count("&quot;&gt;&lt;script&gt;") == 8
    tags = set(re.findall(r"</?(\w+)", shown))
    assert tags == {"div", "pre", "ol", "li", "code", "svg", "polygon", "polyline", "line", "text"}


def test_nothing_of_the_users_moves_a_cursor_in_a_terminal() -> None:
    death = msgspec.structs.replace(DEATH, output=("\x1b[2Jgone\u202e",), title="a\x07b")
    assert all(line.isprintable() for line in render(death).text.splitlines())


def test_long_cells_and_lines_are_cut() -> None:
    source = "\n".join([f"line_{at}" for at in range(9)]) + "\n" + "x" * 500
    death = msgspec.structs.replace(DEATH, cell=CellStarted(at_ns=0, ordinal=1, source=source))
    lines = render(death).text.splitlines()
    assert "in a cell" in lines[0]
    assert "    | line_5" in lines
    assert "    | … 4 more lines" in lines
    assert max(map(len, lines)) < 200


def test_a_curve_far_below_its_limit_has_a_scale_of_its_own() -> None:
    curve = Curve(((-1.0, 10.0), (0.0, 20.0)), MemoryLimit(1e9, "the machine's memory"))
    shown = render(msgspec.structs.replace(DEATH, curve=curve))
    assert "▅█  10 B to 20 B" in shown.text
    assert "stroke-dasharray" not in shown.html


def test_a_sparkline_keeps_its_peaks() -> None:
    assert sparkline([0.0] * 50 + [8.0] + [0.0] * 49, 8.0, width=10) == "▁▁▁▁▁█▁▁▁▁"
    assert sparkline([0.0, 0.0], 0.0) == "▁▁"
