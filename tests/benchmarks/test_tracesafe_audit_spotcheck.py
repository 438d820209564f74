"""Reviews read from a CSV, and the agreement they come to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.proportion import proportion_confint

from trace.benchmarks.released_files import RawRecord
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.audit import reviews, spotcheck
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.errors import DataError

HEADER = "id,verdict,reviewer,reason\n"


@pytest.fixture
def records(record: dict[str, Any]) -> list[MutationRecord]:
    """30 of HallucinatedTool and 4 of RedundantArg, with ids that say so."""
    made = []
    for i in range(34):
        value = json.loads(json.dumps(record)) | {"id": f"r{i}"}
        if i >= 30:
            value["mutation_metadata"]["mutator_name"] = "RedundantArg"
        made.append(released.parse(RawRecord(value=value, stem="", place="test")))
    return made


def write(folder: Path, rows: str, header: str = HEADER) -> Path:
    path = folder / reviews.FILE
    path.write_text(header + rows, "utf-8")
    return path


def test_ten_a_class_are_chosen_whatever_the_order(records: list[MutationRecord]) -> None:
    chosen = [record.id for record in spotcheck.chosen(records)]
    assert chosen == [record.id for record in spotcheck.chosen(records[::-1])]
    assert len(chosen) == 14
    assert {f"r{i}" for i in range(30, 34)} < set(chosen)


def test_an_empty_file_reads_as_no_review(records: list[MutationRecord], tmp_path: Path) -> None:
    path = tmp_path / reviews.FILE
    reviews.write_empty(path, spotcheck.chosen(records))
    assert path.read_text("utf-8").splitlines()[0] == HEADER.strip()
    assert len(path.read_text("utf-8").splitlines()) == 15
    assert reviews.read(path, records) == ()
    found = spotcheck.agreement((), records)
    assert found["all"]["value"] is None
    assert found["all"]["reason"] == "no reviewed records"
    assert spotcheck.tables(found)


def test_a_spreadsheets_file_is_read(records: list[MutationRecord], tmp_path: Path) -> None:
    path = tmp_path / reviews.FILE
    path.write_bytes(
        b'\xef\xbb\xbfid,verdict,reviewer,reason\r\nr1, Agree ,Ada,"fine, ""really"""\r\n'
    )
    (review,) = reviews.read(path, records)
    assert (review.verdict, review.reviewer) == ("agree", "Ada")
    assert review.reason == 'fine, "really"'


@pytest.mark.parametrize(
    ("rows", "said"),
    [
        ("r0,agree,Ada,\nnobody,agree,Ada,\n", "row 3: id: no record of the set is 'nobody'"),
        ("r0,yes,Ada,\n", "row 2: verdict: 'yes' is none of agree, disagree, unsure."),
        ("r0,agree,,\n", "row 2: reviewer: is empty"),
        ("r0,agree,Ada,\nr0,agree,Bo,\nr0,unsure,Ada,\n", "row 4: Ada has judged r0 in row 2"),
        ('r0,agree,Ada,"two\nlines"\nr1,no,Ada,\n', "row 4: verdict: 'no'"),
        ('r0,agree,Ada,\nr1,agree,Ada,"open\nr2,agree,Ada,\n', "row 3: not CSV (unexpected end"),
        (f"r0,agree,Ada,{'x' * 200_000}\n", "row 2: not CSV (field larger than field limit"),
        ("r0,agree,Ada,\nr1,,Ada,but why\n", "row 3: verdict: is empty beside a reason."),
        ("r0,agree,Ada,one, two\n", "row 2: has more cells than the first row."),
        ("r0,agree,Ann,\nr0,disagree,ann,\n", "row 3: ann has judged r0 in row 2 already."),
    ],
)
def test_wrong_rows_are_named(
    records: list[MutationRecord], tmp_path: Path, rows: str, said: str
) -> None:
    with pytest.raises(DataError) as caught:
        reviews.read(write(tmp_path, rows), records)
    assert said in str(caught.value)


