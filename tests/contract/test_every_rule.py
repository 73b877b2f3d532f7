"""What every file in `diagnosis/rules` promises."""

import ast
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from holter.diagnosis import ranking, rules
from holter.diagnosis.grades import SURE_FROM
from holter.diagnosis.loading import Rule, load_rules
from holter.model.evidence import Evidence
from holter.model.state import STATES
from holter.model.verdicts import Answer, Grade, NotObservable, RuledOut, Verdict
from tests import causes
from tests.causes import examples_of

DIRECTORY = Path(rules.__path__[0])
IMPURE = frozenset("os io sys time datetime pathlib socket subprocess shutil tempfile random urllib threading".split())
RULES = load_rules()
EXAMPLES = {rule.cause: examples_of(rule.cause) for rule in RULES}
EVIDENCE = [example.evidence for examples in EXAMPLES.values() for example in examples]


@pytest.fixture(params=RULES, ids=lambda rule: rule.cause)
def rule(request: pytest.FixtureRequest) -> Rule:
    found: Rule = request.param
    return found


def verdicts(rule: Rule) -> list[Verdict]:
    answers = [rule.ask(example.evidence) for example in EXAMPLES[rule.cause]]
    return [answer for answer in answers if isinstance(answer, Verdict)]


def test_its_docstring_is_the_cause_and_the_remedy(rule: Rule) -> None:
    assert len(rule.explanation) > 40
    assert len(rule.remedy) > 20
    assert rule.explanation.split("\n")[0].endswith((".", ";", ",", ":")) or rule.explanation.endswith(".")
    assert rule.remedy.endswith(".")


def test_there_are_no_examples_without_a_rule() -> None:
    places = {path.stem for path in Path(causes.__path__[0]).glob("*.py")} - {"__init__", "example", "specimens"}
    assert places == {each.cause.replace("-", "_") for each in RULES}


def test_it_has_an_example_for_and_one_against(rule: Rule) -> None:
    assert {example.fires for example in EXAMPLES[rule.cause]} == {True, False}


def test_its_examples_say_what_it_does(rule: Rule) -> None:
    wrong = [
        (number, example.fires)
        for number, example in enumerate(EXAMPLES[rule.cause])
        if isinstance(rule.ask(example.evidence), Verdict) != example.fires
    ]
    assert wrong == []


def test_its_verdicts_name_its_cause(rule: Rule) -> None:
    assert {verdict.cause for verdict in verdicts(rule)} == {rule.cause}


def test_its_verdicts_have_a_grade(rule: Rule) -> None:
    assert {verdict.grade for verdict in verdicts(rule)} <= set(Grade)


def test_its_titles_are_one_sentence(rule: Rule) -> None:
    for verdict in verdicts(rule):
        assert verdict.title == verdict.title.strip()
        assert "\n" not in verdict.title
        assert verdict.title[0].upper() == verdict.title[0]
        assert 15 <= len(verdict.title) <= 400


def test_its_verdicts_have_facts_with_a_source_and_a_time(rule: Rule) -> None:
    for verdict in verdicts(rule):
        assert 1 <= len(verdict.facts) <= 5
        assert len(set(verdict.facts)) == len(verdict.facts)
        assert all(fact.source and fact.text.strip() and math.isfinite(fact.at) for fact in verdict.facts)
        assert all("None" not in fact.text for fact in verdict.facts)


def test_most_of_its_verdicts_rest_on_two_facts(rule: Rule) -> None:
    assert max(len(verdict.facts) for verdict in verdicts(rule)) >= (1 if rule.contributes else 2)


def test_its_verdicts_come_with_advice(rule: Rule) -> None:
    for verdict in verdicts(rule):
        assert verdict.advice
        assert len(set(verdict.advice)) == len(verdict.advice)
        assert all(text.strip() == text and text and "None" not in text for text in verdict.advice)


def test_it_names_causes_that_there_are(rule: Rule) -> None:
    assert set(rule.excludes) <= {each.cause for each in RULES}


def test_what_it_hides_behind_is_never_sure(rule: Rule) -> None:
    for other in RULES:
        for verdict, evidence in zip(verdicts(other), EVIDENCE, strict=False):
            left = rule.hides_behind(verdict, evidence) if rule.hides_behind else None
            assert left is None or left < SURE_FROM


