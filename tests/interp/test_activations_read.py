"""From judged answers to activations: shards, resuming, several processes, bad input."""

from __future__ import annotations

import gc
import re
import signal
import weakref
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file, save_file

from tests.interp.activations_help import answered, conversations, stored, tiny
from trace import config
from trace.errors import ConfigError, DataError
from trace.interp.activations import reader
from trace.interp.activations.capture import captured
from trace.interp.activations.read import read_stream
from trace.interp.activations.trainer import silent_trainer
from trace.interp.stream import Stream
from trace.models import open as opened
from trace.models.local import TextSide


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> config.Model:
    return stored(tmp_path_factory.mktemp("model"))


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opened, "_open", {})


def read(model: config.Model, folder: Path, **changes: Any) -> Stream:
    given = {"labelled": conversations(), "layers": [1], "position": "response_last"} | changes
    labelled = given.pop("labelled")
    trainer = given.pop("trainer", config.Trainer(accelerator="cpu"))
    return read_stream(model, labelled, trainer=trainer, output_dir=folder, **given)


def shards(folder: Path) -> list[Path]:
    return sorted((folder / "activations" / "tiny").iterdir())


def counted(monkeypatch: pytest.MonkeyPatch, stop_after: int | None = None) -> list[int]:
    """The sizes of the batches that go through the model; it breaks off when told."""
    sizes: list[int] = []
    whole = reader.read_rows

    def counting(model: Any, rows: Any, layers: Any) -> torch.Tensor:
        if len(sizes) == stop_after:
            raise KeyboardInterrupt
        sizes.append(len(rows))
        return whole(model, rows, layers)

    monkeypatch.setattr(reader, "read_rows", counting)
    return sizes


def by_hand(model: config.Model, layers: tuple[int, ...]) -> torch.Tensor:
    """Row for row, from the whole conversation as the template writes it."""
    weights, text = tiny("llama"), TextSide(model)
    rows = []
    for one in conversations():
        said = [*one.request.messages, {"role": "assistant", "content": one.response.text}]
        rendered = text.tokenizer.apply_chat_template(said, tokenize=False)
        ids = text.tokenizer(rendered, add_special_tokens=False)["input_ids"]
        with torch.inference_mode(), captured(weights, layers, torch.clone) as seen:
            weights(input_ids=torch.tensor([ids]), use_cache=False)
        rows.append(torch.stack([seen[layer][0, -2] for layer in layers]))
    return torch.stack(rows)


def test_the_stream_is_that_of_each_conversation_in_order(
    model: config.Model, tmp_path: Path
) -> None:
    stream = read(model, tmp_path)
    assert stream.layers == (1, 5)
    assert stream.x.dtype == torch.float32
    torch.testing.assert_close(stream.x, by_hand(model, (1, 5)), rtol=1e-4, atol=1e-4)
    assert len(shards(tmp_path)) > 3


