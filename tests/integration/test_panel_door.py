"""A panel of mocks at the command line: planted errors, votes set aside, labels by humans."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.integration.conftest import Door, Ran
from trace.benchmarks.tracesafe.samples import load
from trace.config import TraceSafe

ERRORS = {"a": (0.95, 0.7), "b": (0.75, 0.9), "c": (0.85, 0.8)}  # sensitivity, specificity
PANEL = [
    "judges=panel",
    "protocol=binary",
    "scoring.bootstrap_draws=100",
    "scoring.max_unscored=1",
    *(f"+model@judges.models.{name}=mock" for name in ERRORS),
    *(
        f"judges.models.{name}.rates={{default: {found}, Benign: {cleared}}}"
        for name, (found, cleared) in ERRORS.items()
    ),
    *(f"judges.models.{name}.seed={seed}" for seed, name in enumerate(ERRORS)),
]

pytestmark = pytest.mark.usefixtures("own_set")

Write = Callable[..., Path]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def lines(name: str, *rows: Mapping[str, Any] | str) -> Path:
        path = tmp_path / name
        text = (row if isinstance(row, str) else json.dumps(row) for row in rows)
        path.write_text("".join(f"{line}\n" for line in text), "utf-8")
        return path

    return lines


@pytest.fixture(scope="module")
def ids(own_set: None) -> list[str]:
    """The samples of `limit=2`."""
    return [sample.id for sample in load(TraceSafe(), limit=2, seed=0).samples]


def kappa(one: str, other: str, prevalence: float) -> float:
    """Cohen's kappa of two judges that err independently, given the truth."""
    (s1, c1), (s2, c2) = ERRORS[one], ERRORS[other]
    both = prevalence * s1 * s2 + (1 - prevalence) * (1 - c1) * (1 - c2)
    neither = prevalence * (1 - s1) * (1 - s2) + (1 - prevalence) * c1 * c2
    q1, q2 = (prevalence * s + (1 - prevalence) * (1 - c) for s, c in ((s1, c1), (s2, c2)))
    chance = q1 * q2 + (1 - q1) * (1 - q2)
    return (both + neither - chance) / (1 - chance)


def spread(one: str, other: str, unsafe: int, safe: int) -> float:
    """The standard deviation of that kappa over such sets, by simulation."""
    rng = np.random.default_rng(0)
    truth = np.repeat([True, False], [unsafe, safe])

    def drawn(name: str) -> Any:
        found, cleared = ERRORS[name]
        return np.where(truth, rng.random(truth.size) < found, rng.random(truth.size) >= cleared)

    values = []
    for _ in range(400):
        a, b = drawn(one), drawn(other)
        chance = a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean())
        values.append(((a == b).mean() - chance) / (1 - chance))
    return float(np.std(values))


def at_least_two(p: Sequence[float]) -> float:
    """The chance that two or more of three independent events happen."""
    return sum(
        float(np.prod([x if hit else 1 - x for x, hit in zip(p, hits, strict=True)]))
        for hits in itertools.product((True, False), repeat=len(p))
        if sum(hits) >= 2
    )


@pytest.mark.slow
def test_a_planted_panel_comes_back_agreement_errors_and_corrected_rates(
    door: Door, write: Write
) -> None:
    gold = {
        sample.id: sample.gold.label for sample in load(TraceSafe(), limit=None, seed=0).samples
    }
    labelled = write("human.jsonl", *({"id": id_, "label": gold[id_]} for id_ in list(gold)[::2]))
    ran = door(*PANEL, f"scoring.labelled={labelled}")
    assert ran.status == 0, ran.err
    found = ran.metrics()["breakdowns"]
    unsafe = sum(label == "unsafe" for label in gold.values())
    prevalence = unsafe / len(gold)

    for one, other in itertools.combinations(ERRORS, 2):
        got = found["agreement"]["pairs"][f"{one}, {other}"]
        away = got["value"] - kappa(one, other, prevalence)
        assert abs(away) < 3.5 * spread(one, other, unsafe, len(gold) - unsafe), (one, other)

    sensitivities, specificities = zip(*ERRORS.values(), strict=True)
    planted = ERRORS | {"panel": (at_least_two(sensitivities), at_least_two(specificities))}
    shown = {"panel": found["corrected"]["verdict"], **found["corrected"]["judge"]}
    assert shown.keys() == planted.keys()
    for name, (sensitivity, specificity) in planted.items():
        row = shown[name]
        assert row["sensitivity"]["value"] == pytest.approx(sensitivity, abs=0.06), name
        assert row["specificity"]["value"] == pytest.approx(specificity, abs=0.2), name
        called = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)
        assert row["flagged"]["value"] == pytest.approx(called, abs=0.04), name
        assert row["corrected"]["low"] <= prevalence <= row["corrected"]["high"], name
    assert shown["b"]["flagged"]["high"] < prevalence  # what b alone would have reported
    assert "Share called unsafe, corrected" in ran.out
    assert "Share called unsafe, corrected" in (ran.folder / "report.md").read_text("utf-8")


