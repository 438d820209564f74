"""Wordings whose labels were planted: the spread and the changed labels must come back."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest
from statsmodels.stats.proportion import proportion_confint

from tests.report.compare.conftest import HOW, Answer, at, judge
from trace.records import Verdict
from trace.report.compare import spread
from trace.report.compare.judged import Judge, measure

SURE = at({}, 1.0)


def asked(wording: str, wrong: int = 0, *, silent: int = 0, **settings: Any) -> Judge:
    """A judge of 90 samples a class, right on all but the first `wrong` ones of DataLeak."""
    variant = ", ".join(filter(None, [settings.pop("other", ""), wording.replace("plain", "")]))
    made = judge(SURE, wording=wording, variant=variant, **{"protocol": "schema"} | settings).run
    seen = []
    for o in made.observations:
        number = int(o.id.rsplit("-", 1)[1]) if o.class_ == "DataLeak" else 1000
        verdict = o.verdict
        if number < wrong:
            verdict = replace(verdict, label="Safe")
        elif number >= 90 - silent and number < 1000:
            verdict = Verdict(status="unparsable")
        seen.append(replace(o, verdict=verdict))
    return measure(replace(made, observations=tuple(seen)), HOW)


def only(found: Mapping[str, Any]) -> Mapping[str, Any]:
    ((block),) = found.values()
    (row,) = block.values()
    assert isinstance(row, Mapping)
    return row


def test_planted_changes_come_back() -> None:
    wrong = {"plain": 0, "reversed": 27, "reworded_1": 54}
    row = only(spread.sensitivity([asked(w, n) for w, n in wrong.items()]))
    assert list(row["variants"]) == ["plain", "reversed", "reworded_1"]
    assert list(row["changed"]) == ["reversed", "reworded_1"]
    for wording, metric in row["changed"].items():
        low, high = proportion_confint(wrong[wording], 13 * 90, method="wilson")
        assert metric["value"] == pytest.approx(wrong[wording] / (13 * 90))
        assert (metric["low"], metric["high"]) == (pytest.approx(low), pytest.approx(high))
    rates = [1 - n / (12 * 90) for n in wrong.values()]
    assert row["spread"]["tpr"]["range"] == pytest.approx(max(rates) - min(rates))
    assert row["spread"]["tpr"]["sd"] == pytest.approx(statistics.stdev(rates))
    assert row["spread"]["tnr"] == {"range": 0, "sd": 0, "n": 3}
    assert row["spread"]["balanced_accuracy"]["range"] == pytest.approx(54 / (12 * 90) / 2)
    assert set(row["spread"]) == {"balanced_accuracy", "tpr", "tnr", "balanced_f1"}


def test_changes_that_cancel_out_are_changes() -> None:
    """The same accuracy on other samples: no spread, yet labels change."""

    def swapped(first: bool) -> Answer:
        return lambda class_, _, __: class_ != ("DataLeak" if first else "ApiKeyLeak")

    judges = [
        judge(swapped(w == "plain"), protocol="schema", wording=w, variant=v)
        for w, v in (("plain", ""), ("reversed", "reversed"))
    ]
    row = only(spread.sensitivity(judges))
    assert row["spread"]["balanced_accuracy"]["range"] == 0
    assert row["changed"]["reversed"]["value"] == pytest.approx(2 / 13)


def test_a_sample_without_a_label_is_no_change() -> None:
    row = only(spread.sensitivity([asked("plain", silent=10), asked("reversed", 9, silent=20)]))
    changed = row["changed"]["reversed"]
    assert (changed["n"], changed["n_unscored"]) == (13 * 90 - 20, 20)
    assert changed["value"] == pytest.approx(9 / (13 * 90 - 20))
    assert changed["bounds"] == pytest.approx([9 / 1170, 29 / 1170])


def test_judges_protocols_and_other_circumstances_are_not_mixed() -> None:
    judges = [
        asked("plain"), asked("reversed", 9),
        asked("plain", other="cot"), asked("reworded_1", 27, other="cot"),
        asked("plain", model="once"),
        asked("reversed", protocol="binary"),
    ]  # fmt: skip
    found = spread.sensitivity(judges)
    assert list(found) == ["schema"]
    assert {name: list(row["variants"]) for name, row in found["schema"].items()} == {
        "judge": ["plain", "reversed"],
        "judge (cot)": ["plain", "reworded_1"],
    }


def test_where_there_is_no_spread_it_says_why() -> None:
    alone = spread.section([asked("plain"), asked("reversed", protocol="binary")])
    assert "protocol.variant=plain,reversed" in str(alone.reason)
    other = spread.section([asked("plain"), asked("reversed", per_class=30)])
    assert other.reason == "plain, reversed are not of the same samples"
    without_plain = only(spread.sensitivity([asked("reversed"), asked("reworded_2", 9)]))
    assert without_plain["changed"] == {}
    assert without_plain["spread"]["tpr"]["range"] > 0
    safe = [replace(j.run, observations=tuple(o for o in j.run.once if o.class_ == "Benign"))
            for j in (asked("plain"), asked("reversed"))]  # fmt: skip
    row = only(spread.sensitivity([measure(run, HOW) for run in safe]))
    assert row["spread"]["tpr"]["range"] is None
    assert row["spread"]["tpr"]["reason"] == "0 of 2 variants have a value"


def test_the_section_shows_what_was_found() -> None:
    judges = [asked("plain"), asked("reversed", 27), asked("reworded_1", 54)]
    other = [asked("plain", model="b"), asked("reversed", model="b", per_class=30)]
    section = spread.section([*judges, *other])
    (grid,) = section.grids
    rows = [[" ".join(cell) for cell in row] for row in grid.rows]
    assert [row[1] for row in rows] == ["–¹", "plain", "reversed", "reworded_1", "Range", "SD"]
    assert (rows[0][0], rows[1][0]) == ("b", "judge")  # the most accurate first
    assert rows[2][6:] == ["2.3", "(1.6–3.3)", "1170"]
    assert rows[4][2] == "2.5"
    assert "not of the same samples" in section.markdown()
    (drawing,) = section.drawings
    lines = [line for line in drawing.rows if line[3] == "label_changed"]
    assert [line[2] for line in lines] == ["reversed", "reworded_1"]
    assert lines[1][4] == pytest.approx(54 / 1170)
    without_plain = spread.section([asked("reversed"), asked("reworded_2", 9)])
    assert "not asked in the plain variant" in without_plain.markdown()