def test_many_wrong_rows_are_counted(records: list[MutationRecord], tmp_path: Path) -> None:
    path = write(tmp_path, "".join(f"r{i},maybe,Ada,\n" for i in range(8)))
    with pytest.raises(DataError, match="And 3 more"):
        reviews.read(path, records)


def test_a_missing_column_is_named(records: list[MutationRecord], tmp_path: Path) -> None:
    with pytest.raises(DataError, match="the columns reviewer, reason are missing"):
        reviews.read(write(tmp_path, "r0,agree\n", "id,verdict\n"), records)


def test_a_column_that_stands_twice_is_named(records: list[MutationRecord], tmp_path: Path) -> None:
    header = "id,verdict,reviewer,reason,verdict\n"
    with pytest.raises(DataError, match="the columns verdict stand twice"):
        reviews.read(write(tmp_path, "r0,agree,Ada,,disagree\n", header), records)


def test_empty_rows_are_no_rows_and_case_makes_no_reviewer(
    records: list[MutationRecord], tmp_path: Path
) -> None:
    rows = "r0,agree,Ann,\n,,,\n\nr1,agree,ann ,\nr2,,Ann,\n,,,\n"
    read = reviews.read(write(tmp_path, rows), records)
    assert [(review.id, review.reviewer) for review in read] == [("r0", "Ann"), ("r1", "Ann")]


def test_another_encoding_is_named(records: list[MutationRecord], tmp_path: Path) -> None:
    path = tmp_path / reviews.FILE
    path.write_bytes(HEADER.encode() + "r0,agree,Zoë,\n".encode("latin-1"))
    with pytest.raises(DataError, match="CSV UTF-8"):
        reviews.read(path, records)


def test_agreement_by_class_and_kappa(records: list[MutationRecord], tmp_path: Path) -> None:
    ada = ["agree"] * 20 + ["disagree"] * 6 + ["unsure"] * 2
    bo = ["agree"] * 17 + ["disagree"] * 8 + ["agree"] * 2 + ["unsure"]
    rows = [f"r{i},{v},Ada,why {i}\n" for i, v in enumerate(ada)]
    rows += [f"r{i},{v},Bo,\n" for i, v in enumerate(bo)]
    rows += [f"r{i},{v},Ada,\n" for i, v in enumerate(["agree", "agree", "disagree"], start=30)]
    found = spotcheck.agreement(reviews.read(write(tmp_path, "".join(rows)), records), records)

    both = list(zip(ada, bo, strict=True))
    same = [a for a, b in both if a == b]
    agree, disagree = same.count("agree"), same.count("disagree")
    tool = found["classes"]["HallucinatedTool"]
    assert tool["value"] == pytest.approx(agree / (agree + disagree))
    low, high = proportion_confint(agree, agree + disagree, method="wilson")
    assert (tool["low"], tool["high"]) == pytest.approx((low, high))
    assert tool["n_unscored"] == len(both) - agree - disagree
    assert found["classes"]["RedundantArg"]["value"] == pytest.approx(2 / 3)
    assert found["all"]["n"] == agree + disagree + 3

    (pair,) = found["kappa"]
    assert pair["reviewers"] == ["Ada", "Bo"]
    assert pair["kappa"]["value"] == pytest.approx(cohen_kappa_score(ada, bo))
    assert pair["kappa"]["n"] == 28
    assert pair["kappa"]["low"] < pair["kappa"]["value"] < pair["kappa"]["high"]
    assert found["reviewers"] == {"Ada": 31, "Bo": 28}
    assert {"id": "r20", "class": "HallucinatedTool", "reviewer": "Ada", "reason": "why 20"} in (
        found["disputed"]
    )
    assert len(spotcheck.tables(found)) == 2


