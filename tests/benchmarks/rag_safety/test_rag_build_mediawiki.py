from __future__ import annotations

import bz2
import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from mwparserfromhell.wikicode import Wikicode

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


def test_of_a_whole_history_the_latest_version_is_taken(tmp_path: Path) -> None:
    versions = "".join(
        f"<revision><id>{number}</id>{at}<text>In {number}.[[Category:Bread]]</text></revision>"
        for number, at in ((3, "<timestamp>2003-01-01T00:00:00Z</timestamp>"),
                           (9, "<timestamp>2009-01-01T00:00:00Z</timestamp>"),
                           (5, "<timestamp>2005-01-01T00:00:00Z</timestamp>"))
    )  # fmt: skip
    history = f"<page><title>Bread</title><ns>0</ns>{versions}</page>"
    (article,) = read(given(tmp_path, export([history]))).articles
    assert (article.revision, article.sections[0].text) == ("9", "In 9.")
    bare = re.sub("<timestamp>.*?</timestamp>", "", history)  # then it is the last
    (article,) = read(given(tmp_path, export([bare]))).articles
    assert article.revision == "5"


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("https://isles.example/Main_Page", "https://isles.example/False_bread"),
        ("https://isles.example/w/index.php/Main_Page",
         "https://isles.example/w/index.php/False_bread"),
        ("https://isles.example/w/index.php?title=Main_Page",
         "https://isles.example/w/index.php?title=False_bread"),
        ("https://isles.example/index.php?title=Isles:Main/Page",
         "https://isles.example/index.php?title=False_bread"),
    ],
)  # fmt: skip
def test_the_address_of_a_page_is_like_that_of_the_main_page(
    tmp_path: Path, base: str, url: str
) -> None:
    xml = export([PAGES[5]]).replace("https://isles.example/wiki/Main_Page", base)
    (article,) = read(given(tmp_path, xml)).articles
    assert article.url == url


def test_a_page_of_many_references_is_read_in_one_pass(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(Wikicode, "remove")  # it looks through the whole page each time
    (one,) = wikitext.sections(
        "He ''{{b|<i>c</i>}}came''.<ref>{{a|b}}</ref> [http://x.y {{c}}It]. " * 50
    )
    assert one.text == " ".join(["He came. It."] * 50)


@pytest.mark.parametrize("open_", ["{{cite|a", "{| class=a\n| b", "<ref>A book."])
def test_a_page_with_markup_that_never_ends_is_counted(tmp_path: Path, open_: str) -> None:
    markup = f"Of bread. {open_} Much of it. [[Category:Bread]]"
    found = read(given(tmp_path, export([PAGES[0], page("Open", markup)])))
    assert [one.title for one in found.articles] == ["Lantern lifting"]
    assert found.passed_over == {"with markup that cannot be read": 1}


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
        ("category,subcategory\nBread,\nbread,drugs\n",
         "table.csv:3: Bread is drugs here, and harmless in a line above"),
        ("category,subcategory\nBread,privacy\n", "table.csv:2.*privacy, which"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_read_is_refused(tmp_path: Path, table: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read(given(tmp_path, export(PAGES), table=table))


def test_licence_and_table_are_needed(tmp_path: Path) -> None:
    settings = given(tmp_path, export(PAGES))
    for name in ("licence", "categories"):
        more = {"licence": settings.licence, "categories": settings.categories, name: None}
        with pytest.raises(DataError, match=f"benchmark.builder.{name}: is missing"):
            read(config.RagBuilder(articles=settings.articles, **more))
    with pytest.raises(DataError, match=r"benchmark\.builder\.licence: is missing"):
        read(replace(settings, licence=" "))


@pytest.mark.parametrize(
    ("gone", "message"),
    [("<id>31</id>", "'Lantern lifting' has no revision id"),
     ("<title>Lantern lifting</title>", "'' has no title")],
)  # fmt: skip
def test_a_page_that_does_not_say_where_it_is_from_ends_the_build(
    tmp_path: Path, gone: str, message: str
) -> None:
    assert gone in export(PAGES)
    with pytest.raises(DataError, match=message):
        read(given(tmp_path, export(PAGES).replace(gone, "")))
