"""Guards the words for people: every text that a rule and its examples bring forth says which kernel it means.

Those of the recorded deaths are looked through where these are judged again: tests/zoo/test_recorded_deaths.py.
"""

from holter.diagnosis.loading import load_rules
from holter.diagnosis.ranking import diagnose
from tests.causes import examples_of
from tests.words import FORBIDDEN, texts_of, wrong_words


def test_no_text_for_people_has_a_wrong_word() -> None:
    rules = [rule for rule in load_rules() if rule.module.startswith("holter.")]
    texts = {text for rule in rules for text in (rule.explanation, rule.remedy)}
    texts |= {text for rule in rules for each in examples_of(rule.cause) for text in texts_of(diagnose(each.evidence))}
    assert len(texts) > 100
    assert wrong_words(texts) == {}


def test_each_wrong_word_is_found() -> None:
    said = ["The kernel died.", "It reached the limit of its cgroup.", "The program left by itself."]
    assert wrong_words(said) == {why: [text] for why, text in zip(FORBIDDEN, said, strict=True)}
    assert wrong_words(["The notebook's kernel died: its container's memory limit (cgroup), /sys/fs/cgroup/x"]) == {}
