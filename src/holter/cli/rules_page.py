"""The documentation page of all causes, made from the rules themselves. Pure."""

from collections.abc import Sequence

from holter.diagnosis.loading import Rule

TITLE = """# Causes

Every death of a run gets one of these causes, or `unknown` with candidates. `holter rules` lists them, `holter why`
names the one of a run. This page is generated from the rules in `src/holter/diagnosis/rules`, one file for each cause:
`holter rules --markdown > docs/causes.md`. Whoever knows that another one is true says so with
`holter mark RUN --cause CAUSE --reason TEXT`.
"""


def rules_page(rules: Sequence[Rule]) -> str:
    """The page as text: a table of all, then a section for each."""
    causes = [rule for rule in rules if not rule.contributes]
    contributing = [rule for rule in rules if rule.contributes]
    parts = [TITLE, _table("Cause", causes), "Some things contribute to a death without being its cause:\n"]
    parts += [_table("Contributing", contributing), *map(_section, [*causes, *contributing])]
    return "\n".join(parts)


def _table(heading: str, rules: Sequence[Rule]) -> str:
    rows = [f"| [`{rule.cause}`](#{rule.cause}) | {rule.in_short.replace('|', '/')} |" for rule in rules]
    return "\n".join([f"| {heading} | What happened |", "|---|---|", *rows, ""])


def _section(rule: Rule) -> str:
    explanation = rule.explanation.strip()
    remedy = f"\n**What helps:** {' '.join(rule.remedy.split())}\n" if rule.remedy else ""
    return f"## {rule.cause}\n\n{explanation}\n{remedy}"
