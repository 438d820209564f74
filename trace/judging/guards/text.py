"""A sample's text inside a guard's prompt: it cannot end its own place there."""

from __future__ import annotations

import re
from collections.abc import Sequence

WORD_JOINER = "\u2060"


def neutralised(text: str, tokens: Sequence[str]) -> str:
    r"""Breaks up a template's own marks where they stand in `text`, whatever their case.

    An invisible word joiner is put behind the first letter of each; nothing is removed, so a
    reader sees the text as it was. Half a surrogate pair, which no tokenizer takes, becomes its
    escape.

    Args:
        text: The sample's text.
        tokens: Control tokens and delimiters, of at least two characters each. One that begins
            with a line break, such as `"\nUser:"`, is a mark only where a line begins with the
            rest of it, the first line included.
    """
    text = text.encode("utf-8", "backslashreplace").decode("utf-8")
    if not tokens:
        return text
    marks = "|".join(
        f"^{re.escape(token[1:])}" if token.startswith("\n") else re.escape(token)
        for token in tokens
    )
    return re.sub(rf"(?={marks})(.)", rf"\1{WORD_JOINER}", text, flags=re.I | re.S | re.M)
