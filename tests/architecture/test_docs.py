"""Guards the promise that the docs name every setting and every command."""

import ast
import itertools
import re
from pathlib import Path

import pytest

from holter.recording import settings

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
COMMANDS = ROOT / "src" / "holter" / "cli" / "commands"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])

FIELDS = [field for field in settings.Settings.__struct_fields__ if field != "sources"]
MOST_FIELDS = 25


def field_docs() -> dict[str, str]:
    """Map each field of the settings to the one-line string that follows it."""
    tree = ast.parse(Path(settings.__file__).read_text())
    [body] = [node.body for node in tree.body if isinstance(node, ast.ClassDef) and node.name == "Settings"]
    docs = {}
    for field, following in itertools.pairwise(body):
        match field, following:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                docs[name] = text
    return docs


def test_the_settings_stay_few() -> None:
    assert len(FIELDS) <= MOST_FIELDS


@pytest.mark.parametrize("field", FIELDS)
def test_every_setting_is_in_the_docs(field: str) -> None:
    variable, doc = settings.ENVIRONMENT[field], field_docs().get(field, "")
    assert variable.startswith("HOLTER_")
    assert len(doc.splitlines()) == 1, f"Settings.{field} needs a one-line string below it that says what it does"
    lines = (DOCS / "settings.md").read_text().splitlines()
    found = [line for line in lines if f"`{field}`" in line and f"`{variable}`" in line]
    assert len(found) == 1, f"docs/settings.md needs one line with `{field}` and `{variable}`, it has {len(found)}"
    assert doc in found[0]


@pytest.mark.parametrize("command", [path.stem for path in sorted(COMMANDS.glob("[!_]*.py"))])
def test_every_command_is_in_the_docs(command: str) -> None:
    assert f"holter {command.replace('_', '-')}" in (DOCS / "commands.md").read_text()


SOURCE = ROOT / "src" / "holter"
FOLDERS = sorted({path.parent.relative_to(SOURCE) for path in SOURCE.rglob("*.py")} - {Path(".")})


@pytest.mark.parametrize("folder", FOLDERS, ids=str)
def test_the_map_names_every_folder(folder: Path) -> None:
    house = (ROOT / "CONTRIBUTING.md").read_text().partition("## The house")[2].partition("- **Sizes.**")[0]
    rows = [line for line in house.splitlines() if line.startswith(f"| `{folder.parts[0]}` |")]
    assert len(rows) == 1
    about = house.partition("In `server`,")[2] if folder.parts[0] == "server" else rows[0]
    assert all(f"`{part}`" in about for part in folder.parts[1:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_link_to_a_file_leads_to_one(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text())
    assert [target for target in targets if not (page.parent / target).exists()] == []


CHECKS = SOURCE / "doctor" / "checks"


@pytest.mark.parametrize("check", [path.stem for path in sorted(CHECKS.glob("[!_]*.py"))])
def test_every_check_of_the_doctor_is_in_the_docs(check: str) -> None:
    assert f"| `{check.replace('_', '-')}` |" in (DOCS / "doctor.md").read_text()
