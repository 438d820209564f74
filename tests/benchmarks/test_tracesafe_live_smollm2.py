"""The whole loop with a real model: small, so that it mostly fails the checker, and says why."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from trace import config
from trace.benchmarks.tracesafe.live.drive import drive
from trace.benchmarks.tracesafe.live.outcome import note
from trace.errors import AssetError
from trace.models.open import open_model
from trace.records import Completion, Request, Sampling

pytestmark = pytest.mark.slow


def test_smollm2_goes_through_its_tasks_to_the_end(bfcl_folder: Path) -> None:
    model = open_model(
        config.Model(
            name="smollm2",
            asset="smollm2",
            reasoning="none",
            engine=config.HfEngine(dtype="float32"),
        )
    )
    rounds: list[list[Request]] = []

    def ask(requests: Sequence[Request]) -> list[Completion]:
        rounds.append(list(requests))
        made = {c.key: c for batch in model.generate(requests, {}) for c in batch}
        return [made[request.key(model.identity)] for request in requests]

    try:
        outcomes = drive(
            bfcl_folder,
            ["base"],
            ask,
            sampling=Sampling(max_new_tokens=48),
            template_args={},
            agent="smollm2",
            limit=3,
            max_steps=2,
        )
    except AssetError as error:
        pytest.skip(str(error))
    assert len(outcomes) == 3
    for outcome in outcomes:
        assert outcome.accurate == (not outcome.reason)
        assert outcome.trajectory.agent_model == "smollm2"
        assert outcome.trajectory.steps[0].content == outcome.trajectory.query
    assert [request.sample for request in rounds[0]] == [outcome.task for outcome in outcomes]
    assert note(outcomes, "smollm2").startswith("smollm2 was given 3 tasks of BFCL and did ")
