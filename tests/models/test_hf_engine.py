"""The whole engine on the real SmolLM2, against transformers and against itself."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from trace import config
from trace.errors import AssetError, ConfigError
from trace.models.hf import engine, forward
from trace.models.hf.engine import HfModel
from trace.records import Completion, Request, Sampling

pytestmark = pytest.mark.slow

TOPICS = ["rain", "bread", "a lighthouse", "the moon", "chess", "a train", "ink", "salt",
          "a bridge", "snow"]  # fmt: skip


def settings(**options: Any) -> config.Model:
    return config.Model(
        name="smollm2",
        asset="smollm2",
        reasoning="none",
        engine=config.HfEngine(dtype="float32", **options),
    )


@pytest.fixture(scope="module")
def model() -> HfModel:
    made = HfModel(settings())
    try:
        assert made.text.tokenizer is not None
    except AssetError as error:
        pytest.skip(str(error))
    return made


def ask(text: str, **changes: Any) -> Request:
    return Request(
        messages=({"role": "user", "content": text},),
        **{"sampling": Sampling(max_new_tokens=12), **changes},
    )


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    return [ask(f"Write one short sentence about {t}." + " Please." * i * 3)
            for i, t in enumerate(TOPICS)]  # fmt: skip


def answers(model: HfModel, requests: list[Request], done: Any = None) -> dict[str, Completion]:
    return {c.key: c for batch in model.generate(requests, done or {}) for c in batch}


def shaped(model: HfModel, **options: Any) -> HfModel:
    """The same weights under another batch shape."""
    other = HfModel(settings(**options))
    other.__dict__["model"] = model.model
    return other


def text_of(model: HfModel, request: Request, made: dict[str, Completion]) -> str:
    return made[request.key(model.identity)].text


def test_float32_texts_are_those_of_transformers_at_batch_1_and_8(
    model: HfModel, requests: list[Request]
) -> None:
    whole = answers(model, requests)
    single = answers(shaped(model, decode_rows=1, prefill_tokens=1), requests)
    eight = answers(shaped(model, decode_rows=8, prefill_tokens=512), requests)
    for request in requests:
        ids = model.text.tokenizer.apply_chat_template(
            list(request.messages), add_generation_prompt=True, return_tensors="pt",
            return_dict=True,
        )["input_ids"]  # fmt: skip
        out = model.model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=12, do_sample=False
        )[0, ids.shape[1] :]
        expected = model.text.tokenizer.decode(out, skip_special_tokens=True)
        assert text_of(model, request, whole) == expected.strip() == expected
        assert text_of(model, request, single) == expected
        assert text_of(model, request, eight) == expected
        completion = whole[request.key(model.identity)]
        assert completion.prompt_tokens == ids.shape[1]
        ended = model.text.tokenizer.eos_token_id in out
        assert completion.finish == ("stop" if ended else "length")


def test_scores_equal_a_forward_for_each_label(model: HfModel) -> None:
    labels = ('Safe"', 'Unsafe"', 'Prompt injection"')
    asked = [ask(f"Is {t} safe? Answer in JSON.", labels=labels, prefix='{"verdict": "')
             for t in TOPICS[:5]]  # fmt: skip
    made = answers(model, asked)
    for request in asked:
        head = model.text.tokenizer.apply_chat_template(
            list(request.messages), add_generation_prompt=True, tokenize=False
        )
        tokenizer = model.text.tokenizer
        start = len(tokenizer(head + request.prefix, add_special_tokens=False)["input_ids"])
        for label in labels:
            ids = model.text.tokenizer(head + request.prefix + label, add_special_tokens=False,
                                  return_tensors="pt")["input_ids"]  # fmt: skip
            with torch.inference_mode():
                chances = torch.log_softmax(model.model(ids).logits[0].float(), -1)
            # what the labels share (nothing here) is left out of all sums alike
            expected = sum(float(chances[i - 1, ids[0, i]]) for i in range(start, ids.shape[1]))
            got = made[request.key(model.identity)].scores
            assert got is not None
            assert got[label].logprob == pytest.approx(expected, abs=1e-3)
            assert got[label].tokens == ids.shape[1] - start


def test_sampled_rows_do_not_depend_on_the_rows_beside_them(
    model: HfModel, requests: list[Request]
) -> None:
    warm = Sampling(temperature=0.9, top_p=0.9, max_new_tokens=12)
    asked = [dataclasses.replace(r, sampling=warm, epoch=e) for r in requests[:4] for e in (0, 1)]
    together = answers(model, asked)
    alone = answers(shaped(model, decode_rows=1, prefill_tokens=1), asked)
    assert {k: c.text for k, c in together.items()} == {k: c.text for k, c in alone.items()}
    assert len({c.text for c in together.values()}) > 4, "repeats must be fresh draws"


def test_a_prompt_longer_than_the_context_is_too_long_and_nothing_is_cut(model: HfModel) -> None:
    small = HfModel(dataclasses.replace(settings(), context=60))
    small.__dict__["model"] = model.model
    short, long = ask("Hello."), ask("word " * 80)
    made = answers(small, [short, long])
    assert made[long.key(small.identity)].finish == "too_long"
    assert made[long.key(small.identity)].prompt_tokens > 60
    assert made[short.key(small.identity)].finish in ("stop", "length")


def test_stop_strings_end_one_row_only(model: HfModel) -> None:
    plain = ask("Count: one two three four five. Repeat this sentence.")
    text = text_of(model, plain, answers(model, [plain]))
    word = text.split()[2]
    stopped = dataclasses.replace(plain, sampling=Sampling(max_new_tokens=12, stop=(word,)))
    made = answers(model, [plain, stopped])
    assert text_of(model, plain, made) == text
    assert text_of(model, stopped, made) == text[: text.index(word)]
    assert made[stopped.key(model.identity)].finish == "stop"


def test_out_of_memory_halves_the_batch_and_loses_nothing(
    model: HfModel, requests: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = answers(model, requests)
    real = forward.prefill

    def small_memory(lm: Any, rows: Any, **options: Any) -> Any:
        if len(rows) > 3:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 TiB.")
        return real(lm, rows, **options)

    monkeypatch.setattr(forward, "prefill", small_memory)
    got = answers(model, requests)
    assert {k: c.text for k, c in got.items()} == {k: c.text for k, c in expected.items()}
    assert max(c.batch_rows for c in got.values()) < max(c.batch_rows for c in expected.values())


def test_one_row_that_does_not_fit_says_what_to_change(
    model: HfModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_memory(*_: Any, **__: Any) -> Any:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory: you tried to allocate")

    monkeypatch.setattr(forward, "prefill", no_memory)
    with pytest.raises(ConfigError, match="single prompt of"):
        answers(model, [ask("Hello.")])


def test_other_errors_of_torch_are_not_taken_for_lack_of_memory(
    model: HfModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: Any, **__: Any) -> Any:
        raise RuntimeError("shape mismatch")

    monkeypatch.setattr(forward, "prefill", broken)
    with pytest.raises(RuntimeError, match="shape mismatch"):
        answers(model, [ask("Hello.")])


def test_a_resumed_plan_leaves_finished_groups_out_and_redoes_the_others_whole(
    model: HfModel, requests: list[Request]
) -> None:
    few = shaped(model, decode_rows=4, prefill_tokens=256)

    def groups(done: Any) -> Iterator[list[str]]:
        return ([c.key for c in batch] for batch in few.generate(requests, done) if batch)

    whole = list(groups({}))
    assert len(whole) > 2
    first, second = set(whole[0]), whole[1]
    done = {key: Completion(key=key) for key in [*first, second[0]]}
    assert list(groups(done)) == whole[1:]


@pytest.fixture(scope="module")
def conversations() -> list[Request]:
    """Three conversations under one rubric, each asked four questions, one of them twice."""
    made = []
    for i in range(3):
        talk = f"This is story number {i}. " + "The weather kept on changing all day long. " * 12
        for question in ("Who was there?", "Where was it?", "When did it end?", "Why?"):
            made.append(
                Request(
                    messages=(
                        {"role": "system", "content": "You read carefully. " * 12},
                        {"role": "user", "content": f"{talk}\n{question}"},
                    ),
                    sampling=Sampling(max_new_tokens=6),
                )
            )
    return [*made, dataclasses.replace(made[0], epoch=1)]


def test_shared_beginnings_are_computed_once_and_change_no_text(
    model: HfModel, conversations: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    computed: list[int] = []
    real = forward.prefill

    def counting(lm: Any, rows: Any, **options: Any) -> Any:
        computed.append(sum(map(len, rows)))
        return real(lm, rows, **options)

    monkeypatch.setattr(forward, "prefill", counting)
    shared = answers(model, conversations)
    once = sum(computed)
    computed.clear()
    monkeypatch.setattr(engine, "MIN_SAVED", 10**9)
    apart = answers(model, conversations)
    assert {k: c.text for k, c in shared.items()} == {k: c.text for k, c in apart.items()}
    assert len(shared) == len(conversations)
    assert once < sum(computed) / 2


def test_a_resumed_tree_is_like_an_undisturbed_one(
    model: HfModel, conversations: list[Request]
) -> None:
    few = shaped(model, decode_rows=4)
    whole = [batch for batch in few.generate(conversations, {}) if batch]
    assert len(whole) > 2
    done = {c.key: c for c in whole[0]}
    resumed = [batch for batch in few.generate(conversations, done) if batch]
    assert [[(c.key, c.text) for c in batch] for batch in resumed] == [
        [(c.key, c.text) for c in batch] for batch in whole[1:]
    ]


def test_scores_through_the_tree_equal_those_of_each_row_alone(
    model: HfModel, conversations: list[Request]
) -> None:
    scored = [dataclasses.replace(r, labels=("Alice", "Nobody at all")) for r in conversations[:8]]
    made = answers(model, scored)
    for request in scored:
        alone = answers(model, [request])
        together = made[request.key(model.identity)].scores
        for label, score in (alone[request.key(model.identity)].scores or {}).items():
            assert together is not None
            assert together[label].logprob == pytest.approx(score.logprob, abs=1e-3)


def test_a_device_map_gives_the_same_texts(model: HfModel, requests: list[Request]) -> None:
    """One device here: what is tested is that the map reaches the loader and is left alone."""
    spread = HfModel(settings(device_map="auto"))
    load = spread.text.source.load_weights
    given: dict[str, Any] = {}
    spread.text.source = SimpleNamespace(  # type: ignore[assignment]
        folder=spread.text.source.folder, load_weights=lambda **o: (given.update(o), load(**o))[1]
    )
    made = answers(spread, requests[:4])
    whole = answers(model, requests[:4])
    assert given["device_map"] == "auto"
    assert [c.text for c in made.values()] == [c.text for c in whole.values()]


@pytest.mark.parametrize("how", ["int8", "nf4"])
def test_quantised_weights_take_less_and_still_answer(
    model: HfModel, requests: list[Request], how: str
) -> None:
    pytest.importorskip("bitsandbytes")
    small = HfModel(settings(quantisation=how))
    made = answers(small, requests[:2])
    assert all(c.text.strip() for c in made.values())
    assert small.model.get_memory_footprint() < 0.6 * model.model.get_memory_footprint()
    assert small.identity["quantisation"] == how


def test_too_little_memory_is_said_before_the_weights_are_loaded(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, model: HfModel
) -> None:
    idle = HfModel(settings())
    monkeypatch.setattr(engine.memory, "free_bytes", lambda device: 2**20)
    stream = idle.generate([ask("Hello.")], {})
    assert next(stream) == []  # nothing is too long
    monkeypatch.setattr(HfModel, "_run", lambda self, rows, done: iter(()))
    assert list(stream) == []
    assert "model" not in idle.__dict__
    assert "may run out of memory" in caplog.text


def test_weights_are_not_loaded_before_they_are_needed() -> None:
    idle = HfModel(settings())
    assert idle.identity["source"] == "smollm2"
    assert not {"model", "tokenizer"} & (idle.__dict__ | idle.text.__dict__).keys()


def test_weights_that_are_no_safetensors_are_refused(model: HfModel, tmp_path: Path) -> None:
    for path in Path(model.text.source.folder).iterdir():
        if path.suffix != ".safetensors":
            (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "pytorch_model.bin").write_bytes(b"a pickle")
    with pytest.raises(ConfigError, match="safetensors"):
        HfModel(dataclasses.replace(settings(), asset=None, id=str(tmp_path)))
