"""Commands that a user can type as they are printed."""

from __future__ import annotations

import re
import shlex
from typing import TypeAlias

from trace import config

_Value: TypeAlias = str | tuple[str, ...] | None

_PLAIN = re.compile(r"(?!(true|false|null|nan|inf)\Z)[a-z/][a-z0-9_./:-]*", re.IGNORECASE)
"""What Hydra reads as the text that it is."""
_BEFORE_A_QUOTE = re.compile(r"(\\*)('|\Z)")
_EXPANDED = re.compile(r'["$`\\!]')
"""What a shell looks for between double quotes."""


def command(settings: config.Root, **annotate: str | tuple[str, ...]) -> str:
    """The command of the same study on the same server.

    Args:
        settings: of the command that is carried out now.
        annotate: further keys below `annotate`, and their values.
    """
    benchmark, now = settings.benchmark, settings.annotate
    whose: dict[str, _Value] = (
        {"annotate.form": now.form, "annotate.source": now.source}
        if now.form is not None
        else {"benchmark": benchmark.name, "benchmark.path": getattr(benchmark, "path", None)}
    )
    where: dict[str, _Value] = {
        "annotate.url": now.url,
        "annotate.data_dir": now.data_dir,
        "output_dir": None if settings.output_dir == "outputs" else settings.output_dir,
    }
    more: dict[str, _Value] = {f"annotate.{name}": value for name, value in annotate.items()}
    return typed({"task": "annotate"} | whose | where | more)


def typed(keys: dict[str, _Value]) -> str:
    """Keys and values as a command, quoted for Hydra and for a shell; None is left out."""
    words = (f"{key}={_quoted(value)}" for key, value in keys.items() if value is not None)
    return " ".join(["python -m trace.run", *map(_for_a_shell, words)])


def _for_a_shell(word: str) -> str:
    """Like `shlex.quote`, which makes a riddle of a word with quotes in it."""
    if "'" in word and not _EXPANDED.search(word):
        return f'"{word}"'
    return shlex.quote(word)


def _quoted(value: str | tuple[str, ...]) -> str:
    """For Hydra, to which a backslash means something before a quote and at the end alone."""
    if isinstance(value, tuple):
        return f"[{','.join(map(_quoted, value))}]"
    if _PLAIN.fullmatch(value):
        return value
    escaped = _BEFORE_A_QUOTE.sub(lambda found: 2 * found[1] + ("\\'" if found[2] else ""), value)
    return f"'{escaped}'"
