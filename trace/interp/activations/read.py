"""From judged answers to the residual stream behind chosen layers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from trace import config
from trace.errors import ConfigError, DataError
from trace.interp.activations import shards
from trace.interp.activations.layers import chosen_layers
from trace.interp.activations.reader import Reader
from trace.interp.activations.tokens import Row, UnreadableError, row_of
from trace.interp.activations.trainer import silent_trainer
from trace.interp.labelled import Labelled
from trace.interp.predicting import predict
from trace.interp.stream import Stream
from trace.models.hf.engine import HfModel
from trace.models.local import TextSide
from trace.tracking.files import safe_name

FOLDER = "activations"


def readable(
    model: config.Model, labelled: Sequence[Labelled], position: str
) -> tuple[list[Labelled], dict[str, str]]:
    """The answers that have the position, and why each of the others (by id) has not.

    No weights are loaded. With a control model, what one of the two cannot read must be left out
    of both, so that they are compared on the same answers.

    Raises:
        ConfigError: the model's chat template cannot render a request.
    """
    _, unreadable = _rows(TextSide(model), labelled, position)
    return [one for one in labelled if one.id not in unreadable], unreadable


def read_stream(
    model: config.Model,
    labelled: Sequence[Labelled],
    *,
    layers: str | Sequence[int],
    position: str,
    trainer: config.Trainer,
    output_dir: str | Path,
) -> Stream:
    """The residual stream behind the chosen decoder layers, one position a sample.

    Shards in `<output_dir>/activations/<model>` that hold what is asked for are not computed
    again; if all are there, the model is not loaded.

    Args:
        model: reads prompt and answer; it need not have written the answer.
        labelled: what is read.
        layers: every_4th, all, or layer numbers; the last layer is always read too.
        position: `config.Position`.
        trainer: where the model runs.
        output_dir: holds the shards.

    Raises:
        ConfigError: the engine is not transformers, the model has no such layer, its layers
            cannot be told or hooked, or there are no such devices for it.
        DataError: an answer does not have the position (`readable` tells which have), or
            activations are no finite numbers (the message names layer and sample).
    """
    engine = model.engine
    if not isinstance(engine, config.HfEngine):
        raise ConfigError(
            f"model/engine: {engine.name} does not show its activations. Use model/engine=hf."
        )
    if engine.device_map is not None and trainer.devices * trainer.num_nodes > 1:
        raise ConfigError(
            f"model.engine.device_map: {engine.device_map} spreads one model over all devices, and "
            "trainer.devices asks for one on each. Use trainer.devices=1, or leave the map out."
        )
    side = HfModel(model)  # and not open_model, which would put a warm model away
    numbers = chosen_layers(side.text.config.num_hidden_layers, layers)
    rows, unreadable = _rows(side.text, labelled, position)
    if unreadable or not rows:
        name, reason = next(iter(unreadable.items()), ("none", "there are no answers"))
        raise DataError(
            f"sample {name}: cannot be read at probe.position={position} ({reason}). "
            "Leave it out, or use probe.position=prompt_end."
        )
    folder = Path(output_dir) / FOLDER / safe_name(model.name)
    plan = shards.planned(
        rows, numbers, tokens=engine.prefill_tokens, identity=side.identity, folder=folder
    )
    if missing := [shard for shard in plan if not shard.path.is_file()]:
        _compute(model, missing, numbers, trainer)
    return Stream(x=shards.assembled(plan, numbers), layers=numbers)


def _rows(
    text: TextSide, labelled: Sequence[Labelled], position: str
) -> tuple[list[Row], dict[str, str]]:
    rows: list[Row] = []
    unreadable: dict[str, str] = {}
    for one in labelled:
        try:
            rows.append(row_of(text, one, position))
        except UnreadableError as error:
            unreadable[one.id] = str(error)
    return rows, unreadable


def _compute(
    model: config.Model,
    missing: Sequence[shards.Shard],
    layers: Sequence[int],
    trainer: config.Trainer,
) -> None:
    reader = Reader(model, [shard.rows for shard in missing], layers)
    writer = shards.ShardWriter(missing, f"{model.name}: activations")
    predict(silent_trainer(trainer, [writer]), reader)
