"""A model whose weights are set by hand, so that what a push does can be worked out on paper.

Its layers add nothing: the stream is the token's embedding. Behind the prompt it is (0, 1, 0, …),
and the answer is A where its first number exceeds the second, else B; then it ends. Answers A and B
leave +2 and -1 in the first number, so the difference in means is 3 there, and 0 elsewhere.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

from tests.interp.activations_help import ASSISTANT, END, answered, stored, tiny, tokenizer
from trace import config
from trace.interp.activations.read import read_stream
from trace.interp.labelled import Labelled
from trace.interp.steering import direction
from trace.interp.steering.generate import steered
from trace.models import open as opening
from trace.records import Push, Request, Sampling

LAYER = 3
THRESHOLD = 1 / 3
CPU = config.Trainer(accelerator="cpu")


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    folder = tmp_path_factory.mktemp("planted")
    settings = stored(folder)
    lm = tiny("llama", tie_word_embeddings=False)
    a, b = tokenizer().convert_tokens_to_ids(["A", "B"])
    with torch.no_grad():
        for layer in lm.model.layers:
            layer.self_attn.o_proj.weight.zero_()
            layer.mlp.down_proj.weight.zero_()
        embed, head = lm.model.embed_tokens.weight, lm.lm_head.weight
        head.zero_()
        head[a, 0] = head[b, 1] = head[END, 2] = 1
        embed[[ASSISTANT, a, b]] = 0
        embed[ASSISTANT, 1] = 1
        embed[a, 0], embed[b, 0] = 2, -1
        embed[[a, b], 2] = 50
    lm.save_pretrained(folder)
    opening._open.clear()
    return settings


def labelled() -> list[Labelled]:
    """More answers of one kind than of the other, to prompts that say nothing about it."""
    kinds = [True, False, False, True, False, False, False]
    made = [answered(i, f"Question {i}?", "A" if yes else "B") for i, yes in enumerate(kinds)]
    return [
        Labelled(id=m.id, group=m.group, request=m.request, response=m.response, positive=yes)
        for m, yes in zip(made, kinds, strict=True)
    ]


def found(planted: config.Model, folder: Path) -> direction.Direction:
    items = labelled()
    stream = read_stream(
        planted, items, layers=[LAYER], position="response_last", trainer=CPU, output_dir=folder
    )
    positive = [one.positive for one in items]
    return direction.difference(stream, positive, layer=LAYER, meta={"model": {}})


def test_the_causal_direction_is_recovered(planted: config.Model, tmp_path: Path) -> None:
    expected = torch.zeros(32)
    expected[0] = 3
    torch.testing.assert_close(found(planted, tmp_path).values, expected)


@pytest.mark.parametrize("tokens", ["all", "generated"])
def test_the_answer_flips_at_the_alpha_that_arithmetic_predicts(
    planted: config.Model, tokens: Any, tmp_path: Path
) -> None:
    vector = found(planted, tmp_path)
    alphas = [-2.0, 0.0, THRESHOLD - 1e-3, THRESHOLD + 1e-3, 2.0]
    requests = [
        Request(
            messages=({"role": "user", "content": prompt},),
            sampling=Sampling(max_new_tokens=5),
            push=Push(vector=vector.sha256, layer=LAYER, alpha=alpha, tokens=tokens),
        )
        for prompt in ("New question?", "Another, longer one?")
        for alpha in alphas
    ]
    made, _ = steered(planted, requests, [vector], trainer=CPU, output_dir=tmp_path)
    assert [one.text for one in made] == ["B", "B", "B", "A", "A"] * 2
    assert {one.finish for one in made} == {"stop"}
