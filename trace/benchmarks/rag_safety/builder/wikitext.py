"""Wikitext as plain sections: no templates, references, tables, files or link targets."""

from __future__ import annotations

import re
from collections.abc import Iterator

import mwparserfromhell
from mwparserfromhell.nodes import Comment, Tag, Template, Wikilink
from mwparserfromhell.wikicode import Wikicode

from trace.benchmarks.rag_safety.builder.article import Section, numbered

CHANGED = "Markup, templates, references, tables and files were removed."
"""What has to be said of a text that was taken out of wikitext."""

_TAGS = frozenset({"ref", "references", "table", "gallery", "math", "timeline", "imagemap", "score",
                   "syntaxhighlight", "source", "pre", "style", "chem"})  # fmt: skip
_APPARATUS = frozenset({"bibliography", "citations", "external links", "footnotes",
                        "further reading", "notes", "notes and references", "references",
                        "see also", "sources", "works cited"})  # fmt: skip
_LINK = re.compile(r"\[\[([^\[\]|]*)")
_PREFIXED = re.compile(r"^\s*:?\s*([A-Za-z][A-Za-z -]*?)\s*:\s*(?=\S)")
_PLACES = frozenset({"file", "image", "media", "category"})


def sections(text: str) -> tuple[Section, ...]:
    """The sections of a page, without those that only list sources and links."""
    found = []
    within: int | None = None  # the level of the apparatus that is being passed over
    for part in mwparserfromhell.parse(text).get_sections(flat=True, include_lead=True):
        headings = part.filter_headings(recursive=False)
        level = headings[0].level if headings else 0
        if within is not None and level > within:
            continue
        heading = _text(headings[0].title).strip() if headings else ""
        within = level if heading.casefold() in _APPARATUS else None
        if within is None:
            if headings:
                part.remove(headings[0])
            found.append((heading, _text(part)))
    return numbered(found)


def categories(text: str) -> Iterator[str]:
    """The categories that a page says it is in."""
    for found in _LINK.finditer(text):
        name = found[1].strip()
        if name[:9].casefold() == "category:":
            yield plain_category(name[9:])


def plain_category(name: str) -> str:
    """A category's name as MediaWiki compares it: spaces for underlines, a capital first."""
    plain = " ".join(name.replace("_", " ").split())
    return plain[:1].upper() + plain[1:]


def _text(code: Wikicode) -> str:
    _strip(code)
    return str(code.strip_code(normalize=True, collapse=False)).replace("\xa0", " ")


def _strip(code: Wikicode) -> None:
    """Removes what is not to be shown, also from what stands in tags and links.

    `Wikicode.remove` looks through the whole page for every node.
    """
    code.nodes = [node for node in code.nodes if not _gone(node)]
    for node in code.nodes:
        for name in ("contents", "text", "title"):
            if isinstance(inner := getattr(node, name, None), Wikicode):
                _strip(inner)


def _gone(node: object) -> bool:
    if isinstance(node, Template | Comment):
        return True
    if isinstance(node, Tag):
        return str(node.tag).strip().casefold() in _TAGS
    if isinstance(node, Wikilink):
        place = _PREFIXED.match(str(node.title))
        return place is not None and place[1].casefold() in _PLACES
    return False