def test_its_verdicts_demand_only_states_that_there_are(rule: Rule) -> None:
    assert {verdict.state for verdict in verdicts(rule)} <= {"", *STATES}


def test_it_reads_evidence_and_nothing_else(rule: Rule) -> None:
    path = DIRECTORY / f"{rule.cause.replace('-', '_')}.py"
    tree = ast.parse(path.read_text())
    assert imported(tree) & IMPURE == set()
    calls = {node.func.id for node in ast.walk(tree) if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    assert calls & {"open", "print", "input", "eval", "exec"} == set()


def test_it_asks_no_other_rule(rule: Rule) -> None:
    path = DIRECTORY / f"{rule.cause.replace('-', '_')}.py"
    others = [name for name in modules(ast.parse(path.read_text())) if name.startswith(rules.__name__)]
    assert others == []


def modules(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""


def imported(tree: ast.AST) -> set[str]:
    return {name.partition(".")[0] for name in modules(tree)}


def test_it_gives_the_same_answer_again(rule: Rule) -> None:
    for example in EXAMPLES[rule.cause]:
        assert rule.ask(example.evidence) == rule.ask(example.evidence)


def test_it_never_raises_on_the_evidence_of_others(rule: Rule) -> None:
    for evidence in EVIDENCE:
        assert isinstance(rule.ask(evidence), Answer)


def holes(value: object, path: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    """Each place in nested dicts and lists."""
    if isinstance(value, dict):
        for key, inner in value.items():
            yield (*path, key)
            yield from holes(inner, (*path, key))
    elif isinstance(value, list):
        for number, inner in enumerate(value):
            yield from holes(inner, (*path, number))


def without(value: object, path: tuple[str | int, ...]) -> object:
    """The same without what is at this place."""
    first, *rest = path
    if isinstance(value, list):
        return [without(inner, tuple(rest)) if number == first else inner for number, inner in enumerate(value)]
    assert isinstance(value, dict)
    if rest:
        return {key: without(inner, tuple(rest)) if key == first else inner for key, inner in value.items()}
    return {key: inner for key, inner in value.items() if key != first}


def lacking(evidence: Evidence) -> Iterator[Evidence]:
    """The same evidence without one of its parts, for each part without which it still is evidence."""
    plain = msgspec.to_builtins(evidence)
    for path in holes(plain):
        try:
            yield msgspec.convert(without(plain, path), Evidence)
        except msgspec.ValidationError:
            continue


def test_it_never_raises_when_a_witness_is_missing(rule: Rule) -> None:
    for example in EXAMPLES[rule.cause]:
        for evidence in lacking(example.evidence):
            assert isinstance(rule.ask(evidence), Answer)


texts = st.sampled_from(["", "x", "\n", "[Errno 28]", "segfault at zz ip 0 sp 0", "/dev/shm/a b", "CUDA out of memory"])


def shaken(value: object, data: st.DataObject) -> object:
    """Nested values with some of their numbers and texts changed."""
    if isinstance(value, dict):
        return {key: shaken(inner, data) for key, inner in value.items()}
    if isinstance(value, list):
        return [shaken(inner, data) for inner in value]
    if isinstance(value, bool) or value is None or not data.draw(st.integers(0, 3)):
        return value
    if isinstance(value, int):
        return data.draw(st.integers(0, 2**31 - 1))
    if isinstance(value, float):
        return data.draw(st.floats(allow_nan=True, allow_infinity=True))
    return data.draw(texts) if isinstance(value, str) else value


@settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_no_rule_ever_raises_and_every_diagnosis_can_be_written_down(data: st.DataObject) -> None:
    plain = msgspec.to_builtins(data.draw(st.sampled_from(EVIDENCE)))
    try:
        evidence = msgspec.convert(shaken(plain, data), Evidence)
    except msgspec.ValidationError:
        return
    for each in RULES:
        assert isinstance(each.ask(evidence), Answer), each.cause
    diagnosis = ranking.diagnose(evidence)
    assert 0 <= diagnosis.confidence <= 1
    assert msgspec.json.encode(diagnosis)


def test_what_is_ruled_out_or_unseen_says_why(rule: Rule) -> None:
    for evidence in EVIDENCE:
        answer = rule.ask(evidence)
        if isinstance(answer, RuledOut | NotObservable):
            assert answer.cause == rule.cause
            assert answer.because.strip() == answer.because != ""
        if isinstance(answer, NotObservable):
            assert answer.remedy
