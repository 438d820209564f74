"""Where one judge stands among the others, class by class."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.report.compare.conftest import HOW, judge
from trace.report import canvas
from trace.report.compare import check_rank
from trace.report.compare.judged import How, Judge

CLASSES = ("Benign", "DataLeak", "RedundantArg")
N = 20


def exactly(name: str, right: dict[str, int | None], **settings: Any) -> Judge:
    """A judge with so many right answers of N; None gives no label to any sample of the class."""
    left = dict(right)

    def answer(class_: str, *_: Any) -> bool | None:
        count = left[class_]
        if count is None:
            return None
        left[class_] = count - 1
        return count > 0

    classes = [class_ for class_ in CLASSES if class_ in right]
    return judge(answer, model=name, classes=classes, per_class=N, **settings)


def _all(n: int | None) -> dict[str, int | None]:
    return dict.fromkeys(CLASSES, n)


def test_the_published_finding_last_or_second_to_last() -> None:
    """Table 7: the Check judge among 15 is last or second to last on every class."""
    others = [exactly(f"judge {i}", _all(5 + i)) for i in range(13)]
    weak = exactly("weak", {"Benign": 0, "DataLeak": 1, "RedundantArg": 4})
    own = exactly("gpt-oss-120b", {"Benign": 1, "DataLeak": 0, "RedundantArg": 3})
    found = check_rank.ranks([*others, weak, own], "gpt-oss-120b", HOW)["fine"]
    assert {name: (row["rank"], row["judges"]) for name, row in found["classes"].items()} == {
        "Benign": (14.0, 15),
        "DataLeak": (15.0, 15),
        "RedundantArg": (15.0, 15),
    }
    assert found["mean_rank"] == pytest.approx(44 / 3)
    assert found["mean_place"] == pytest.approx((13 / 14 + 1 + 1) / 3)
    assert found["classes"]["Benign"]["accuracy"] == 0.05


def test_equal_judges_share_the_mean_of_their_ranks() -> None:
    judges = [exactly(name, _all(n)) for name, n in
              (("a", 20), ("b", 12), ("own", 12), ("c", 12), ("d", 3))]  # fmt: skip
    for row in check_rank.ranks(judges, "own", HOW)["fine"]["classes"].values():
        assert (row["rank"], row["judges"]) == (3.0, 5)


@settings(max_examples=20)
@given(st.lists(st.integers(0, N), min_size=2, max_size=6))
def test_a_rank_is_half_of_what_is_not_worse(counts: list[int]) -> None:
    """Against counting: those strictly better, and half of those that are equal."""
    judges = [exactly(f"j{i}", {"DataLeak": n}) for i, n in enumerate(counts)]
    for i, own in enumerate(counts):
        row = check_rank.ranks(judges, f"j{i}", HOW)["fine"]["classes"]["DataLeak"]
        better = sum(n > own for n in counts)
        assert row["rank"] == better + (counts.count(own) + 1) / 2


def test_who_lacks_a_class_has_no_rank_in_it() -> None:
    """One judge was not asked about a class, another gave no label that counts."""
    exclude = How(unscored="exclude", draws=100, seed=0)
    short = exactly("short", {"Benign": 20, "DataLeak": 20})
    silent = exactly("silent", _all(20) | {"Benign": None})
    own = exactly("own", _all(10))
    judges = [short, silent, own]
    rows = check_rank.ranks(judges, "own", exclude)["fine"]["classes"]
    assert {name: (row["rank"], row["judges"]) for name, row in rows.items()} == {
        "Benign": (2.0, 2),
        "DataLeak": (3.0, 3),
        "RedundantArg": (2.0, 2),
    }
    rows = check_rank.ranks(judges, "silent", exclude)["fine"]["classes"]
    assert rows["Benign"]["rank"] is rows["Benign"]["accuracy"] is None
    assert "no counted sample" in rows["Benign"]["reason"]
    # As wrong, they are the last.
    assert check_rank.ranks(judges, "silent", HOW)["fine"]["classes"]["Benign"]["rank"] == 3.0
    alone = [exactly("own", _all(3)), exactly("other", {"Benign": 3})]
    rows = check_rank.ranks(alone, "own", HOW)["fine"]["classes"]
    assert rows["DataLeak"]["reason"].startswith("no other judge")
    assert rows["Benign"]["rank"] == 1.5


def test_each_protocol_has_its_own_ranks() -> None:
    judges = [exactly(name, _all(n), protocol=protocol) for protocol, name, n in
              (("binary", "own", 9), ("binary", "a", 5), ("fine", "own", 2), ("fine", "a", 5),
               ("coarse", "a", 5), ("schema", "own", 5))]  # fmt: skip
    found = check_rank.ranks(judges, "own", HOW)
    assert {p: block["mean_rank"] for p, block in found.items()} == {"binary": 1.0, "fine": 2.0}
    assert {p: block["mean_place"] for p, block in found.items()} == {"binary": 0.0, "fine": 1.0}


def test_without_a_name_or_with_a_wrong_one_it_says_what_to_type() -> None:
    judges = [exactly("a", _all(3)), exactly("b", _all(4))]
    assert "task.check_judge=NAME" in str(check_rank.section(judges, None, HOW).reason)
    assert check_rank.section(judges, "c", HOW).reason == (
        "c (task.check_judge) has no rank (fine: c was not run under it)"
    )
    assert "beside no other judge" in str(check_rank.section(judges[:1], "a", HOW).reason)


def test_one_of_several_runs_of_a_model_is_not_picked() -> None:
    """A name in tables is of one run; the model alone means none of them."""
    mixed = [exactly("a", _all(n), marks=(f"#{n}",), path=Path(str(n))) for n in (3, 9)]
    judges = [*mixed, exactly("b", _all(6))]
    assert "name one of a (#9), a (#3)" in check_rank.ranks(judges, "a", HOW)["reason"]
    found = check_rank.ranks(judges, "a (#3)", HOW)["fine"]
    assert (found["judge"], found["mean_rank"]) == ("a (#3)", 3.0)


def test_a_protocol_without_the_judge_is_said() -> None:
    judges = [exactly(name, _all(n), protocol=protocol) for protocol, name, n in
              (("binary", "own", 9), ("binary", "a", 5), ("coarse", "a", 5),
               ("schema", "own", 5))]  # fmt: skip
    assert check_rank.section(judges, "own", HOW).left_out == (
        "schema: own is beside no other judge", "coarse: own was not run under it"
    )  # fmt: skip


def test_the_section_shows_and_draws_what_was_found(thirteen: list[Judge]) -> None:
    section = check_rank.section(thirteen, "judge_number_04", HOW)
    assert section.reason is None
    assert "binary" not in section.result  # it was not run under this protocol
    text = section.markdown()
    row = section.result["fine"]["classes"]["DataLeak"]
    assert f"| {row['rank']:g} | 13 |" in text
    (drawing,) = section.drawings
    assert len(drawing.rows) == 1 + 3 * 13
    assert drawing.rows[0] == ["protocol", "judge", "class", "accuracy", "rank", "judges"]
    first, again = canvas.png(drawing.draw), canvas.png(drawing.draw)
    assert first == again
    assert first.startswith(b"\x89PNG")
