"""Guards the promises about causes: each has a rule, and the page of all of them is what the rules say."""

import ast
import re
from pathlib import Path

from holter.cli.rules_page import rules_page
from holter.diagnosis.loading import load_rules

ROOT = Path(__file__).parents[2]

# Users and machines rely on these words: one may be added, none may go.
CAUSES = """
    host-out-of-memory cgroup-out-of-memory gpu-out-of-memory allocation-refused shared-memory-full userspace-oom-killer
    uncaught-exception worker-died nonzero-exit diverged environment-mismatch gpu-program-fault
    segmentation-fault stack-overflow aborted bus-error arithmetic-fault illegal-instruction
    killed terminated interrupted hangup scheduler-preempted scheduler-time-limit scheduler-cancelled
    kernel-restarted kernel-shut-down
    disk-full too-many-open-files too-many-processes cpu-time-limit
    stalled collective-timeout
    host-lost connection-lost
    gpu-fault gpu-overheated memory-fault storage-fault
""".split()
CONTRIBUTING = "memory-leak swap-thrashing memory-taken-by-others gpu-shared notebook-holds-memory".split()


def own_rules() -> dict[str, bool]:
    rules = [rule for rule in load_rules() if rule.module.startswith("holter.")]
    return {rule.cause: rule.contributes for rule in rules}


def test_every_cause_has_a_rule() -> None:
    assert sorted(set(CAUSES + CONTRIBUTING) - set(own_rules())) == []


def test_what_only_contributes_is_never_the_cause() -> None:
    assert {cause for cause, contributes in own_rules().items() if contributes} >= set(CONTRIBUTING)
    assert [cause for cause in CAUSES if own_rules()[cause]] == []


def test_the_page_of_causes_is_what_the_rules_say() -> None:
    rules = [rule for rule in load_rules() if rule.module.startswith("holter.")]
    page = (ROOT / "docs" / "causes.md").read_text()
    assert page == rules_page(rules), "`holter rules --markdown > docs/causes.md` writes it anew"


def test_the_page_has_every_curve_that_a_cause_names() -> None:
    drawn = re.findall(r"id: [\"`]([\w-]+)", (ROOT / "ui" / "src" / "run" / "system.ts").read_text())
    named = {curve for rule in load_rules() for curve in rule.curves} - {"disk", "metric", "loss"}
    assert len(named) > 5
    assert [curve for curve in named if not curve.startswith(("cgroup-", "disk-")) and curve not in drawn] == []
    assert {"cgroup-", "disk-"} <= set(drawn)


def test_every_rule_begins_with_a_sentence_that_fits_a_line() -> None:
    assert {rule.cause: rule.in_short for rule in load_rules() if not 10 < len(rule.in_short) < 160} == {}


def test_patterns_are_in_the_table_of_phrases_alone() -> None:
    house = ROOT / "src" / "holter" / "diagnosis"
    matching = {
        path.name
        for path in house.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Import | ast.ImportFrom)
        if "re" in [*(alias.name for alias in node.names), getattr(node, "module", None)]
    }
    assert matching == {"tags.py"}, "put what a text may say into diagnosis/phrases, and ask for its tag"
