"""Steered answers in the log: asked once, resumed, refused, made by several processes."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.interp.activations_help import stored
from tests.interp.steering_help import ALPHAS, CPU, LAYER, answers, direction, grid
from trace import config
from trace.errors import ConfigError
from trace.interp.activations.layers import decoder_layers
from trace.interp.steering import answerer
from trace.interp.steering.generate import steered
from trace.models import open as opening
from trace.models.hf.engine import HfModel
from trace.models.log import log_folder
from trace.records import Request


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    return stored(tmp_path_factory.mktemp("llama"))


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_open", {})


def test_keys_differ_by_every_part_of_a_push(llama: config.Model) -> None:
    request = grid("all", prompts=1, alphas=[1.0])[0]
    push = request.push
    assert push is not None
    others = [None, push, replace(push, alpha=2.0), replace(push, layer=3),
              replace(push, tokens="generated"), replace(push, vector="0")]  # fmt: skip
    keys = {replace(request, push=one).key({"engine": "hf"}) for one in others}
    assert len(keys) == len(others)


def counted(monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> list[int]:
    """The sizes of the groups that are answered; it breaks off when told."""
    sizes: list[int] = []
    whole = answerer.halving_when_full

    def counting(runner: Any, group: Any) -> Any:
        if len(sizes) == stop_after:
            raise KeyboardInterrupt
        sizes.append(sum(map(len, group)))
        return whole(runner, group)

    monkeypatch.setattr(answerer, "halving_when_full", counting)
    return sizes


def test_an_interrupted_run_goes_on_where_it_was(
    llama: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small = replace(llama, engine=replace(llama.engine, decode_rows=4))
    requests = grid("all")
    whole = answers(small, requests, tmp_path / "whole")
    with monkeypatch.context() as patch:
        counted(patch, stop_after=2)
        with pytest.raises(KeyboardInterrupt):
            answers(small, requests, tmp_path / "cut")
    with monkeypatch.context() as patch:
        sizes = counted(patch)
        again = answers(small, requests, tmp_path / "cut")
    assert sizes == [4, 4, 4]
    assert [one.in_record() for one in again] == [one.in_record() for one in whole]
    opening._open.clear()
    made, new = steered(small, requests, [direction()], trainer=CPU, output_dir=tmp_path / "cut")
    assert made == again
    assert not new
    assert not opening._open  # all was in the log: no model was opened


def test_a_model_is_opened_once_for_several_jobs(llama: config.Model, tmp_path: Path) -> None:
    answers(llama, grid("all", alphas=[0.0, 1.0]), tmp_path / "one")
    [warm] = opening._open.values()
    answers(llama, grid("all", alphas=[0.0, 2.0]), tmp_path / "two")
    assert list(opening._open.values()) == [warm]


def test_prompts_too_long_are_told_and_logged(llama: config.Model, tmp_path: Path) -> None:
    push = grid("all", prompts=1)[0].push
    long = Request(messages=({"role": "user", "content": "x" * 300},), push=push)
    requests = [long, *grid("all", prompts=1)]
    for new in (True, False):
        made, fresh = steered(llama, requests, [direction()], trainer=CPU, output_dir=tmp_path)
        assert [one.finish == "too_long" for one in made] == [True] + [False] * len(ALPHAS)
        assert fresh is new


def test_scores_that_overflow_are_errors_and_are_not_logged(
    llama: config.Model, tmp_path: Path
) -> None:
    requests = grid("all", prompts=1, alphas=[0.0, 1e39])  # beyond the largest float32
    made = answers(llama, requests, tmp_path)
    assert [one.finish == "error" for one in made] == [False, True]
    assert "not finite" in (made[1].error or "")
    lines = [line for path in log_folder(tmp_path, "tiny").iterdir() for line in path.open()]
    assert len(lines) == 1


def test_what_cannot_be_steered_is_refused(llama: config.Model, tmp_path: Path) -> None:
    [request] = grid("all", prompts=1, alphas=[1.0])
    for wrong in (replace(request, push=None), replace(request, labels=("a", "b"))):
        with pytest.raises(ValueError, match="only requests with a push"):
            answers(llama, [wrong], tmp_path)
    other = replace(direction(), layer=LAYER + 1)
    for given in ([], [direction(6)], [other]):
        with pytest.raises(ValueError, match="no vector"):
            steered(llama, [request], given, trainer=CPU, output_dir=tmp_path)
    with pytest.raises(ValueError, match="with a push"):
        list(HfModel(llama).generate([request], {}))
    vllm = replace(llama, engine=config.VllmEngine())
    with pytest.raises(ConfigError, match="model/engine=hf"):
        steered(vllm, [request], [direction()], trainer=CPU, output_dir=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_vector_of_another_width_is_refused(llama: config.Model, tmp_path: Path) -> None:
    wide = replace(direction(), values=torch.ones(33))
    [request] = grid("all", prompts=1, alphas=[1.0])
    assert request.push is not None
    asked = replace(request, push=replace(request.push, vector=wide.sha256))
    with pytest.raises(ConfigError, match=r"steering\.vector"):
        steered(llama, [asked], [wide], trainer=CPU, output_dir=tmp_path)
    lm = next(iter(opening._open.values())).model
    assert not decoder_layers(lm)[LAYER]._forward_hooks


@pytest.mark.slow
def test_two_processes_write_what_one_writes(llama: config.Model, tmp_path: Path) -> None:
    small = replace(llama, engine=replace(llama.engine, decode_rows=4))
    requests = grid("generated")
    one = answers(small, requests, tmp_path / "one")
    spawned = config.Trainer(accelerator="cpu", devices=2)
    two, _ = steered(small, requests, [direction()], trainer=spawned, output_dir=tmp_path / "two")
    assert [made.in_record() for made in two] == [made.in_record() for made in one]
    assert len(list(log_folder(tmp_path / "two", "tiny").iterdir())) == 2


@pytest.mark.slow
def test_an_error_in_another_process_is_ours_again(llama: config.Model, tmp_path: Path) -> None:
    small = replace(llama, engine=replace(llama.engine, decode_rows=4))  # work for both
    deep = replace(direction(), layer=9)
    requests = [replace(r, push=replace(r.push, layer=9)) for r in grid("all", prompts=2) if r.push]
    spawned = config.Trainer(accelerator="cpu", devices=2)
    with pytest.raises(ConfigError, match=r"steering\.layer=9"):
        steered(small, requests, [deep], trainer=spawned, output_dir=tmp_path)
