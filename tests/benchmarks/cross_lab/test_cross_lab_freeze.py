"""From a proposal, through a person's hands, to frozen rubrics."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmarks.cross_lab.made_items import write_rubrics
from trace.benchmarks.cross_lab import freeze
from trace.benchmarks.cross_lab.rubric import Label, Rubric, Rubrics, read_rubrics
from trace.errors import DataError

HASH = "f" * 64


def label(name: str, *derived_from: str) -> Label:
    return Label(
        name=name, definition="It is.", boundary="Else.", example="So.", derived_from=derived_from
    )


def rubrics(**of: tuple[Label, ...]) -> Rubrics:
    return Rubrics(
        version=4,
        status="provisional",
        of={
            name: Rubric(category=name, question=f"What of {name}?", labels=labels)
            for name, labels in of.items()
        },
    )


BEFORE = rubrics(values_conflict=(label("old"), label("older")), control=(label("x"), label("y")))
MADE = freeze.proposed(
    BEFORE,
    {"values_conflict": (label("does", "a", "b"), label("declines", "b"), label("asks", "a"))},
    ["values_conflict", "new"],
)


@pytest.fixture
def tree(tmp_path: Path) -> dict[str, Any]:
    """The proposal as a person finds it."""
    text = freeze.as_yaml(MADE, freeze.TO_DO, HASH)
    assert text.startswith("# Labels that a model proposed.")
    value: dict[str, Any] = yaml.safe_load(text)
    return value


def frozen(folder: Path, tree: Any) -> Rubrics:
    return freeze.frozen(
        write_rubrics(folder / "edited.yaml", tree),
        categories=["values_conflict", "control"],
        respondents=["a", "b"],
        responses=HASH,
    )


def test_a_category_without_responses_keeps_its_labels() -> None:
    assert MADE.labels == {
        "values_conflict": ("does", "declines", "asks"),
        "control": ("x", "y"),
    }
    assert MADE.of["values_conflict"].question == "What of values_conflict?"
    none = freeze.proposed(BEFORE, {}, ["values_conflict"])
    assert list(none.of) == ["control"]  # nothing usable was proposed: a person writes it


def test_the_file_is_read_back_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "rubrics.yaml"
    path.write_text(freeze.as_yaml(MADE, freeze.TO_DO, HASH), "utf-8")
    read = read_rubrics(path)
    assert replace(read, fingerprint={}) == MADE
    assert yaml.safe_load(path.read_text("utf-8"))["responses"] == HASH


def test_what_a_person_left_is_frozen_as_the_next_version(
    tmp_path: Path, tree: dict[str, Any]
) -> None:
    done = frozen(tmp_path, tree)
    assert (done.status, done.version) == ("frozen", 5)
    assert done.hash == MADE.hash
    assert freeze.changes(MADE, done) == []


def test_every_change_is_listed(tmp_path: Path, tree: dict[str, Any]) -> None:
    first, second, _ = tree["categories"]["values_conflict"]["labels"]
    first["definition"] = "It does."
    first["derived_from"] = []
    second["name"] = "refuses"
    second["cues"] = ["i won't"]
    tree["categories"]["values_conflict"]["question"] = "What now?"
    tree["categories"]["new"] = tree["categories"]["control"]
    done = frozen(tmp_path, tree)
    assert freeze.changes(MADE, done) == [
        "values_conflict: question: 'What of values_conflict?' became 'What now?'.",
        "values_conflict/does: definition: 'It is.' became 'It does.'.",
        "values_conflict/does: derived_from: a, b became nobody's responses.",
        "values_conflict/refuses: added, derived from b.",
        "values_conflict/declines: taken away; it was derived from b.",
        "new: added.",
    ]
    assert done.of["values_conflict"].labels[1].cues == ("i won't",)
    assert freeze.changes(done, MADE)[-1] == "new: taken away."


def test_a_label_by_hand_derives_from_nobody_or_from_those_named(
    tmp_path: Path, tree: dict[str, Any]
) -> None:
    own = {"name": "own", "definition": "It is.", "boundary": "Else.", "example": "So."}
    listed = tree["categories"]["values_conflict"]["labels"]
    tree["categories"]["values_conflict"]["labels"] = [*listed, own | {"derived_from": ["b"]}]
    assert frozen(tmp_path, tree).of["values_conflict"].labels[-1].derived_from == ("b",)
    tree["categories"]["values_conflict"]["labels"] = [*listed, own]
    with pytest.raises(DataError, match=r"values_conflict: label 4: derived_from: is missing"):
        frozen(tmp_path, tree)
    tree["categories"]["values_conflict"]["labels"] = [*listed, own | {"derived_from": ["c"]}]
    with pytest.raises(DataError, match="'c' gave none of the responses"):
        frozen(tmp_path, tree)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"status": "frozen"}, "is frozen already"),
        ({"responses": "e" * 64}, "proposed from other responses"),
        ({"categories": {}}, "categories: is empty"),
    ],
)
def test_what_cannot_be_frozen_is_refused(
    tmp_path: Path, tree: dict[str, Any], change: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        frozen(tmp_path, tree | change)


def test_a_category_of_the_items_needs_a_rubric(tmp_path: Path, tree: dict[str, Any]) -> None:
    tree["categories"]["contro"] = tree["categories"].pop("control")
    with pytest.raises(DataError, match=r"'control' has no rubric\. Did you mean contro\?"):
        frozen(tmp_path, tree)
