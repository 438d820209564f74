"""Steered answers through the engine: the grid in one batch writes what each alpha writes alone."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.interp.activations_help import stored, tiny
from tests.interp.steering_help import ALPHAS, CPU, answers, direction, grid, written_by_hand
from trace import config
from trace.interp.steering.generate import steered
from trace.models import open as opening
from trace.models.hf import engine
from trace.models.hf.engine import HfModel

KINDS = ["llama", "qwen3", "gemma3_text", "gpt2"]


@pytest.fixture(scope="module", params=KINDS)
def model(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    return stored(tmp_path_factory.mktemp("model"), request.param, tie_word_embeddings=False)


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    return stored(tmp_path_factory.mktemp("llama"))


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_open", {})


@pytest.mark.parametrize("tokens", ["all", "generated"])
def test_the_grid_in_one_batch_equals_a_loop_written_by_hand(
    model: config.Model, tokens: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "MIN_SAVED", 8)  # beginnings are shared where they may be
    requests = grid(tokens)
    lm = HfModel(model).model
    expected = [written_by_hand(lm, request) for request in requests]
    got = [one.text for one in answers(model, requests, tmp_path)]
    assert got == expected
    assert len(set(expected)) > len(expected) / 2  # pushes change what is written


@pytest.mark.parametrize("tokens", ["all", "generated"])
def test_the_grid_in_one_batch_equals_one_alpha_and_prompt_at_a_time(
    model: config.Model, tokens: Any, tmp_path: Path
) -> None:
    requests = grid(tokens, prompts=3, alphas=(-2.0, 0.0, 1.0), new=5)
    got = answers(model, requests, tmp_path / "grid")
    single = [answers(model, [request], tmp_path / "single")[0] for request in requests]
    assert [one.text for one in got] == [one.text for one in single]
    assert [one.key for one in got] == [one.key for one in single]
    assert {one.batch_rows for one in single} == {1}


def test_alpha_zero_writes_what_the_unsteered_engine_writes(
    llama: config.Model, tmp_path: Path
) -> None:
    requests = grid("all", alphas=[0.0])
    plain = [replace(request, push=None) for request in requests]
    side = HfModel(llama)
    expected = {one.key: one.text for part in side.generate(plain, {}) for one in part}
    got = answers(llama, requests, tmp_path)
    assert [one.text for one in got] == [expected[r.key(side.identity)] for r in plain]


def test_a_prompts_alphas_stay_together_and_only_they_share_no_beginning(
    llama: config.Model,
) -> None:
    small = replace(llama, engine=replace(llama.engine, decode_rows=8, prefill_tokens=150))
    for tokens in ("all", "generated"):
        _, [plan] = HfModel(small).plans(grid(tokens))
        for group in plan.groups:
            rows = [row for batch in group for row in batch]
            assert set(Counter(row.ids for row in rows).values()) == {len(ALPHAS)}
            for batch in group:  # the prompt's rows stand beside each other, in order
                for i in range(0, len(batch), len(ALPHAS)):
                    pushes = [row.request.push for row in batch[i : i + len(ALPHAS)]]
                    assert [push and push.alpha for push in pushes] == list(ALPHAS)
        assert (max(stem.end for stem in plan.stems) == 0) == (tokens == "all")


def test_several_directions_stand_in_one_batch(llama: config.Model, tmp_path: Path) -> None:
    one, two = direction(), direction(6)
    requests = [
        replace(request, push=replace(request.push, vector=way.sha256))
        for request in grid("all", alphas=[0.0, 1.0])
        for way in (one, two)
    ]
    both, _ = steered(llama, requests, [one, two], trainer=CPU, output_dir=tmp_path / "both")
    for way in (one, two):
        mine = [i for i, r in enumerate(requests) if r.push and r.push.vector == way.sha256]
        alone, _ = steered(
            llama, [requests[i] for i in mine], [way], trainer=CPU, output_dir=tmp_path / way.sha256
        )
        assert [both[i].text for i in mine] == [made.text for made in alone]


def test_the_tiny_models_really_differ() -> None:
    """The comparison by hand is worth nothing on models that always write the same token."""
    lm = tiny("llama")
    texts = {written_by_hand(lm, request) for request in grid("all", new=4)}
    assert len(texts) > 5
