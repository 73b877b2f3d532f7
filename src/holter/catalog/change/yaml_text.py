"""Writes plain values as YAML that people like to read and that every parser, of 1.1 or 1.2, reads the same. Pure."""

import math
import re
from collections.abc import Mapping, Sequence

# Words that need no quotes: they begin with a letter, and nothing in them means anything to YAML.
_PLAIN = r"[A-Za-z_/][A-Za-z0-9_./+-]*(?: [A-Za-z0-9_./+-]+)*"
_WORDS = frozenset("y n yes no on off true false null none".split())
# A key that is longer must be announced with a question mark; YAML allows 1,024 characters.
_LONGEST_KEY = 1000
_LONGEST_LINE = 100


def to_yaml(values: Mapping[str, object]) -> str:
    """The mapping in block style, with a line break at the end."""
    return "\n".join(_mapping(values) or ["{}"]) + "\n"


def _mapping(values: Mapping[str, object]) -> list[str]:
    lines = []
    for name, value in values.items():
        key = _text(str(name))
        if len(key) > _LONGEST_KEY:
            lines.append(f"? {key}")
            key = ""
        inline = _inline(value)
        if inline is not None:
            lines.append(f"{key}: {inline}")
        else:
            lines += [f"{key}:", *(f"  {line}" for line in _block(value))]
    return lines


def _block(value: object) -> list[str]:
    if isinstance(value, Mapping):
        return _mapping(value)
    lines = []
    for each in value if isinstance(value, Sequence) else ():
        inline = _inline(each)
        first, *rest = [inline] if inline is not None else _block(each)
        lines += [f"- {first}", *(f"  {line}" for line in rest)]
    return lines


def _inline(value: object) -> str | None:
    """The value in one line, None where it needs a block."""
    if isinstance(value, Mapping):
        return None if value else "{}"
    if isinstance(value, Sequence) and not isinstance(value, str):
        parts = [_inline(each) for each in value if not isinstance(each, Mapping | list | tuple)]
        line = f"[{', '.join(part for part in parts if part is not None)}]"
        return line if len(parts) == len(value) and len(line) <= _LONGEST_LINE else None
    return _scalar(value)


def _scalar(value: object) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return _float(value) if isinstance(value, float) else _text(str(value))


def _float(value: float) -> str:
    if not math.isfinite(value):
        return ".nan" if math.isnan(value) else ".inf" if value > 0 else "-.inf"
    text = repr(value)
    # To YAML 1.1 a number with an exponent and without a point is a text.
    return text if "." in text else text.replace("e", ".0e")


def _text(text: str) -> str:
    if re.fullmatch(_PLAIN, text) and text.lower() not in _WORDS:
        return text
    return f'"{"".join(map(_character, text))}"'


def _character(character: str) -> str:
    if character in '"\\':
        return f"\\{character}"
    if character.isprintable():
        return character
    number = ord(character)
    if character in "\n\t":
        return "\\n" if character == "\n" else "\\t"
    return f"\\x{number:02x}" if number < 1 << 8 else f"\\u{number:04x}" if number < 1 << 16 else f"\\U{number:08x}"
