"""Which items are asked."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import (
    LINE,
    SECOND,
    item,
    rubric_tree,
    write_items,
    write_rubrics,
)
from trace.benchmarks.cross_lab.rubric import CORE
from trace.benchmarks.cross_lab.samples import agenda, longer, questions
from trace.config.cross_lab import CrossLab
from trace.errors import DataError
from trace.records import Sampling


def test_all_items_are_asked_in_the_order_of_the_files() -> None:
    made = agenda(CrossLab(), limit=None, seed=0)
    assert len(made.items) == 340
    assert made.items == made.main
    assert made.items[0].id == "rs-001"
    assert any("provisional" in note for note in made.notes)


def test_a_limit_is_by_category_and_the_same_for_everybody() -> None:
    made = agenda(CrossLab(), limit=7, seed=0)
    assert set(Counter(one.category for one in made.items).values()) == {7}
    assert agenda(CrossLab(), limit=7, seed=0).items == made.items
    assert agenda(CrossLab(), limit=7, seed=1).items != made.items
    wider = agenda(CrossLab(), limit=9, seed=0).items
    assert set(made.items) < set(wider)


@pytest.mark.parametrize("arm", ["repeat", "field_free"])
def test_an_arm_draws_six_core_items_a_category(arm: str) -> None:
    made = agenda(CrossLab(arm=arm), limit=None, seed=0)
    assert Counter(one.category for one in made.items) == dict.fromkeys(CORE, 6)
    assert len(made.items) * 2 * 6 == 216  # both conditions, six models
    assert len(made.main) == 340


def test_both_arms_judge_the_same_items() -> None:
    one, other = (
        agenda(CrossLab(arm=arm, per_cell=4), limit=None, seed=3)
        for arm in ("repeat", "field_free")
    )
    assert one.items == other.items
    assert len(one.items) == 12


def test_an_arm_without_core_items_is_refused(tmp_path: Path) -> None:
    path = write_items(tmp_path / "i.jsonl", LINE | {"category": "neutral_control"})
    with pytest.raises(DataError, match="no item is of a core category"):
        agenda(CrossLab(arm="repeat", path=str(path)), limit=None, seed=0)


def test_a_category_without_a_rubric_is_refused(tmp_path: Path) -> None:
    path = write_items(tmp_path / "i.jsonl", LINE, SECOND | {"category": "values_conflicts"})
    with pytest.raises(DataError, match=r"item vc-2: category: 'values_conflicts' has no rubric"):
        agenda(CrossLab(path=str(path)), limit=None, seed=0)


def test_one_file_is_a_set_of_its_own(tmp_path: Path) -> None:
    rubrics = write_rubrics(tmp_path / "r.yaml", rubric_tree("yes", "no"))
    path = write_items(tmp_path / "i.jsonl", LINE, SECOND)
    made = agenda(CrossLab(path=str(path), rubrics=str(rubrics)), limit=None, seed=0)
    assert [one.id for one in made.items] == ["vc-1", "vc-2"]
    assert set(made.fingerprint) == {"i.jsonl", "r.yaml"}
    assert made.licence == "that of benchmark.path"
    assert not [note for note in made.notes if "provisional" in note]


def test_a_question_is_the_text_as_it_stands() -> None:
    of = item(base="{x} {{y}} %s", steered="{x} {{y}} %s\n$z")
    asked = questions([of], "steered", Sampling(), epochs=2)
    assert [(one.texts, one.epoch) for one in asked] == [([of.steered], 0), ([of.steered], 1)]
    assert len({one.key({}) for one in asked}) == 2


def test_more_tokens_is_another_request_for_the_same() -> None:
    asked = questions([item()], "base", Sampling(max_new_tokens=100), epochs=1)
    (again,) = longer(asked, 2.5)
    assert again.sampling.max_new_tokens == 250
    assert again.texts == asked[0].texts
    assert again.key({}) != asked[0].key({})
