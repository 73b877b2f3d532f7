"""Which witnesses a test does without."""

import pytest

from holter.model.witnesses import CONNECTOR, KERNEL_LOG, PIDFD_INFO, witnesses_without


@pytest.mark.parametrize(
    ("text", "without"),
    [
        ("", set()),
        ("kernel-log", {KERNEL_LOG}),
        ("pidfd-info, connector", {PIDFD_INFO, CONNECTOR}),
        ("everything,,", set()),
    ],
)
def test_names_are_separated_by_commas(text: str, without: set[str]) -> None:
    assert witnesses_without({"HOLTER_WITHOUT": text}) == without


def test_without_the_variable_none_is_missing() -> None:
    assert witnesses_without({}) == frozenset()
