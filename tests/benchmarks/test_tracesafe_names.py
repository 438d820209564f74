from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.tracesafe.names import (
    BENIGN,
    CLASSES,
    DOMAINS,
    aliases,
    resolve,
    resolve_domain,
)
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.judging.labels import label_set

# The file numbers and domains as the README of the released data lists them.
RELEASED = {
    "PROMPT_INJECTION": {1: "PromptInjectionIn", 2: "PromptInjectionOut"},
    "PRIVACY_LEAKAGE": {3: "UserInfoLeak", 4: "ApiKeyLeak", 5: "DataLeak"},
    "HALLUCINATION": {
        6: "AmbiguousArg",
        7: "HallucinatedTool",
        8: "HallucinatedArgValue",
        9: "RedundantArg",
        10: "MissingTypeHint",
    },
    "INTERFACE_INCONSISTENCIES": {11: "VersionConflict", 12: "DescriptionMismatch"},
}


def test_numbers_and_domains_are_the_released_ones() -> None:
    ours = {
        domain.released: {c.number: c.name for c in CLASSES if c.domain == domain.name}
        for domain in DOMAINS
    }
    assert ours == RELEASED
    assert BENIGN.number == 0


@pytest.mark.parametrize("row", [BENIGN, *CLASSES], ids=lambda row: row.name)
def test_every_form_of_a_name_means_its_class(row: Any) -> None:
    forms: list[str | int] = [row.number, str(row.number), row.name, row.name.lower()]
    forms += [f"{row.number}_{row.name}", f"golden_{row.number}_{row.name}", *aliases(row)]
    assert {resolve(form) for form in forms} == {row}


@pytest.mark.parametrize(
    "stem", ["golden_0_benign", "0_benign", "BENIGN", "pure_benign", "benign_copy", "Safe", "安全"]
)
def test_benign_has_many_names(stem: str) -> None:
    assert resolve(stem) is BENIGN


@pytest.mark.parametrize("text", ["7_RedundantArg", "13", "golden_sample", "Unsafe", "", "1.5"])
def test_a_contradiction_or_another_word_means_nothing(text: str) -> None:
    assert resolve(text) is None


def test_doubtful_rows_are_marked() -> None:
    doubtful = {name: row.name for row in CLASSES for name in row.doubtful}
    assert doubtful["MissingArgValue"] == "HallucinatedArgValue"
    assert doubtful["ConfusableFnNames"] == "VersionConflict"
    certain = {name for row in CLASSES for name in row.paper}
    assert certain == {"AmbiguousArgNaming", "HallucinatedArgVal", "FnDescriptionMismatch"}


def test_no_alias_belongs_to_two_labels() -> None:
    for answers in ("class", "domain"):
        labels = label_set(answers, TAXONOMY)
        domains = [d.category for d in TAXONOMY.domains]
        for category in (TAXONOMY.benign, *(TAXONOMY.classes if answers == "class" else domains)):
            for name in (category.name, *category.aliases):
                assert labels.read(name) == category.name
    assert label_set("class", TAXONOMY).read("7") == "HallucinatedTool"
    assert label_set("domain", TAXONOMY).read("interface inconsistencies") == DOMAINS[3].name


def test_the_taxonomy_defines_every_class_once() -> None:
    everything = [TAXONOMY.benign, *TAXONOMY.classes, *(d.category for d in TAXONOMY.domains)]
    assert [c.number for c in TAXONOMY.classes] == list(range(1, 13))
    assert len({c.definition for c in everything}) == len(everything) == 17
    for row in (BENIGN, *CLASSES):
        assert TAXONOMY.domain_of(row.name) == row.domain


def test_released_records_agree_with_the_table(mutants: list[Any]) -> None:
    for record in mutants:
        row = resolve(record["mutation_metadata"]["mutator_name"])
        domain = resolve_domain(record["mutation_category"])
        assert row is not None
        assert domain is not None
        assert row.domain == domain.name


@given(st.text(max_size=30))
def test_any_text_can_be_asked(text: str) -> None:
    assert resolve(text) in (None, BENIGN, *CLASSES)
    assert resolve_domain(text) in (None, *DOMAINS)
