"""What judges of cross-lab TRACE see, and in which order."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import LINE
from tests.integration.conftest import Door, write_replies
from tests.integration.cross_lab_lines import (
    LAB,
    four,
    items,
    respondent,
)
from trace.models.mock import MockModel
from trace.records import Completion, Request


@pytest.mark.slow
def test_each_judge_has_an_order_of_its_own(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[int, list[str]] = {}
    plain = MockModel._answer

    def noted(self: MockModel, request: Request, key: str) -> Completion:
        if key and self.settings.rates:
            seen.setdefault(self.settings.seed, []).append(request.sample)
        return plain(self, request, key)

    monkeypatch.setattr(MockModel, "_answer", noted)
    assert door(*LAB, "model=mock_lab/b", "condition=base", "limit=4").status == 0
    assert len(seen) == 6
    assert len({tuple(order) for order in seen.values()}) == 6
    assert len({frozenset(order) for order in seen.values()}) == 1


def test_peers_judge_blind(door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    plain = MockModel._answer

    def noted(self: MockModel, request: Request, key: str) -> Completion:
        if key and self.settings.rates:
            asked.extend(request.texts)
        return plain(self, request, key)

    monkeypatch.setattr(MockModel, "_answer", noted)
    said = "<think>Secretly.</think>I am Someone 7, and no GPT-5. Mock A would say: here."
    ran = door(*LAB, items(tmp_path, *four()), *respondent(tmp_path, [said], "someone_7"))
    assert ran.status == 0, ran.err
    assert len(asked) == 24
    for text in asked:
        assert "I am [model], and no [model]." in text
        assert not [name for name in ("omeone", "GPT", "Secretly", "mock_") if name in text]
    assert ran.records()[0]["masked"] == ["Someone 7", "GPT-5"]
    assert ran.records()[0]["response"]["text"].startswith("I am Someone 7")


def test_a_trace_is_read_by_its_judge_alone(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    plain = MockModel._answer

    def noted(self: MockModel, request: Request, key: str) -> Completion:
        if key:
            asked.extend(request.texts)
        return plain(self, request, key)

    monkeypatch.setattr(MockModel, "_answer", noted)
    reader = write_replies(tmp_path / "reader.jsonl", ['{"verdict": "set_aside"}'])
    lines = [*four(category="reasoning_suppression"), LINE | {"id": "v"}]
    thought = "<think>I, Qwen3-8B, find this unfair.</think>Here."
    line = [*LAB, items(tmp_path, *lines), "benchmark.trace_judge=mock",
            "benchmark.trace_judge.name=reader", f"benchmark.trace_judge.replies={reader}",
            *respondent(tmp_path, [thought])]  # fmt: skip
    ran = door(*line)
    assert ran.status == 0, ran.err
    of = {r["id"]: r["trace"] for r in ran.records()}
    assert {trace["label"] for id_, trace in of.items() if id_ != "v"} == {"set_aside"}
    assert of["v"] is None
    shown = [text for text in asked if "unfair" in text]
    assert len(shown) == 4  # the peers never see it
    assert all("[model]" in text and "Qwen" not in text for text in shown)
    assert ran.metrics()["breakdowns"]["traced"]["set_aside"] == {"full_compliance": 4}
    plan = door(*line, "dry_run=true")
    assert "reader (traces): 4 requests" in plan.out