def test_a_vote_that_is_set_aside_is_asked_recorded_and_counted_nowhere(
    door: Door, write: Write, ids: list[str]
) -> None:
    plain = door(*PANEL, "limit=2")
    aside = set(ids[::2])
    file = write("aside.jsonl", *({"id": id_, "judge": "a", "why": "its own"} for id_ in aside))
    ran = door(*PANEL, "limit=2", f"judges.exclusions={file}")
    for before, after in zip(plain.records(), ran.records(), strict=True):
        said = after["judges"]["a"]
        assert said.pop("excluded", False) == (after["id"] in aside)
        assert said == before["judges"]["a"]
        assert after["completions"] == before["completions"]
        votes = [
            after["judges"][name]["label"]
            for name in ERRORS
            if name != "a" or after["id"] not in aside
        ]
        first, *others = sorted(set(votes), key=votes.count, reverse=True)
        tie = bool(others) and votes.count(first) == votes.count(others[0])
        assert after["verdict"]["label"] == (None if tie else first)
    found = ran.metrics()["breakdowns"]
    assert found["excluded"] == {"a": len(aside), "b": 0, "c": 0}
    n = {name: row["tpr"]["n"] + row["tnr"]["n"] for name, row in found["judge"].items()}
    assert n == {"a": len(ids) - len(aside), "b": len(ids), "c": len(ids)}
    assert found["agreement"]["pairs"]["a, b"]["n"] == len(ids) - len(aside)
    assert found["agreement"]["pairs"]["b, c"]["n"] == len(ids)
    notes = json.loads((ran.folder / "manifest.json").read_text("utf-8"))["notes"]
    assert f"a {len(aside)}." in next(note for note in notes if "judges.exclusions" in note)


def test_a_judge_without_any_vote_leaves_a_row_of_reasons(
    door: Door, write: Write, ids: list[str]
) -> None:
    file = write("all.jsonl", *({"id": id_, "judge": "a"} for id_ in ids))
    ran = door(*PANEL, "limit=2", f"judges.exclusions={file}")
    assert ran.status == 0, ran.err
    row = ran.metrics()["breakdowns"]["judge"]["a"]
    assert row["tpr"]["value"] is None
    assert row["tpr"]["reason"] == "no unsafe samples"


@pytest.mark.slow
def test_a_run_is_named_by_what_the_files_say_and_not_by_where_they_lie(
    door: Door, write: Write, ids: list[str]
) -> None:
    mock = ["model=mock", "model.rates={default: 1}", "scoring.bootstrap_draws=100"]

    def folder(command: list[str], key: str, name: str, *rows: Mapping[str, str]) -> Path:
        return door(*command, "limit=1", f"{key}={write(name, *rows)}").folder

    for command, key, row, other in (
        (PANEL, "judges.exclusions", {"judge": "a"}, {"judge": "b"}),
        (mock, "scoring.labelled", {"label": "safe"}, {"label": "unsafe"}),
    ):
        here = folder(command, key, "one.jsonl", {"id": ids[0], **row})
        assert here == folder(command, key, "two.jsonl", {"id": ids[0], **row})
        assert here != folder(command, key, "two.jsonl", {"id": ids[0], **other})
        assert here != door(*command, "limit=1").folder


def test_too_few_labels_leave_a_reason_and_those_not_drawn_do_no_harm(
    door: Door, write: Write, ids: list[str]
) -> None:
    file = write("few.jsonl", *({"id": id_, "label": "unsafe"} for id_ in ids))
    ran = door(
        "model=mock", "model.rates={default: 0.8}", "limit=1", "protocol=fine",
        "scoring.bootstrap_draws=100", f"scoring.labelled={file}",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    found = ran.metrics()["breakdowns"]["corrected"]
    assert found["judge"] == {}
    row = found["verdict"]
    assert row["corrected"]["value"] is None
    assert "no safe item of the labelled subset" in row["corrected"]["reason"]
    assert row["specificity"]["value"] is None
    said = [record["verdict"]["label"] for record in ran.records()]
    assert row["flagged"]["n"] == len(said) < len(ids)
    assert row["flagged"]["value"] == pytest.approx(
        sum(label != "Benign" for label in said) / len(said)
    )


def test_a_wrong_line_is_named_before_anything_is_asked(door: Door, write: Write) -> None:
    file = write("wrong.jsonl", {"id": "x", "judge": "a"})
    ran = door(*PANEL, "limit=1", f"judges.exclusions={file}")
    assert ran.status == 2
    assert f"{file}, line 1: no sample is named 'x'" in ran.err
    assert not (file.parent / "outputs").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([*PANEL, "judges.exclusions=nowhere.jsonl"], "judges.exclusions: nowhere.jsonl does not"),
        (["scoring.labelled=nowhere.jsonl"], "scoring.labelled: nowhere.jsonl does not exist"),
        (["task=build", "scoring.labelled=x"], "scoring.labelled: is not read by task=build"),
        (
            [
                "benchmark=strongreject",
                "benchmark.path=x",
                "model@benchmark.judge=smollm2",
                "scoring.labelled=x",
            ],
            "scoring.labelled: says what is unsafe",
        ),
    ],
)
def test_a_file_that_is_not_there_or_not_read(
    door: Door, arguments: list[str], message: str
) -> None:
    ran: Ran = door(*arguments)
    assert ran.status == 2
    assert message in ran.err
