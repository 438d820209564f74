"""The guards' own codes, and the nine categories that they lead to."""

from __future__ import annotations

from collections import Counter

import pytest

from tests.conftest import ROOT
from trace.benchmarks.evidence.taxonomy import CATEGORY_NAMES, TAXONOMY
from trace.judging.guards.registry import FAMILIES
from trace.judging.labels import fold
from trace.judging.mapping import (
    CATEGORIES,
    TABLES,
    TAXONOMY_NAME,
    Mapped,
    count_mapped,
    extent,
    mapped,
)
from trace.records import Verdict


def unsafe(*codes: str) -> Verdict:
    return Verdict(status="ok", label="Unsafe", categories=codes)


def test_the_tables_lead_to_the_benchmarks_own_categories() -> None:
    assert TAXONOMY.name == TAXONOMY_NAME
    assert set(CATEGORIES) == set(CATEGORY_NAMES)
    assert {c for table in TABLES.values() for c in table} - {None} <= set(CATEGORIES)


@pytest.mark.parametrize("family", FAMILIES)
def test_every_code_of_every_guard_is_mapped_or_listed_as_unmapped(family: str) -> None:
    listed = Counter(code for codes in TABLES[family].values() for code in codes)
    assert listed == Counter(dict.fromkeys(FAMILIES[family].categories, 1))
    assert len({fold(code) for code in listed}) == len(listed)  # none is read for another


def test_no_table_is_of_a_family_that_there_is_not() -> None:
    assert TABLES.keys() == FAMILIES.keys()


def test_only_two_tables_are_complete() -> None:
    assert {family for family in FAMILIES if extent(family) == "complete"} == {
        "gpt_oss_safeguard", "yufeng_xguard"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("family", "name", "category"),
    [  # the same word leads to the same place, whatever its number is
        ("llama_guard_2", "Hate", "HateSpeech"),
        ("llama_guard_3", "Hate", "HateSpeech"),
        ("polyguard", "Hate", "HateSpeech"),
        ("llama_guard_2", "Indiscriminate Weapons", "CrimesAndIllegalActivities"),
        ("llama_guard_3", "Indiscriminate Weapons", "CrimesAndIllegalActivities"),
        ("llama_guard_2", "Specialized Advice", "InappropriateSuggestions"),
        ("polyguard", "Specialized Advice", "InappropriateSuggestions"),
        ("llama_guard_1", "Self-Harm", "PhysicalAndMentalHealth"),
        ("llama_guard_3_1b", "Suicide & Self-Harm", "PhysicalAndMentalHealth"),
        ("aegis_permissive", "Threat", "HateSpeech"),
        ("nemotron_reasoning", "Threat", "HateSpeech"),
        ("nemo_guard", "Threat", "HateSpeech"),
        ("nemotron_reasoning", "Malware", "Cybersecurity"),
        ("nemotron_reasoning_thinking", "PII/Privacy", "DataPrivacy"),
        ("nemotron_reasoning", "Unauthorized Advice", "InappropriateSuggestions"),
        ("yufeng_xguard", "Commercial Secret", "DataPrivacy"),
        ("yufeng_xguard", "Threats and Intimidation", "HateSpeech"),
        ("yufeng_xguard", "Violent Terrorist Activities", "Extremism"),
    ],
)
def test_a_code_leads_where_its_name_says(family: str, name: str, category: str) -> None:
    (code,) = (code for code, own in FAMILIES[family].categories.items() if own == name)
    assert mapped(family, [code]).categories == (category,)


def test_one_numbering_is_not_anothers() -> None:
    assert mapped("llama_guard_2", ["S9"]).categories == ("HateSpeech",)
    assert mapped("llama_guard_3", ["S9"]).categories == ("CrimesAndIllegalActivities",)
    assert mapped("llama_guard_3_1b", ["S14"]) == Mapped(categories=(), unmapped=("S14",))


def test_the_two_numberings_of_one_vendor_agree() -> None:
    names = FAMILIES["nemotron_reasoning"].categories
    for code, name in names.items():
        assert (
            mapped("nemotron_reasoning", [code]).categories
            == mapped("nemo_guard", [name]).categories
        )


def test_categories_come_once_and_unknown_codes_stay_as_they_were_written() -> None:
    found = mapped("llama_guard_3", ["s1", " S2.", "S12", "S99", "S10", ""])
    assert found.categories == ("CrimesAndIllegalActivities", "HateSpeech")
    assert found.unmapped == ("S12", "S99", "")


def test_a_family_without_codes_maps_nothing() -> None:
    assert mapped("wildguard", ["anything"]) == Mapped(categories=(), unmapped=("anything",))
    with pytest.raises(KeyError):
        mapped("no_guard", [])


def test_verdicts_are_counted_once_for_each_category_and_for_each_unmapped_code() -> None:
    said = [
        unsafe("S1", "S2", "S10"),
        unsafe("S1", "S12", "S12"),
        unsafe(),
        Verdict(status="ok", label="Safe"),
        Verdict(status="ok", label="Safe", categories=("S1", "S12")),  # what it is about
        Verdict(status="unparsable", categories=("S1",)),
        None,
    ]
    found = count_mapped("llama_guard_3", said)
    assert found["mapping"] == "partial"
    assert {c: n for c, n in found["categories"].items() if n} == {
        "CrimesAndIllegalActivities": 2, "HateSpeech": 1
    }  # fmt: skip
    assert found["unmapped"] == {"S12": 1}


def test_the_page_of_the_guards_prints_the_tables() -> None:
    page = " ".join((ROOT / "docs" / "guards.md").read_text("utf-8").split())
    for family, table in TABLES.items():
        led = [(category, codes) for category, codes in table.items() if category is not None]
        if table.get(None):
            led.append(("unmapped", table[None]))
        said = "; ".join(f"{name} {', '.join(f'`{c}`' for c in codes)}" for name, codes in led)
        assert f"`{family}`" in page
        assert f"({extent(family)}): {said or 'no codes'}." in page, family
