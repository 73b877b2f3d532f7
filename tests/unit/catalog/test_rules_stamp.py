"""What stands for the rules is another one whenever they are others, and only then."""

import shutil
from pathlib import Path

from holter import diagnosis
from holter.catalog.read.rules_stamp import checksum, foreign_rules, rules_stamp


def test_a_rule_more_or_a_word_less_is_seen_wherever_they_lie(tmp_path: Path) -> None:
    one, other = tmp_path / "one", tmp_path / "other"
    shutil.copytree(Path(diagnosis.__file__).parent, one)
    shutil.copytree(one, other)
    assert checksum([str(one)]) == checksum([str(other)])
    (other / "rules" / "bad_luck.py").write_text("")
    added = checksum([str(other)])
    (other / "rules" / "killed.py").write_text("")
    assert len({checksum([str(one)]), added, checksum([str(other)])}) == 3


def test_whoever_offers_rules_is_seen_and_nobody_else(tmp_path: Path) -> None:
    def install(name: str, offers: str) -> str:
        (tmp_path / name).mkdir()
        (tmp_path / name / "entry_points.txt").write_text(f"[{offers}]\nbad-luck = theirs.rules:luck\n")
        return foreign_rules([str(tmp_path), str(tmp_path / "missing")])

    nobody = foreign_rules([str(tmp_path)])
    assert install("theirs-1.dist-info", "console_scripts") == nobody
    first = install("rules-1.dist-info", "holter.rules")
    second = install("rules-2.dist-info", "holter.rules")
    assert len({nobody, first, second}) == 3


def test_our_own_are_seen() -> None:
    assert rules_stamp() == rules_stamp()
    assert "-00000000-" not in rules_stamp()
