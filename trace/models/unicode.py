"""Text that every tokenizer and every server takes."""

from __future__ import annotations


def whole_characters(text: str) -> str:
    """`text` with halves of surrogate pairs joined where both stand, and else replaced by U+FFFD.

    JSON can hold a half alone (`"\\ud83d"`), and Python keeps it; it is no character, so it has no
    UTF-8. The replacement is that of the Unicode standard (section 3.9).
    """
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
