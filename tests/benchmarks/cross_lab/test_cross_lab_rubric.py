"""Rubrics: the bundled ones, one's own, and what is refused."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import rubric, rubric_tree, write_rubrics
from trace.benchmarks.cross_lab.rubric import (
    CATEGORIES,
    CORE,
    Rubric,
    read_rubrics,
    rubric_of,
)
from trace.errors import DataError
from trace.judging.labels import fold
from trace.records import Json

BUNDLED = read_rubrics(None)


def refused(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read_rubrics(path)
    message = str(caught.value)
    assert "\n" not in message
    return message


def test_the_bundled_rubrics_make_thirty_label_conditions() -> None:
    assert tuple(BUNDLED.of) == CATEGORIES
    assert sum(2 * len(BUNDLED.of[category].labels) for category in CORE) == 30
    assert {len(BUNDLED.of[category].labels) for category in CORE} == {5}
    assert BUNDLED.status == "provisional"


def test_the_studys_labels_are_among_them() -> None:
    assert {"declines_reasoning", "values_content"} <= set(BUNDLED.labels["reasoning_surfacing"])
    assert {"challenges_and_complies", "rejects_and_withholds", "full_compliance"} <= set(
        BUNDLED.labels["reasoning_suppression"]
    )
    assert {"refuses_with_alternative", "clarification_derail", "full_compliance"} <= set(
        BUNDLED.labels["values_conflict"]
    )


def test_nothing_says_whose_answers_a_provisional_label_came_from() -> None:
    labels = [label for rubric in BUNDLED.of.values() for label in rubric.labels]
    assert {label.derived_from for label in labels} == {()}


@pytest.mark.parametrize("category", CATEGORIES)
def test_a_boundary_names_only_labels_that_there_are(category: str) -> None:
    """Where two labels meet, each file says which wins: the other has to exist."""
    labels = BUNDLED.of[category].labels
    known = {label.name for rubric in BUNDLED.of.values() for label in rubric.labels}
    for label in labels:
        named = {word.strip(".,;") for word in label.boundary.split()} & known
        assert named <= {other.name for other in labels}, label.name


def test_what_is_read_is_what_is_written(tmp_path: Path) -> None:
    path = write_rubrics(tmp_path / "r.yaml", BUNDLED.to_json())
    read = read_rubrics(path)
    assert (read.of, read.hash, read.status) == (BUNDLED.of, BUNDLED.hash, BUNDLED.status)


def test_two_labels_make_a_rubric(tmp_path: Path) -> None:
    read = read_rubrics(write_rubrics(tmp_path / "r.yaml", rubric_tree("yes it does", "no")))
    assert read.labels == {"values_conflict": ("yes it does", "no")}


def test_whom_a_label_came_from_is_part_of_the_hash(tmp_path: Path) -> None:
    bare = read_rubrics(write_rubrics(tmp_path / "a.yaml", rubric_tree("x", "y")))
    told = read_rubrics(
        write_rubrics(tmp_path / "b.yaml", rubric_tree("x", "y", derived_from=["gpt_5"]))
    )
    assert bare.hash != told.hash


@pytest.mark.parametrize(
    ("tree", "said"),
    [
        (rubric_tree("full_compliance", "Full-Compliance"), "reads like another"),
        (rubric_tree("x", "--"), "label that is empty"),
        (rubric_tree("x"), "there are 1"),
        (rubric_tree("x", "y", cues="all"), "cues: 'all' should be a list"),
        (rubric_tree("x", "y", cues=[3]), "cues: should be a list of texts"),
        (rubric_tree("x", "y", cue=["no"]), "cue: is no field here"),
        (rubric_tree("x", "y", definition=" "), "label 1: definition: is empty"),
        (rubric_tree("x", "y", name=True), "name: True should be a text"),
        (rubric_tree("x", "y") | {"status": "done"}, "status: 'done' should be"),
        (rubric_tree("x", "y") | {"version": True}, "version: True should be a whole number"),
        (rubric_tree("x", "y") | {"categories": {}}, "categories: is empty"),
        (rubric_tree("x", "y") | {"categories": {"a": ["x"]}}, "has no labels"),
        (["x"], "has no categories"),
    ],
)
def test_a_wrong_rubric_is_refused(tmp_path: Path, tree: Json, said: str) -> None:
    assert said in refused(write_rubrics(tmp_path / "r.yaml", tree))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"version https://git-lfs.github.com/spec/v1\noid sha256:00\n", "git lfs pull"),
        (b"a: [1", "is no YAML"),
        (b"a: 2026-13-45\n", "is no YAML"),
        (b"\xff\xfe\x00", "is no YAML"),
        (b"a: 1\nb: 2\na: 3\n", "a stands twice"),
        (b"", "has no categories"),
    ],
)
def test_what_is_no_file_of_rubrics_is_refused(tmp_path: Path, content: bytes, said: str) -> None:
    path = tmp_path / "r.yaml"
    path.write_bytes(content)
    assert said in refused(path)


def test_a_category_that_stands_twice_is_not_lost(tmp_path: Path) -> None:
    text = write_rubrics(tmp_path / "r.yaml", rubric_tree("x", "y")).read_text("utf-8")
    more = text + text[text.index("  values_conflict:") :]
    (tmp_path / "r.yaml").write_text(more, "utf-8")
    assert "values_conflict stands twice" in refused(tmp_path / "r.yaml")


def test_a_file_that_is_not_there_is_named(tmp_path: Path) -> None:
    assert "nowhere.yaml cannot be read" in refused(tmp_path / "nowhere.yaml")


def test_an_unknown_category_names_the_nearest() -> None:
    with pytest.raises(DataError, match=r"values_conflict.*benchmark\.rubrics=FILE"):
        rubric_of(BUNDLED, "value_conflict", "item x")


@pytest.mark.parametrize("category", CATEGORIES)
def test_no_two_labels_read_alike_to_a_parser(category: str) -> None:
    names = BUNDLED.of[category].names
    assert len({fold(name) for name in names}) == len(names)


def test_the_rule_judge_takes_the_first_label_that_is_cued() -> None:
    asked = BUNDLED.of["values_conflict"]
    assert asked.cued("Here is the letter.") == "full_compliance"
    assert asked.cued("I can’t help with that.") == "refuses_outright"
    assert asked.cued("Before I write it: who is it for?") == "clarification_derail"
    assert asked.cued("") == "full_compliance"


def test_cues_are_seen_in_any_case() -> None:
    bare = rubric("does", "asks")
    cued = Rubric(
        category=bare.category,
        question=bare.question,
        labels=(bare.labels[0], type(bare.labels[1])(
            name="asks", definition="d", boundary="b", example="e", cues=("WHO is",))),
    )  # fmt: skip
    assert cued.cued("But who IS it?") == "asks"
