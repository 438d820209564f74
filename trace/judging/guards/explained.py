"""Answers of the form `tag`, then `<explanation>...</explanation>`."""

from __future__ import annotations

import re

from trace.judging.labels import visible
from trace.records import Completion

_OPEN = re.compile(r"\s*<explanation>")


def explained(answer: Completion) -> tuple[str | None, str | None]:
    """The tag, None where it may have been cut, and the explanation.

    The tag is all that stands before the explanation. An explanation that the token limit cut is
    given as far as it goes.
    """
    tag, *rest = _OPEN.split(visible(answer.text), maxsplit=1)
    if not rest:
        return (None if answer.finish == "length" else tag.strip()), None
    why = rest[0].split("</explanation>", 1)[0].strip()
    return tag.strip(), why or None
