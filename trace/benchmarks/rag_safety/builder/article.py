"""An article of the user's: where it comes from, what it is about, and its sections."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from trace.benchmarks.fields import Fields
from trace.benchmarks.rag_safety.taxonomy import SUBCATEGORIES
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json, digest

SOURCE = ("title", "url", "revision", "change_note", "licence")
"""What every article must say of itself: without it nobody may pass the text on."""
_WHY = {
    "title": "its name",
    "url": "where it can be read",
    "revision": "which version this is: a number or a date",
    "change_note": 'what was changed in the text; "none" if nothing was',
    "licence": 'the terms of the text, such as "CC BY-SA 4.0"',
}
REFUSED: Mapping[str, str] = {
    spelling: topic
    for topic, spellings in {
        "privacy": "privacy prv",
        "intellectual property": "intellectual_property intellectual_property_violations ip ipv "
        "copyright",
        "specialised advice": "specialised_advice specialized_advice spc spc_ele spc_fin spc_hlt "
        "spc_lgl",
        "content that does harm by being made": "direct_harmful_content_generation harmful_content "
        "child_sexual_exploitation cse sexual_content sxc sxc_prn defamation dfm",
    }.items()
    for spelling in spellings.split()
}
"""Topics that the study leaves out, by their spellings: words, and the codes of AILuminate."""

_FIELDS = (*SOURCE, "text", "subcategory", "meta")
_HEADING = re.compile(r"#{1,6}[ \t]+(\S.*)")
_FENCE = re.compile(r" {0,3}(?:`{3,}[^`]*|~{3,}.*)$")
_ADDRESS = re.compile(r"[A-Za-z][\w+.-]*:\S+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Section:
    """A section without those inside it. The lead of an article has no heading."""

    id: str
    heading: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Article:
    """An article. `subcategory` is None where it is harmless; `form` says how it came to us."""

    title: str
    url: str
    revision: str
    change_note: str
    licence: str
    subcategory: str | None
    sections: tuple[Section, ...]
    form: str

    @property
    def id(self) -> str:
        """Identifies the article in this version."""
        return digest([self.url, self.revision, self.title])[:12]

    def source(self) -> dict[str, Json]:
        """What has to be named where its text is passed on."""
        return {name: getattr(self, name) for name in SOURCE}

    @classmethod
    def from_json(cls, line: Json, at: str) -> Article:
        """Reads a line of a file of articles.

        Raises:
            DataError: a field is missing or wrong, or the topic is none for such a set; with the
                file, the line and the field.
        """
        fields = Fields(line, at)
        for name in line:
            if name not in _FIELDS:  # a subcategory that is misspelt would make it harmless
                raise DataError(
                    f"{at}: {name}: no field has this name{nearest(name, _FIELDS)} What else is to "
                    'be kept belongs in "meta": {...}.'
                )
        subcategory = fields.line.get("subcategory")
        if isinstance(subcategory, str) and not subcategory.strip():
            raise DataError(
                f"{at}: subcategory: is empty. Leave it out where the article is harmless."
            )
        source = {name: _source(fields, name) for name in SOURCE}
        return cls(
            **source,
            subcategory=known(fields.optional("subcategory"), f"{at}: subcategory"),
            sections=sections_of(fields.text("text")),
            form="articles",
        )


def known(name: str | None, at: str) -> str | None:
    """A subcategory as it was written in a user's file; None for a harmless article.

    Raises:
        DataError: it is none of the twenty, or a topic that the study leaves out.
    """
    if name is None or not name.strip():
        return None
    folded = re.sub(r"[\W_]+", "_", name.strip().casefold()).strip("_")
    if folded in SUBCATEGORIES:
        return folded
    if folded in REFUSED:
        raise DataError(
            f"{at}: {name!r:.60} is {REFUSED[folded]}, which this benchmark leaves out: there the "
            "harm is not in an answer that a document can hold, or cannot be judged by it. Remove "
            "the articles of this topic."
        )
    raise DataError(
        f"{at}: {name!r:.60} is no subcategory{nearest(folded, SUBCATEGORIES)} They are "
        f"{', '.join(SUBCATEGORIES)}. A harmless article has null."
    )


def sections_of(text: str) -> tuple[Section, ...]:
    """The sections of plain text or Markdown; lines that begin with # are headings, but in code."""
    found: list[tuple[str, list[str]]] = [("", [])]
    code = False
    for line in text.split("\n"):
        code ^= _FENCE.match(line.rstrip()) is not None
        if not code and (mark := _HEADING.match(line)):
            found.append((mark[1].rstrip(" \t\r#"), []))
        else:
            found[-1][1].append(line)
    return numbered((heading, "\n".join(said)) for heading, said in found)


def numbered(found: Iterable[tuple[str, str]]) -> tuple[Section, ...]:
    """Headings and texts as sections, in their order; those without text are left out."""
    return tuple(
        Section(id=f"s{number}", heading=_plain(heading).replace("\n", " "), text=plain)
        for number, (heading, text) in enumerate(found)
        if (plain := _plain(text))
    )


def _source(fields: Fields, name: str) -> str:
    value = fields.line.get(name) if isinstance(fields.line, dict) else None
    if name == "revision" and isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise DataError(
            f'{fields.at}: {name}: is missing or empty, or no text. Write "{name}": "..." '
            f"({_WHY[name]}): "
            "without it the text cannot be passed on, and the build stops."
        )
    if name == "url" and not _ADDRESS.fullmatch(value.strip()):
        raise DataError(
            f"{fields.at}: url: {value!r:.60} is no address. Write where the article can be read, "
            'such as "https://...", or "urn:isbn:..." for a book.'
        )
    return value.strip()


def _plain(text: str) -> str:
    """One space between words, one empty line between paragraphs."""
    paragraphs = re.split(r"\n[ \t]*\n\s*", text.strip())
    lines = ("\n".join(" ".join(line.split()) for line in p.splitlines()) for p in paragraphs)
    return "\n\n".join(one for paragraph in lines if (one := paragraph.strip()))
