"""Claims that are written down, their stamps, and when a comparison may call them registered."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.benchmarks.cross_lab.made_items import LINE, RUBRICS, SECOND, item
from trace.benchmarks.cross_lab.items import ItemSet
from trace.benchmarks.cross_lab.registration import Registration, check
from trace.benchmarks.cross_lab.stamp import Responded, Stamp, as_yaml, read, verify
from trace.errors import DataError

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
LATER = NOW + timedelta(hours=1)
CLAIM: dict[str, Any] = {
    "name": "a declines",
    "category": "values_conflict",
    "condition": "steered",
    "labels": ["declines"],
    "models_a": ["a"],
    "models_b": ["b", "c"],
    "split": "development",
    "direction": "a_more",
    "test": "fisher",
}
ITEMS = ItemSet(
    items=(item(), item(**SECOND), item(id="vc-3", split="held_out")),
    fingerprint={"items.jsonl": "1" * 64},
)


def written(folder: Path, **changed: Any) -> Path:
    path = folder / "claim.yaml"
    path.write_text(yaml.safe_dump(CLAIM | changed), "utf-8")
    return path


@pytest.fixture
def claim(tmp_path: Path) -> Registration:
    return read(written(tmp_path))[0]


@pytest.fixture
def stamp(claim: Registration) -> Stamp:
    return Stamp.of(claim, time=NOW, rubrics=RUBRICS, items=ITEMS, code={"commit": "c" * 40})


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"labels": []}, "labels: should be a list of names that is not empty"),
        ({"labels": ["declines", "declines"]}, "labels: a name stands twice"),
        ({"models_a": "a"}, "models_a: 'a' should be a list"),
        ({"models_a": ["b", "a"]}, "b is in models_a and in models_b"),
        ({"condition": "neutral"}, "condition: 'neutral' should be base or steered"),
        ({"split": "test"}, "split: 'test' should be development or held_out or all"),
        ({"direction": "more"}, "direction: 'more' should be"),
        ({"test": "t"}, "test: 't' should be fisher"),
        ({"name": None}, "name: None should be a text"),
        ({"lables": ["x"]}, "lables: no such field. Did you mean labels"),
        ({"stamp": {"time": "now"}}, "stamp: has no rubrics"),
    ],
)
def test_a_claim_that_is_not_whole_is_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        read(written(tmp_path, **changed))


def test_a_file_that_is_no_claim_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        read(tmp_path / "nowhere.yaml")
    path = tmp_path / "list.yaml"
    path.write_text("- a\n", "utf-8")
    with pytest.raises(DataError, match="has no name"):
        read(path)
    path.write_text("a: [", "utf-8")
    with pytest.raises(DataError, match="is no YAML"):
        read(path)


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"category": "value_conflict"}, "has no rubric. Did you mean values_conflict"),
        ({"labels": ["declined"]}, "'declined' is no label of values_conflict. Did you mean decl"),
        ({"labels": ["does", "declines"]}, "are all there are"),
    ],
)
def test_a_claim_about_nothing_is_refused(
    tmp_path: Path, changed: dict[str, Any], message: str
) -> None:
    with pytest.raises(DataError, match=message):
        check(read(written(tmp_path, **changed))[0], RUBRICS, ITEMS, "claim.yaml")


def test_a_claim_is_about_the_items_of_its_split(tmp_path: Path, claim: Registration) -> None:
    check(claim, RUBRICS, ITEMS, "claim.yaml")
    assert [one.id for one in claim.items(ITEMS)] == [LINE["id"], SECOND["id"]]
    assert len(read(written(tmp_path, split="all"))[0].items(ITEMS)) == 3
    held_out = read(written(tmp_path, split="held_out"))[0]
    with pytest.raises(DataError, match="no item of values_conflict is in held_out"):
        check(held_out, RUBRICS, ItemSet(items=ITEMS.items[:2], fingerprint={}), "claim.yaml")


def test_a_stamped_file_is_read_back(tmp_path: Path, claim: Registration, stamp: Stamp) -> None:
    path = tmp_path / "stamped.yaml"
    path.write_text(as_yaml(claim, stamp), "utf-8")
    assert read(path) == (claim, stamp)
    assert stamp.number == 2
    assert stamp.fits(claim)


GIVEN = {name: Responded(first=LATER, items=2) for name in "abc"}


def doubts(claim: Registration, stamp: Stamp | None, **changed: Any) -> tuple[str, ...]:
    given: dict[str, Any] = {
        "rubrics": RUBRICS.hash,
        "files": ["1" * 64, "2" * 64],
        "responded": GIVEN,
    }
    return verify(claim, stamp, **(given | changed))


def test_nothing_speaks_against_a_claim_that_was_there_first(
    claim: Registration, stamp: Stamp
) -> None:
    assert doubts(claim, stamp) == ()
    assert claim.announced().status == "registered"


@pytest.mark.parametrize(
    ("changed", "says"),
    [
        ({"rubrics": "0" * 64}, "the rubrics are not those"),
        ({"files": ["2" * 64]}, "the items are not those"),
        ({"responded": None}, "no times"),
        ({"responded": GIVEN | {"b": Responded(items=2)}}, "nobody knows when b responded"),
        ({"responded": {name: GIVEN[name] for name in "ab"}}, "nobody knows when c responded"),
        (
            {"responded": GIVEN | {"a": Responded(first=NOW - timedelta(seconds=1), items=2)}},
            "a responded at 2026-05-01T11:59:59+00:00, before 2026-05-01T12:00:00+00:00",
        ),
        ({"responded": GIVEN | {"a": Responded(first=LATER, items=1)}}, "a was asked 1 of the 2"),
    ],
)
def test_every_reason_makes_it_post_hoc(
    claim: Registration, stamp: Stamp, changed: dict[str, Any], says: str
) -> None:
    found = doubts(claim, stamp, **changed)
    assert found
    assert says in claim.announced(found).status
    assert claim.announced(found).status.startswith("post hoc: ")


@pytest.mark.parametrize("field", ["labels", "direction", "models_b"])
def test_a_claim_that_was_changed_afterwards_is_found_out(
    tmp_path: Path, stamp: Stamp, field: str
) -> None:
    others = {"labels": ["does"], "direction": "different", "models_b": ["b"]}
    changed = read(written(tmp_path, **{field: others[field]}))[0]
    assert doubts(changed, stamp) == ("the file was changed after it was stamped",)


def test_an_earlier_time_in_the_stamp_is_found_out(
    tmp_path: Path, claim: Registration, stamp: Stamp
) -> None:
    path = tmp_path / "stamped.yaml"
    path.write_text(as_yaml(claim, stamp).replace("T12:00", "T09:00"), "utf-8")
    _, earlier = read(path)
    assert doubts(claim, earlier) == ("the file was changed after it was stamped",)
    path.write_text(as_yaml(claim, stamp).replace("2026-05-01T12:00:00+00:00", "May"), "utf-8")
    with pytest.raises(DataError, match="time: 'May' is none"):
        read(path)


def test_a_file_without_stamp_is_post_hoc(claim: Registration) -> None:
    assert doubts(claim, None) == ("it was never stamped (task.action=register)",)
