"""What a run directory keeps: its configuration becomes typed again, and what it is not is said."""

from __future__ import annotations

import functools
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import yaml
from hydra import compose
from hypothesis import given
from hypothesis import strategies as st

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import DataError
from trace.records import Completion, Json, Request
from trace.report.scope import scope_of
from trace.tasks.recorded import Recorded, read_recorded
from trace.tasks.written_settings import typed_again
from trace.tracking.secrets import redact

config.register()

SERVER = ["model.id=org/name", "model.base_url=http://127.0.0.1:8000/v1"]


@functools.cache
def typed(*overrides: str) -> config.Root:
    with sweep.composing(ROOT / "conf"):
        return config.to_typed(compose("config", list(overrides)))


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["benchmark=ragtruth", "benchmark.path=FOLDER", "protocol=fine", "limit=3", "epochs=2"],
        ["benchmark=evidence", "condition=trace", "judges=local"],
        ["benchmark=tracesafe", "condition=few_shot_cot", "model=mock",
         "model.rates={default: 0.5, Benign: 0.25}"],
        ["benchmark=tracesafe", "model=openai_compatible", *SERVER,
         "model.extra_body={reasoning_effort: low}", "model.price={input: 0.5, output: 2}"],
        ["benchmark=tracesafe", "model=vllm", "model.id=org/name"],
        ["benchmark=strongreject", "benchmark.path=FILE", "model@benchmark.judge=qwen3_14b",
         "model=hf", "model.id=org/name", "model.template_args={enable_thinking: false}"],
        ["benchmark=rag_safety", "condition=oracle", "judges=local",
         "model@benchmark.accuracy_judge=qwen3_14b", "model=mock", "model.replies=FILE"],
        ["benchmark=cross_lab", "condition=steered", "judges=mock_labs"],
        ["benchmark=clarify"],
        ["benchmark=evidence", "condition=prompt", "model=bedrock_guardrails", "model.id=abc123",
         "model.region=us-east-1", "model.version=1"],
    ],
    ids=lambda line: " ".join(line) or "default",
)  # fmt: skip
def test_a_written_configuration_is_typed_again(line: list[str]) -> None:
    settings = typed(*line)
    text = yaml.safe_dump(redact(config.plain(settings)))
    again = typed_again(yaml.safe_load(text))
    for name in ("probe", "steering", "trainer"):
        assert getattr(again, name) == type(getattr(again, name))()
    unread = {name: getattr(settings, name) for name in ("probe", "steering", "trainer")}
    assert replace(again, **unread) == settings
    assert type(again.model) is type(settings.model)
    assert type(again.condition) is type(settings.condition)


