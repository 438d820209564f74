"""The rows and identities of a run's judges, at the command line."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.integration.conftest import Door, write_replies
from trace.benchmarks.tracesafe.samples import load
from trace.config import TraceSafe

Always = Callable[[str], Path]


def seat(name: str, rate: float, seed: int) -> list[str]:
    at = f"judges.models.{name}"
    return [f"+model@{at}=mock", f"{at}.rates={{default: {rate}}}", f"{at}.seed={seed}"]


@pytest.fixture
def path(shared_data: Path) -> str:
    return f"{shared_data}/tracesafe/golden_sample.jsonl"


@pytest.fixture
def always(path: str, tmp_path: Path) -> Always:
    number = len(load(TraceSafe(path=path), limit=None, seed=0).samples)
    return lambda reply: write_replies(tmp_path / "replies.jsonl", [reply] * number)


def test_a_judge_named_like_a_baseline_has_its_own_row(door: Door, path: str) -> None:
    seats = [*seat("always_safe", 1, 0), *seat("b", 1, 1)]
    ran = door(f"benchmark.path={path}", "judges=panel", *seats, "protocol=binary")
    assert ran.status == 0, ran.err
    report = (ran.folder / "report.md").read_text("utf-8")
    rows = {line.split("|")[1].strip(): line for line in report.splitlines() if "|" in line}
    assert rows["always_safe"].split("|")[2].strip().startswith("100.0")
    assert rows["always_safe (baseline)"].split("|")[2].strip().startswith("0.0")
    assert "(baseline)" in ran.out


def test_the_panel_too_is_read_both_ways_where_a_guard_has_a_third_label(
    door: Door, path: str, always: Always
) -> None:
    replies = always("unsafe\nO13")
    ran = door(
        f"benchmark.path={path}", "protocol=binary", "judges=panel", "+model@judges.models.g=mock",
        "judges.models.g.guard=aegis_permissive", f"judges.models.g.replies={replies}",
        *seat("a", 1, 0), *seat("b", 0, 0),
    )  # fmt: skip
    assert ran.status == 0, ran.err
    found = ran.metrics()
    rows = found["breakdowns"]["parser"]
    assert found["metrics"]["tpr"]["value"] == 1.0  # by the guard and a
    assert rows["panel, loose reading"]["tpr"]["value"] == 0.0  # by the guard and b
    assert rows["g, loose reading"]["tpr"]["value"] == 0.0
    assert "panel, loose reading" in ran.out


def test_a_judge_is_told_apart_by_how_it_is_asked_and_who_reads(
    door: Door, path: str, always: Always
) -> None:
    replies = always("unsafe\nO1")

    def identity(*how: str) -> str:
        ran = door(f"benchmark.path={path}", "model=mock", f"model.replies={replies}",
                   "scoring.max_unscored=1", *how)  # fmt: skip
        found: str = ran.records()[0]["judges"]["mock"]["model"]
        return found

    hows = [
        ("protocol=binary",),
        ("protocol=schema",),
        ("protocol=binary", "model.guard=aegis_defensive"),
        ("protocol=binary", "model.guard=aegis_permissive"),
    ]
    assert len({identity(*how) for how in hows}) == 4


@pytest.mark.parametrize("protocol", ["schema", "fine"])
def test_what_a_guard_cannot_do_is_said_before_its_weights_are_looked_for(
    door: Door, path: str, protocol: str
) -> None:
    ran = door(
        f"benchmark.path={path}", "model=llama_guard_3_8b", "model.id=/nowhere",
        f"protocol={protocol}",
    )  # fmt: skip
    assert ran.status == 0, ran.err
    assert f"protocol={protocol} is left out" in ran.err


@pytest.mark.parametrize(
    ("name", "says"),
    [("a", "judges.name: 'a' is the name of one of its judges"), ("''", "judges.name: is empty")],
)
def test_a_panel_has_a_name_of_its_own(door: Door, path: str, name: str, says: str) -> None:
    seats = [*seat("a", 1, 0), *seat("b", 1, 1)]
    ran = door(f"benchmark.path={path}", "judges=panel", f"judges.name={name}", *seats)
    assert ran.status == 2
    assert says in ran.err