def test_shards_that_are_there_need_no_model(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = read(model, tmp_path)
    monkeypatch.setattr(reader, "open_model", lambda settings: pytest.fail("loaded"))
    assert torch.equal(read(model, tmp_path).x, first.x)


@pytest.mark.parametrize(
    "changes",
    [{"layers": [2]}, {"position": "response_mean"}, {"labelled": conversations()[1:]}],
)
def test_what_changes_a_number_changes_a_name(
    model: config.Model, tmp_path: Path, changes: dict[str, Any]
) -> None:
    read(model, tmp_path)
    before = set(shards(tmp_path))
    read(model, tmp_path, **changes)
    assert set(shards(tmp_path)) - before


def test_another_model_finds_nothing_of_this_one(model: config.Model, tmp_path: Path) -> None:
    other = stored(tmp_path / "other", initializer_range=0.5, num_hidden_layers=7)
    first = read(model, tmp_path).x
    second = read(other, tmp_path, layers=[1, 5])
    assert second.layers == (1, 5, 6)
    assert not torch.allclose(first, second.x[:, :2])


def test_a_run_that_broke_off_computes_only_the_rest(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    signal.signal(signal.SIGINT, signal.default_int_handler)  # a background suite ignores it
    undisturbed = read(model, tmp_path / "whole").x
    total = len(shards(tmp_path / "whole"))
    with monkeypatch.context() as patch:
        counted(patch, stop_after=1)
        with pytest.raises(KeyboardInterrupt):
            read(model, tmp_path)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert len(shards(tmp_path)) == 1  # and no unfinished file beside it
    sizes = counted(monkeypatch)
    assert torch.equal(read(model, tmp_path).x, undisturbed)
    assert len(sizes) == total - 1


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="no table of mapped files here")
def test_what_was_read_lies_on_the_disk_and_goes_with_its_reader(
    model: config.Model, tmp_path: Path
) -> None:
    mapped = f"{tmp_path.resolve()}/activations"
    stream = read(model, tmp_path)
    assert mapped in Path("/proc/self/maps").read_text("utf-8")
    assert {path.suffix for path in (tmp_path / "activations").rglob("*.*")} == {".safetensors"}
    del stream
    gc.collect()
    assert mapped not in Path("/proc/self/maps").read_text("utf-8")


def test_what_is_kept_in_memory_does_not_grow_with_the_samples(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[weakref.ref[torch.Tensor]] = []
    alive: list[int] = []
    whole = reader.read_rows

    def watched(*given: Any) -> torch.Tensor:
        alive.append(sum(one() is not None for one in made))
        x = whole(*given)
        made.append(weakref.ref(x))
        return x

    monkeypatch.setattr(reader, "read_rows", watched)
    read(model, tmp_path, labelled=conversations(40))
    assert len(alive) > 10
    assert max(alive) <= 2


@pytest.mark.slow
def test_two_processes_write_what_one_does(
    model: config.Model, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    alone = read(model, tmp_path / "one")
    capfd.readouterr()
    two = config.Trainer(accelerator="cpu", devices=2)
    both = read(model, tmp_path / "two", trainer=two)
    said = capfd.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"tiny: activations: \d/\d, .*\n", said.err)
    # Lightning gives each of several processes fewer threads, which round otherwise.
    torch.testing.assert_close(alone.x, both.x)
    names = [[path.name for path in shards(tmp_path / n)] for n in ("one", "two")]
    assert names[0] == names[1]


def test_only_the_progress_is_said(
    model: config.Model, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    read(model, tmp_path)
    said = capfd.readouterr()
    assert said.out == ""
    assert re.fullmatch(r"tiny: activations: 12/12, .*\n", said.err)


def test_the_warm_model_is_used(model: config.Model, tmp_path: Path) -> None:
    warm = opened.open_model(model)
    weights = warm.model  # type: ignore[attr-defined]
    device = weights.device
    read(model, tmp_path)
    assert opened.open_model(model).model is weights  # type: ignore[attr-defined]
    assert weights.device == device


def test_numbers_that_are_not_finite_name_sample_and_layer(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = reader.read_rows

    def spoilt(weights: Any, rows: Any, layers: Any) -> torch.Tensor:
        x = whole(weights, rows, layers)
        for row, values in zip(rows, x, strict=True):
            values[3:] += torch.inf if row.id == "s7" else 0
        return x

    with monkeypatch.context() as patch:
        patch.setattr(reader, "read_rows", spoilt)
        with pytest.raises(DataError, match=r"^sample s7: its activations behind layer 3 are not"):
            read(model, tmp_path, layers="all")
    assert read(model, tmp_path, layers="all").x.isfinite().all()  # the shard was not kept


def test_weights_that_are_not_numbers_are_noticed(tmp_path: Path) -> None:
    settings = stored(tmp_path / "model")
    file = tmp_path / "model" / "model.safetensors"
    weights = load_file(file)
    only = TextSide(settings).tokenizer.convert_tokens_to_ids("7")  # stands in one answer
    weights["model.embed_tokens.weight"][only] = torch.nan
    save_file(weights, file, {"format": "pt"})
    with pytest.raises(DataError, match=r"^sample s7: its activations behind layer 0 are not"):
        read(settings, tmp_path, layers="all")


def test_a_file_that_is_no_shard_is_named(model: config.Model, tmp_path: Path) -> None:
    read(model, tmp_path)
    shards(tmp_path)[0].write_bytes(b"cut off")
    with pytest.raises(DataError, match=r"cannot be read .* Delete the file"):
        read(model, tmp_path)


def test_an_answer_without_the_position_is_named(model: config.Model, tmp_path: Path) -> None:
    many = [*conversations(3), answered(9, "why?", "")]
    with pytest.raises(DataError, match=r"^sample s9: .*the answer is empty"):
        read(model, tmp_path, labelled=many)
    with pytest.raises(DataError, match="there are no answers"):
        read(model, tmp_path, labelled=[])


def test_a_layer_that_is_not_there_is_refused_before_loading(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reader, "open_model", lambda settings: pytest.fail("loaded"))
    with pytest.raises(ConfigError, match=r"no layer 6; it has 6, counted from 0 to 5"):
        read(model, tmp_path, layers=[6])


def test_engines_that_show_nothing_are_refused(model: config.Model, tmp_path: Path) -> None:
    other = replace(model, engine=config.VllmEngine())
    with pytest.raises(ConfigError, match="does not show its activations"):
        read(other, tmp_path)


def test_one_model_over_all_devices_is_not_started_on_each(
    model: config.Model, tmp_path: Path
) -> None:
    spread = replace(model, engine=config.HfEngine(device_map="auto"))
    with pytest.raises(ConfigError, match=r"^model\.engine\.device_map: auto spreads"):
        read(spread, tmp_path, trainer=config.Trainer(devices=2))


def test_memory_that_does_not_suffice_is_said(
    model: config.Model, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*given: Any) -> torch.Tensor:
        raise RuntimeError("DefaultCPUAllocator: can't allocate memory")

    monkeypatch.setattr(reader, "read_rows", full)
    with pytest.raises(ConfigError, match=r"^model\.engine\.prefill_tokens: out of memory"):
        read(model, tmp_path)


@pytest.mark.parametrize("wrong", [{"accelerator": "gpuu"}, {"strategy": "nosuch"}])
def test_what_lightning_does_not_know_is_one_message(wrong: dict[str, str]) -> None:
    with pytest.raises(ConfigError, match=r"^trainer: Lightning refuses"):
        silent_trainer(config.Trainer(**wrong))
