"""The table of phrases: what programs, libraries and Linux say, who says it, and what it means.

A file is a topic, and its `TABLE` is read by `tags`, which all else in `diagnosis` asks: it has no patterns of its own.

    tag (end): what it means; `(end)` where who says so is at its end, and not on its way
        + another tag, whose phrases say this, too
        a regular expression  # who says it

A real message for each is in `tests/phrases`, under the same name.
"""
