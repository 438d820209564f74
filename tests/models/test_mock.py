from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import binomtest

from trace import config
from trace.errors import ConfigError, DataError
from trace.models.base import Model
from trace.models.mock import BATCH, MockModel, plant
from trace.models.open import open_model
from trace.records import Completion, Request

LABELS = ("Benign", "ApiKeyLeak", "VersionConflict", "PromptInjectionOut")


def mock(**settings: Any) -> MockModel:
    return MockModel(config.MockModel(name="mock", engine=config.MockEngine(), **settings))


def replies(folder: Path, *values: Any) -> str:
    path = folder / "replies.jsonl"
    path.write_text("".join(json.dumps(value) + "\n" for value in values), "utf-8")
    return str(path)


def dealt(n: int) -> Request:
    return dataclasses.replace(request(n), reply=n)


def request(n: int, class_: str = "Benign", scored: Sequence[str] = (), epoch: int = 0) -> Request:
    return Request(
        messages=({"role": "user", "content": f"sample {n}"},),
        labels=tuple(f'{label}"' for label in scored),
        planted=plant(class_, class_, LABELS),
        epoch=epoch,
    )


def answers(model: Model, requests: list[Request], done: Any = ()) -> list[Completion]:
    return [c for batch in model.generate(requests, dict(done)) for c in batch]


def verdict(completion: Completion) -> str:
    return str(json.loads(completion.text)["verdict"])


def test_replies_are_dealt_in_order_and_cycled(tmp_path: Path) -> None:
    model = mock(replies=replies(tmp_path, "a", "b", "é\u2028\n"))
    requests = [dealt(n) for n in range(7)]
    out = answers(model, requests)
    assert [c.text for c in out] == [*(["a", "b", "é"] * 2), "a"]  # white space around is cut
    assert [c.key for c in out] == [r.key(model.identity) for r in requests]
    assert model.calls == 7


def test_reasoning_is_split_off_as_by_other_engines(tmp_path: Path) -> None:
    model = mock(replies=replies(tmp_path, "<think>why</think>Safe", "<think>endless"))
    closed, opened = answers(model, [dealt(0), dealt(1)])
    assert (closed.text, closed.reasoning, closed.reasoning_closed) == ("Safe", "why", True)
    assert (opened.text, opened.reasoning, opened.reasoning_closed) == ("", "endless", False)


def test_a_batch_of_which_anything_is_missing_is_answered_again_as_a_whole(tmp_path: Path) -> None:
    path = replies(tmp_path, *"abcde")
    requests = [dealt(n) for n in range(2 * BATCH + 3)]
    expected = answers(mock(replies=path), requests)
    model = mock(replies=path)
    missing = expected[BATCH + 1]
    done = {c.key: c for c in expected if c != missing}
    assert answers(model, requests, done) == expected[BATCH : 2 * BATCH]  # the whole batch again
    assert model.calls == BATCH
    assert answers(model, requests, {c.key: c for c in expected}) == []


@pytest.mark.parametrize(
    ("content", "line"),
    [(b'"a"\n{"b": 1}\n', 2), (b'"a"\n\n"b\n', 3), (b"null\n", 1), (b'"a"\n"\xff"\n', 2),
     (b"version https://git-lfs.github.com/spec/v1\n", 1)],
)  # fmt: skip
def test_broken_reply_is_named(tmp_path: Path, content: bytes, line: int) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_bytes(content)
    with pytest.raises(DataError, match=rf"replies.jsonl, line {line}:"):
        mock(replies=str(path))


@pytest.mark.parametrize("content", ["", "\n \n"])
def test_blank_file(tmp_path: Path, content: str) -> None:
    path = tmp_path / "replies.jsonl"
    path.write_text(content)
    with pytest.raises(DataError, match="no reply"):
        mock(replies=str(path))


@pytest.mark.parametrize("name", ["missing.jsonl", "."])
def test_file_that_cannot_be_read(tmp_path: Path, name: str) -> None:
    with pytest.raises(DataError, match="cannot be read"):
        mock(replies=str(tmp_path / name))


def test_texts_have_no_likelihoods(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"protocol\.answer=generate"):
        answers(mock(replies=replies(tmp_path, "a")), [request(0, scored=LABELS)])


