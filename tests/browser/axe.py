"""What axe finds on a page that would keep somebody out."""

from pathlib import Path

from playwright.sync_api import Page

SCRIPT = Path(__file__).parents[2] / "ui" / "node_modules" / "axe-core" / "axe.min.js"
SERIOUS = ("serious", "critical")


def serious_findings(page: Page) -> list[tuple[str, list[str]]]:
    page.evaluate(SCRIPT.read_text())
    # Not in frames: what a program logged is theirs, and has an origin of its own to which axe could not speak.
    found = page.evaluate("axe.run({iframes: false})")["violations"]
    return [(each["id"], [node["html"][:160] for node in each["nodes"]]) for each in found if each["impact"] in SERIOUS]
