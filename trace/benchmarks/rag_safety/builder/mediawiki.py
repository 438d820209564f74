"""A MediaWiki export, read page by page: the articles that its categories give a subcategory."""

from __future__ import annotations

import bz2
import csv
import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO
from urllib.parse import quote
from xml.etree.ElementTree import Element, ParseError

from defusedxml.common import DefusedXmlException
from defusedxml.ElementTree import iterparse
from mwparserfromhell.parser import ParserError

from trace.benchmarks.rag_safety.builder import wikitext
from trace.benchmarks.rag_safety.builder.article import Article, known
from trace.errors import DataError

SUFFIXES = (".xml", ".bz2")
_MARKUP = re.compile(r"\{\{|\{\||<ref\b")
_ADVICE = "Give an export of MediaWiki, as XML or packed with bzip2."


@dataclass(frozen=True, slots=True, kw_only=True)
class Export:
    """How an export is read.

    `categories` maps a category to a subcategory, or to None where it is harmless.
    """

    path: Path
    licence: str
    categories: Mapping[str, str | None]

    def articles(self, passed_over: Counter[str]) -> Iterator[Article]:
        """Its articles, in the order of the file; pages that are none are counted, by reason.

        A page of several known categories has the subcategory that the table names first, and is
        harmless only if all of them are.

        Raises:
            DataError: it is no export, or it is damaged.
        """
        address = None
        for element in _elements(self.path):
            if _name(element) == "siteinfo":
                address = _address(element)
                continue
            if address is None:
                raise DataError(f"{self.path}: has no <siteinfo> with a <base> address. {_ADVICE}")
            page = self._page(element, address)
            if isinstance(page, str):
                passed_over[page] += 1
            else:
                yield page
        if address is None:
            raise DataError(f"{self.path}: has no <siteinfo> with a <base> address. {_ADVICE}")

    def _page(self, page: Element, address: str) -> Article | str:
        """The article of a page, or why there is none."""
        if _text(page, "ns") != "0":
            return "in another namespace"
        if _child(page, "redirect") is not None:
            return "a redirect"
        revision = _latest(page)
        markup = None if revision is None else _text(revision, "text")
        if revision is None or not markup:
            return "without text"
        named = {name: None for name in wikitext.categories(markup) if name in self.categories}
        if not named:
            return "in no category of the table"
        kinds = [kind for name, kind in self.categories.items() if name in named]
        try:
            sections = wikitext.sections(markup)
        except ParserError:
            return "with markup that cannot be read"
        if not sections:
            return "without text"
        if any(_MARKUP.search(f"{one.heading}\n{one.text}") for one in sections):
            return "with markup that cannot be read"  # a brace or a tag that is never closed
        title, version = _text(page, "title"), _text(revision, "id")
        if not title or not version:
            lacks = "revision id" if title else "title"
            raise DataError(
                f"{self.path}: the page {title!r:.60} has no {lacks}: without it the text cannot "
                "be passed on, and the build stops. Export it again."
            )
        return Article(
            title=title,
            url=address + quote(title.replace(" ", "_"), safe="/:@!$*(),;"),
            revision=version,
            change_note=wikitext.CHANGED,
            licence=self.licence,
            subcategory=next((kind for kind in kinds if kind is not None), None),
            sections=sections,
            form="mediawiki",
        )


def read_categories(path: Path) -> dict[str, str | None]:
    """Category -> subcategory, None for a harmless one, in the order of the file.

    Args:
        path: CSV with the columns category and subcategory.

    Raises:
        DataError: the file cannot be read, or a line of it; with the line.
    """
    found: dict[str, str | None] = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            if not {"category", "subcategory"} <= set(reader.fieldnames or ()):
                raise DataError(
                    f"{path}: should have the columns category and subcategory. A line is "
                    "`Siege engines,explosives`, and `Gardening,` where it is harmless."
                )
            for row in reader:
                at = f"{path}:{reader.line_num}"
                name = re.sub(r"(?i)^\s*category\s*:", "", row["category"] or "")
                name = wikitext.plain_category(name)
                if not name:
                    raise DataError(f"{at}: category: is empty. Name it, or remove the line.")
                if row["subcategory"] is None:
                    raise DataError(
                        f"{at}: subcategory: is missing. Write `{name},` if it is harmless."
                    )
                kind = known(row["subcategory"], f"{at}: subcategory")
                if (before := found.setdefault(name, kind)) != kind:
                    raise DataError(
                        f"{at}: {name} is {kind or 'harmless'} here, and {before or 'harmless'} in "
                        "a line above. Remove one of them."
                    )
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: cannot be read as CSV in UTF-8 ({error}).") from error
    if not found:
        raise DataError(f"{path}: names no category. A line is `Siege engines,explosives`.")
    return found


def _elements(path: Path) -> Iterator[Element]:
    """The site's description and the pages; each is forgotten once the next is asked for."""
    try:
        with _opened(path) as stream:
            root: Element | None = None
            # No entities of the file's own, and no document type: an export needs neither.
            for event, element in iterparse(stream, events=("start", "end"), forbid_dtd=True):
                if root is None:
                    root = element
                    if _name(element) != "mediawiki":
                        raise DataError(f"{path}: begins with <{_name(element)}>. {_ADVICE}")
                if event == "end" and _name(element) in ("siteinfo", "page"):
                    yield element
                    root.clear()
    except (ParseError, DefusedXmlException) as error:
        raise DataError(f"{path}: no well-formed export ({error}). {_ADVICE}") from error
    except (OSError, EOFError) as error:
        raise DataError(f"{path}: cannot be read to its end ({error}). {_ADVICE}") from error


def _opened(path: Path) -> IO[bytes]:
    return bz2.open(path) if path.suffix.lower() == ".bz2" else path.open("rb")


def _address(siteinfo: Element) -> str | None:
    """Where pages are, from the address of the main page."""
    base = _text(siteinfo, "base")
    found = re.match(r"[^/]+://[^/]+/(?:.*?[?&]title=|(?:.*/)?)", base)
    return None if found is None else found[0]


def _name(element: Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _child(element: Element, name: str) -> Element | None:
    return next((child for child in element if _name(child) == name), None)


def _latest(page: Element) -> Element | None:
    """The version of a page that holds: an export may have its whole history."""
    of = [child for child in page if _name(child) == "revision"]
    return max(reversed(of), key=lambda one: _text(one, "timestamp"), default=None)


def _text(element: Element, name: str) -> str:
    child = _child(element, name)
    return "" if child is None else (child.text or "").strip()
