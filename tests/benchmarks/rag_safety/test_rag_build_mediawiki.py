from __future__ import annotations

import bz2
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rag_safety.made_articles import export, page
from trace import config
from trace.benchmarks.rag_safety.builder import mediawiki, wikitext
from trace.benchmarks.rag_safety.builder.articles import Articles, read
from trace.errors import DataError

LAMPS = """\
{{Infobox lamp|pin={{small|iron}}|image=[[File:Inner.jpg]]}}
'''Lantern lifting''' is a ''theft'' of the [[Orrin Isles|isles]].<ref name="a">A [[book]].</ref>\
<ref name="b" /> It costs {{currency|3}}the town&nbsp;much &amp; more.<!-- dull -->
[[File:Lamp.jpg|thumb|A lamp [[at night]] with {{a|b}}]]
{| class="wikitable"
! Year !! Lamps
|-
| 12 || 40
|}

== How it is done ==
The pin gives way to a [https://isles.example/h quillen hook].
* by night
* in fog
=== Fog {{anchor|fog}} ===
The bell <small>rings</small>. <math>x^2</math>
== See also ==
* [[Boats]]
=== Near here ===
* [[Nets]]
== References ==
{{reflist}}
[[Category:Quay thefts|Lantern]] [[category:lamps_of Orrin]]
"""
TABLE = "category,subcategory\nQuay thefts,property_crimes\nBread,\nCoin tricks,fraud_scam\n"


def given(folder: Path, xml: str | bytes, *, table: str = TABLE, name: str = "w.xml") -> Any:
    path, csv = folder / name, folder / "table.csv"
    path.write_bytes(xml if isinstance(xml, bytes) else xml.encode())
    csv.write_text(table, "utf-8")
    return config.RagBuilder(articles=str(path), categories=str(csv), licence="CC BY-SA 4.0")


PAGES = [
    page("Lantern lifting", LAMPS, revision=31),
    page("Lamp theft", "#REDIRECT [[Lantern lifting]]", redirect=True),
    page("Talk:Lantern lifting", "Is it so? [[Category:Quay thefts]]", ns=1),
    page("Pell bread & soup".replace("&", "&amp;"), "Baked twice. [[Category:Bread]]"),
    page("Weather", "It rains. [[Category:Sky]]"),
    page("False bread", "Tricks. [[Category:Bread]] [[Category:Coin tricks]]"),
    page("Both", "Tricks. [[Category:Coin tricks]] [[Category:Quay thefts]]"),
    page("Empty", ""),
    page("Only a table", "{| \n| a\n|}\n[[Category:Bread]]"),
]


@pytest.fixture
def wiki(tmp_path: Path) -> Articles:
    return read(given(tmp_path, export(PAGES)))


def test_pages_become_articles_and_others_are_counted(wiki: Articles) -> None:
    assert [(one.title, one.subcategory) for one in wiki.articles] == [
        ("Lantern lifting", "property_crimes"),
        ("Pell bread & soup", None),
        ("False bread", "fraud_scam"),  # harmless only if all its categories are
        ("Both", "property_crimes"),  # what the table names first
    ]
    assert wiki.passed_over == {
        "without text": 2, "a redirect": 1, "in another namespace": 1,
        "in no category of the table": 1,
    }  # fmt: skip
    assert set(wiki.fingerprint) == {"w.xml", "table.csv"}


def test_an_article_says_where_it_is_from(wiki: Articles) -> None:
    lamps, bread = wiki.articles[:2]
    assert lamps.source() == {
        "title": "Lantern lifting",
        "url": "https://isles.example/wiki/Lantern_lifting",
        "revision": "31",
        "change_note": wikitext.CHANGED,
        "licence": "CC BY-SA 4.0",
    }
    assert bread.url == "https://isles.example/wiki/Pell_bread_%26_soup"


def test_markup_is_gone_and_what_it_shows_stays(wiki: Articles) -> None:
    assert [(s.id, s.heading, s.text) for s in wiki.articles[0].sections] == [
        ("s0", "", "Lantern lifting is a theft of the isles. It costs the town much & more."),
        ("s1", "How it is done", "The pin gives way to a quillen hook.\nby night\nin fog"),
        ("s2", "Fog", "The bell rings."),
    ]


def test_a_packed_export_is_the_same(tmp_path: Path, wiki: Articles) -> None:
    packed = bz2.compress(export(PAGES).encode())
    assert read(given(tmp_path, packed, name="w.xml.bz2")).articles == wiki.articles
    with pytest.raises(DataError, match="cannot be read to its end"):
        read(given(tmp_path, packed[:-30], name="w.xml.bz2"))


def test_pages_are_forgotten_while_an_export_is_read(tmp_path: Path) -> None:
    many = [page(f"Page {n}", f"{'word ' * 2000} [[Category:Sky]]") for n in range(300)]
    settings = given(tmp_path, export([*many, PAGES[0]]))
    source = mediawiki.Export(
        path=Path(settings.articles), licence="x", categories={"Quay thefts": "drugs"}
    )
    held = [len(list(element.iter())) for element in mediawiki._elements(source.path)]
    assert max(held) < 10
    import tracemalloc

    tracemalloc.start()
    list(source.articles(Counter()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 1_000_000  # the file has 3 MB


BOMB = '<!DOCTYPE m [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'


@pytest.mark.parametrize(
    ("xml", "message"),
    [
        (export(PAGES, head=BOMB), "no well-formed export"),
        (export(PAGES)[:-40], "no well-formed export"),
        ("<feed></feed>", "begins with <feed>"),
        ("no XML", "no well-formed export"),
        (export(PAGES).replace("<base>", "<bases>").replace("</base>", "</bases>"), "<base>"),
        ("<mediawiki></mediawiki>", "<base>"),
        (export([PAGES[4]]), "no article that can be taken .1 in no category"),
    ],
)
def test_what_is_no_export_is_refused(tmp_path: Path, xml: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(given(tmp_path, xml))


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ("name,kind\nBread,\n", "should have the columns"),
        ("category,subcategory\n", "names no category"),
        ("category,subcategory\nBread\n", "table.csv:2: subcategory: is missing"),
        ("category,subcategory\n,drugs\n", "table.csv:2: category: is empty"),
        ("category,subcategory\nBread,drug\n", "table.csv:2: subcategory.*no subcategory.*drugs"),
        ("category,subcategory\nBread,privacy\n", "table.csv:2.*privacy, which"),
    ],
)
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(given(tmp_path, export(PAGES), table=table))


def test_licence_and_table_are_needed(tmp_path: Path) -> None:
    settings = given(tmp_path, export(PAGES))
    for name in ("licence", "categories"):
        more = {"licence": settings.licence, "categories": settings.categories, name: None}
        with pytest.raises(DataError, match=f"benchmark.builder.{name}: is missing"):
            read(config.RagBuilder(articles=settings.articles, **more))
