"""The spot check as a form, and its answers as the file that the audit reads."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from trace import config
from trace.annotation.item import Answer
from trace.benchmarks.tracesafe import released
from trace.benchmarks.tracesafe.audit import reviews, spotcheck
from trace.benchmarks.tracesafe.human import FORM, QUESTION, study
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.errors import ConfigError, DataError
from trace.tracking.files import write_text

MUTANTS = "golden_sample.jsonl"


def answer(item: str, verdict: str | None, annotator: str = "A1", comment: str = "") -> Answer:
    values = {} if verdict is None else {QUESTION: verdict}
    return Answer(item=item, annotator=annotator, standing="done" if verdict else "skipped",
                  at="2026-01-01T00:00:00Z", values=values, comment=comment)  # fmt: skip


def test_ten_a_class_beside_their_originals(released_data: Path) -> None:
    path = released_data / MUTANTS
    found = study(config.TraceSafe(path=str(path)), seed=0)
    records = {r.id: r for r in spotcheck.chosen(released.read(path).records)}
    assert {item.id for item in found.items} == set(records)
    assert max(Counter(item.stratum for item in found.items).values()) <= spotcheck.PER_CLASS
    definitions = {c.name: c.definition for c in (TAXONOMY.benign, *TAXONOMY.classes)}
    for item in found.items:
        record = records[item.id]
        assert item.texts["class"].endswith(definitions[record.class_.name])
        for name, side in (("original", record.original), ("changed", record.trajectory)):
            assert side.query in item.texts[name]
        old, new = (item.texts[name].splitlines() for name in ("original", "changed"))
        for line in item.texts["difference"].splitlines():
            assert line[:1] != "-" or line[1:] in old
            assert line[:1] != "+" or line[1:] in new
        same = record.original.to_json() == record.trajectory.to_json()
        assert not same or item.texts["difference"] == "(nothing)"
        added = set(new) - set(old) - {"(not there)"}
        assert added <= {line[1:] for line in item.texts["difference"].splitlines()} | {""}
        assert item.cluster
    assert list(found.forms) == [FORM.name]
    assert found.fingerprint == released.read(path).fingerprint


def test_answers_become_the_file_of_the_audit(released_data: Path, tmp_path: Path) -> None:
    path = released_data / MUTANTS
    found = study(config.TraceSafe(path=str(path)), seed=0)
    one, two, three = (item.id for item in found.items[:3])
    answers = [
        answer(one, "agree"),
        answer(one, "disagree", "A2", 'says "a, b"\nand more'),
        answer(two, "unsure", comment="=1+1"),
        answer(three, None),
    ]
    made = found.merge(answers, [])
    file = tmp_path / reviews.FILE
    write_text(file, "".join(f"{line}\n" for line in made.files[reviews.FILE]))
    records = released.read(path).records
    said = reviews.read(file, records)
    assert [(r.id, r.verdict, r.reviewer, r.reason) for r in said] == [
        (one, "agree", "A1", ""),
        (one, "disagree", "A2", 'says "a, b"\nand more'),
        (two, "unsure", "A1", "=1+1"),
    ]
    assert made.counts == {"verdicts": 3}
    assert spotcheck.agreement(said, records)["all"]["n_differ"] == 1
    with pytest.raises(DataError, match="1 of the items are no records of this set, nobody"):
        found.merge([answer("nobody", "agree")], [])


def test_a_set_is_needed() -> None:
    with pytest.raises(ConfigError, match=r"benchmark\.path: no value"):
        study(config.TraceSafe(), seed=0)


def test_verdicts_are_those_of_the_audit() -> None:
    (question,) = FORM.questions
    assert tuple(option.value for option in question.options) == reviews.VERDICTS