@pytest.mark.parametrize("rate", [0.0, 0.15, 0.8, 1.0])
@pytest.mark.parametrize("scored", [(), LABELS])
def test_planted_rates_are_recovered(rate: float, scored: tuple[str, ...]) -> None:
    """Within exact binomial bounds at one in a million, for each class; `default` for the rest."""
    model = mock(rates={"ApiKeyLeak": rate, "default": 0.5})
    n = 2000
    for class_, expected in (("ApiKeyLeak", rate), ("Benign", 0.5), ("VersionConflict", 0.5)):
        out = answers(model, [request(i, class_, scored) for i in range(n)])
        chosen = [best(c) if scored else verdict(c) for c in out]
        assert set(chosen) <= set(LABELS)
        assert binomtest(chosen.count(class_), n, expected).pvalue > 1e-6
        wrong = [label for label in chosen if label != class_]
        for label in set(LABELS) - {class_}:  # spread evenly over the other labels
            assert not wrong or binomtest(wrong.count(label), len(wrong), 1 / 3).pvalue > 1e-6


def best(completion: Completion) -> str:
    assert completion.scores is not None
    top = max(completion.scores, key=lambda label: completion.scores[label].logprob)  # type: ignore[index]
    return top.removesuffix('"')


def test_scores_are_probabilities() -> None:
    model = mock(rates={"default": 1.0})
    (out,) = answers(model, [request(0, "ApiKeyLeak", LABELS)])
    assert out.scores is not None
    assert list(out.scores) == [f'{label}"' for label in LABELS]
    chances = {label: math.exp(score.logprob) for label, score in out.scores.items()}
    assert math.isclose(sum(chances.values()), 1)
    assert math.isclose(chances['ApiKeyLeak"'], 0.9)
    assert out.text == ""


def test_a_request_is_right_or_wrong_by_itself() -> None:
    """Not by its place or its neighbours; other seeds, epochs and samples differ."""
    model = mock(rates={"default": 0.5})
    requests = [request(n) for n in range(100)]
    out = [verdict(c) for c in answers(model, requests)]
    assert [verdict(c) for c in answers(mock(rates={"default": 0.5}), requests[::-1])] == out[::-1]
    assert [verdict(c) for c in answers(mock(rates={"default": 0.5}, seed=1), requests)] != out
    assert [verdict(c) for c in answers(model, [request(n, epoch=1) for n in range(100)])] != out


def test_higher_rate_keeps_what_was_right() -> None:
    requests = [request(n) for n in range(200)]
    low, high = (
        [verdict(c) == "Benign" for c in answers(mock(rates={"default": rate}), requests)]
        for rate in (0.3, 0.6)
    )
    assert all(h for was, h in zip(low, high, strict=True) if was)


def test_class_without_a_rate() -> None:
    with pytest.raises(ConfigError, match=r"model\.rates\.default"):
        answers(mock(rates={"Benign": 1.0}), [request(0, "ApiKeyLeak")])


@given(st.sampled_from(LABELS), st.lists(st.text(), min_size=1, unique=True), st.data())
def test_any_labels_can_be_planted(class_: str, labels: list[str], data: st.DataObject) -> None:
    gold = data.draw(st.sampled_from(labels))
    asked = Request(
        messages=({"role": "user", "content": "?"},), planted=plant(class_, gold, labels)
    )
    (right,) = answers(mock(rates={"default": 1.0}), [asked])
    (wrong,) = answers(mock(rates={"default": 0.0}), [asked])
    assert verdict(right) == gold
    assert (verdict(wrong) == gold) == (len(labels) == 1)


def test_identity_tells_mocks_apart(tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    models = [
        mock(replies=replies(tmp_path, "a")),
        mock(replies=replies(tmp_path / "other", "b")),
        *(mock(rates={"default": rate}, seed=seed) for rate, seed in product((0.1, 0.2), (0, 1))),
    ]
    assert len({request(0).key(model.identity) for model in models}) == len(models)
    moved = mock(replies=replies(tmp_path / "other", "a"))  # the content counts, not the path
    assert moved.identity == models[0].identity


def test_opened_from_a_configuration() -> None:
    settings = config.MockModel(name="mock", engine=config.MockEngine(), rates={"default": 1.0})
    model: Model = open_model(settings)
    assert open_model(settings) is model
    assert verdict(answers(model, [request(0)])[0]) == "Benign"


def test_the_same_question_at_another_place_is_another_request(tmp_path: Path) -> None:
    """Duplicate prompts are asked once; replies are dealt by place all the same."""
    model = mock(replies=replies(tmp_path, *"abc"))
    same = [dataclasses.replace(request(0), reply=i) for i in range(3)]
    assert len({r.key(model.identity) for r in same}) == 3
    assert [c.text for c in answers(model, same)] == ["a", "b", "c"]


def test_a_rate_for_a_class_that_does_not_exist_is_refused() -> None:
    model = mock(rates={"default": 0.5, "Benin": 0.1})
    with pytest.raises(ConfigError, match=r"model\.rates\.Benin.*Benign"):
        model.check_classes(["Benign", "ApiKeyLeak"])