LINE = {"id": "a", "epoch": 0, "sample": {"cluster": "c"}, "completion": None,
        "verdict": {"status": "ok", "label": "Safe"}}  # fmt: skip


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A run directory with everything that is looked at."""
    settings = typed("benchmark=evidence", "condition=prompt")
    written = yaml.safe_dump(config.plain(settings))
    (tmp_path / "config.yaml").write_text(written, "utf-8")
    for name, value in (
        ("manifest", {"ended": "now", "run": "r", "data": {}, "model": {}}),
        ("metrics", {}),
    ):
        (tmp_path / f"{name}.json").write_text(json.dumps(value), "utf-8")
    (tmp_path / "records.jsonl").write_text(json.dumps(LINE) + "\n", "utf-8")
    return tmp_path


def rewrite(folder: Path, **values: Any) -> None:
    file = folder / "config.yaml"
    file.write_text(yaml.safe_dump(yaml.safe_load(file.read_text("utf-8")) | values), "utf-8")


def test_a_run_is_read_for_another_output_folder(folder: Path) -> None:
    recorded = read_recorded(folder, "elsewhere")
    assert recorded.settings.output_dir == "elsewhere"
    assert isinstance(recorded.settings.benchmark, config.Evidence)
    assert recorded.lines == [LINE]


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (lambda f: (f / "metrics.json").unlink(), "holds no finished run"),
        (lambda f: (f / "manifest.json").write_text('{"ended": null}'), "holds no finished run"),
        (lambda f: rewrite(f, task={"name": "build"}), "of task=build"),
        (lambda f: rewrite(f, another=1), "config.yaml: is of another version"),
        (lambda f: rewrite(f, benchmark={"name": "gone"}), "config.yaml: is of another version"),
        (lambda f: rewrite(f, sampling={"heat": 1}), "config.yaml: is of another version"),
        (lambda f: rewrite(f, model={"name": "m"}), "config.yaml: is of another version"),
        (lambda f: rewrite(f, epochs=0), "config.yaml: epochs: 0 is below 1"),
        (lambda f: (f / "records.jsonl").write_text(""), "records.jsonl: is empty"),
        (lambda f: (f / "records.jsonl").write_text("{"), "records.jsonl, line 1"),
        (lambda f: (f / "records.jsonl").write_text('{"id": "a"}'), "jsonl: is of another version"),
        (lambda f: (f / "manifest.json").write_text('{"ended": "now"}'), "json: is of another ver"),
    ],
)  # fmt: skip
def test_what_is_no_run_is_said(folder: Path, spoil: Any, said: str) -> None:
    spoil(folder)
    with pytest.raises(DataError, match=re.escape(said)) as raised:
        read_recorded(folder, "elsewhere")
    assert "\n" not in str(raised.value)


IDENTITY = {"engine": "hf", "source": "org/name", "revision": "abc", "dtype": "bfloat16",
            "quantisation": None, "template": "t" * 64}  # fmt: skip


def recorded(*lines: Json, **manifest: Json) -> Recorded:
    settings = typed("benchmark=clarify")
    return Recorded(
        path=Path("RUN"), settings=settings, manifest={"model": IDENTITY} | manifest, lines=lines
    )


def test_answers_find_their_requests_by_key() -> None:
    asked = [Request(messages=({"role": "user", "content": f"Question {n}"},)) for n in range(3)]
    lines = [
        {"id": f"q{n}", "response": Completion(key=asked[n].key(IDENTITY), text="x").in_record()}
        for n in (2, 0)
    ]
    found = recorded(*lines, {"id": "long", "response": Completion(key="").in_record()},
                     {"id": "blocked", "response": None}).matched(asked)  # fmt: skip
    assert found == [replace(asked[2], sample="q2"), replace(asked[0], sample="q0"), None, None]
    with pytest.raises(DataError, match=r"1 of 2 answers, the first of q0, .* code c0ffee"):
        recorded(*lines, code={"commit": "c0ffee"}).matched(asked[1:])


def test_what_changed_is_named() -> None:
    run = recorded(data={"a.csv": "1", "b.csv": "2"}, prompt={"harm": "h"})
    run.check_same("data", {"a.csv": "1", "b.csv": "2"}, "the data")
    run.check_same("prompt.harm", "h", "the prompts")
    with pytest.raises(DataError, match=r"the data \(b.csv, c.csv\) changed since"):
        run.check_same("data", {"a.csv": "1", "c.csv": "2"}, "the data")
    with pytest.raises(DataError, match="the prompts changed since"):
        run.check_same("prompt.none", "h", "the prompts")


def test_the_model_itself_has_no_scope_to_state() -> None:
    assert scope_of(IDENTITY, dict(IDENTITY)) is None


@pytest.mark.parametrize(
    ("changed", "words", "same_weights"),
    [
        ({"engine": "vllm"}, "engine vllm for the answers, hf for the activations", True),
        ({"dtype": "float16"}, "precision float16 for the answers, bfloat16 for", True),
        ({"quantisation": "awq"}, "quantisation awq for the answers, none for the activ", True),
        ({"revision": "def"}, "revision def for the answers, abc for the activations", False),
        ({"source": "org/other"}, "weights org/other for the answers, org/name for", False),
        ({"template": "s" * 64}, "chat template ssssssssssss… for the answers", True),
    ],
)
def test_what_tells_two_models_apart_is_said(
    changed: dict[str, str], words: str, same_weights: bool
) -> None:
    said = scope_of(IDENTITY | changed, IDENTITY)
    assert said is not None
    assert words in said
    assert ("same weights" in said) == same_weights


def test_a_server_never_passes_for_the_weights() -> None:
    said = scope_of({"engine": "openai_compatible", "id": "name", "base_url": "u"}, IDENTITY)
    assert said is not None
    assert "not known to be of the model" in said
    assert "weights none for the answers" in said


@given(st.dictionaries(st.sampled_from(sorted(IDENTITY)), st.sampled_from(["x", "y", None])))
def test_only_equal_identities_have_no_scope(changed: dict[str, str | None]) -> None:
    other = IDENTITY | changed
    assert (scope_of(other, IDENTITY) is None) == (other == IDENTITY)