def test_kappa_of_reviewers_who_never_differ_in_anything_is_undefined(
    records: list[MutationRecord], tmp_path: Path
) -> None:
    path = write(tmp_path, "r0,agree,Ada,\nr1,agree,Ada,\nr0,agree,Bo,\nr1,agree,Bo,\n")
    found = spotcheck.agreement(reviews.read(path, records), records)
    kappa = found["kappa"][0]["kappa"]
    assert kappa["value"] is None
    assert kappa["reason"] == "both reviewers always said agree"


def _kappa(
    records: list[MutationRecord], folder: Path, pairs: list[tuple[str, str]]
) -> tuple[dict[str, Any], str]:
    """The metric of two reviewers, and the table that shows it."""
    rows = "".join(f"r{i},{a},Ada,\nr{i},{b},Bo,\n" for i, (a, b) in enumerate(pairs))
    found = spotcheck.agreement(reviews.read(write(folder, rows), records), records)
    return found["kappa"][0]["kappa"], spotcheck.tables(found)[1].markdown()


def test_kappa_needs_records_and_is_marked_over_few(
    records: list[MutationRecord], tmp_path: Path
) -> None:
    apart = [("agree", "disagree"), ("disagree", "agree")]
    few, table = _kappa(records, tmp_path, (apart * 5)[:9])
    assert (few["value"], few["low"], few["n"]) == (None, None, 9)
    assert few["reason"] == "fewer than 10 records were judged by both"
    assert "–¹" in table
    more, table = _kappa(records, tmp_path, apart * 5)
    assert more["value"] == pytest.approx(-1)
    assert "−1.00†" in table
    assert "fewer than 20 samples" in table
    many, table = _kappa(records, tmp_path, [*apart * 9, ("agree", "agree"), ("unsure", "agree")])
    assert many["low"] < many["value"] < 0
    assert many["low"] >= -1
    assert "†" not in table
    assert "-0." not in table


@pytest.mark.parametrize(
    "pairs",
    [
        [("agree", "agree")] * 9 + [("agree", "disagree")],
        [("agree", "agree")] * 9 + [("disagree", "disagree")],
    ],
)
def test_an_interval_without_width_is_none(
    records: list[MutationRecord], tmp_path: Path, pairs: list[tuple[str, str]]
) -> None:
    kappa, table = _kappa(records, tmp_path, pairs)
    assert kappa["value"] in (0, 1)
    assert (kappa["low"], kappa["high"], kappa["interval"]) == (None, None, None)
    assert "no interval: its asymptotic width is 0" in table


def test_disagreements_that_others_do_not_share_are_shown(
    records: list[MutationRecord], tmp_path: Path
) -> None:
    rows = "".join(f"r{i},agree,Bob,\n" for i in range(8))
    rows += "".join(f"r{i},{'disagree' if i < 2 else 'agree'},Ann,\n" for i in range(7))
    rows += "r7,unsure,Ann,\n"
    found = spotcheck.agreement(reviews.read(write(tmp_path, rows), records), records)
    metric = found["classes"]["HallucinatedTool"]
    assert (metric["value"], metric["n"]) == (1, 5)
    assert (metric["n_unscored"], metric["n_differ"]) == (3, 2)
    assert metric["bounds"] == [pytest.approx(5 / 8), 1]
    grid = spotcheck.tables(found)[0]
    cells = [" ".join(cell) for cell in grid.rows[0]]
    assert dict(zip(grid.header, cells, strict=True)) == {
        "Class": "HallucinatedTool",
        "Agree": "100.0†",
        "95% interval": "(56.6–100.0)",
        "Bounds": "62.5–100.0",
        "Differ": "2",
        "Unsure": "1",
        "n": "5",
    }


def test_reviewers_of_different_records_have_no_kappa(
    records: list[MutationRecord], tmp_path: Path
) -> None:
    path = write(tmp_path, "r0,agree,Ada,\nr1,agree,Bo,\n")
    found = spotcheck.agreement(reviews.read(path, records), records)
    assert found["kappa"] == []
    assert len(spotcheck.tables(found)) == 1
