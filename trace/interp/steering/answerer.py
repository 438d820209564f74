"""A language model as a Lightning module that answers under pushes, and what logs its answers."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from lightning.pytorch import Callback, LightningModule, Trainer

from trace import config
from trace.interp.steering.direction import Direction
from trace.interp.steering.padded import opened
from trace.interp.steering.push import pushed
from trace.models.hf.answers import Runner, Steer
from trace.models.hf.engine import HfModel, halving_when_full
from trace.models.hf.forward import Aim
from trace.models.hf.plan import Plan, RowGroup
from trace.models.log import CompletionLog
from trace.records import Completion, Request
from trace.tracking.progress import progress

Work = tuple[Plan, RowGroup]


def steering(model: Any, directions: Sequence[Direction]) -> Steer:
    """Steers a model as requests say, each row along its own vector.

    Args:
        model: a transformers `…ForCausalLM`.
        directions: among them all that the requests name.
    """
    vectors = {direction.sha256: direction.values for direction in directions}

    @contextmanager
    def steer(requests: Sequence[Request]) -> Iterator[Aim]:
        pushes = [request.push for request in requests if request.push is not None]
        rows = torch.stack([vectors[push.vector] for push in pushes])
        times = [push.alpha for push in pushes]
        with pushed(model, pushes[0].layer, rows, times, pushes[0].tokens) as pushing:
            yield pushing.aim

    return steer


class Answerer(LightningModule):  # type: ignore[misc]  # untyped
    """Answers groups of rows. Each process loads its own copy of the model, where it runs.

    The model is no submodule: Lightning would move it, and with a device map or quantised weights
    it has to stay where it was put. A single process uses the warm model of the configuration on
    the device that `model.engine` names; several use the devices that the trainer gives them.
    """

    def __init__(
        self, settings: config.Model, work: Sequence[Work], directions: Sequence[Direction]
    ) -> None:
        super().__init__()
        self.settings = settings
        self.work = work
        self.directions = directions
        self._model: HfModel | None = None
        self._running: tuple[Plan, Runner] | None = None

    def setup(self, stage: str) -> None:
        """Opens the model in this process."""
        settings, engine = self.settings, self.settings.engine
        assert isinstance(engine, config.HfEngine)
        if self.trainer.world_size > 1 and engine.device_map is None:
            here = str(self.trainer.strategy.root_device)
            settings = replace(settings, engine=replace(engine, device=here))
        self._model = opened(settings)
        self._model.warn_of_shortage(group for _, group in self.work)

    def teardown(self, stage: str) -> None:
        """Leaves the model to `open_model`, which frees it when another is opened."""
        self._model = self._running = None

    def predict_dataloader(self) -> list[int]:
        """The numbers of the groups that this process answers."""
        return list(range(len(self.work)))[self.trainer.global_rank :: self.trainer.world_size]

    def predict_step(self, number: int) -> list[Completion]:
        """The completions of one group.

        Raises:
            ConfigError: not even one row fits into memory; or the layer cannot be pushed.
        """
        plan, group = self.work[number]
        runner = self._runner(plan)
        return [made for part in halving_when_full(runner, group) for made in part]

    def _runner(self, plan: Plan) -> Runner:
        """One a plan, since it keeps the beginnings that groups share."""
        assert self._model is not None
        if self._running is None or self._running[0] is not plan:
            steer = steering(self._model.model, self.directions)
            self._running = plan, self._model.runner(plan, steer)
        return self._running[1]


class LogWriter(Callback):  # type: ignore[misc]  # untyped
    """Logs each group as it is done; of the first process it shows the progress too.

    Every process writes a segment of its own. Errors are not logged, so they are tried again.
    """

    def __init__(self, folder: Path, title: str) -> None:
        self.folder = folder
        self.title = title
        self._open = ExitStack()
        self._log: CompletionLog | None = None
        self._meter: Any = None

    def on_predict_start(self, trainer: Trainer, pl_module: Answerer) -> None:
        """Opens this process's log."""
        self._log = self._open.enter_context(CompletionLog(self.folder))
        if trainer.is_global_zero:
            mine = [pl_module.work[number][1] for number in pl_module.predict_dataloader()]
            rows = sum(len(batch) for group in mine for batch in group)
            self._meter = self._open.enter_context(progress(rows, self.title))

    def on_predict_batch_end(
        self,
        trainer: Trainer,
        pl_module: LightningModule,
        outputs: list[Completion],
        batch: int,
        batch_idx: int,
        dataloader_idx: int = 0,
    ) -> None:
        """Logs one group."""
        assert self._log is not None
        self._log.append([made for made in outputs if made.finish != "error"])
        if self._meter is not None:
            self._meter.advance(len(outputs))

    def on_predict_end(self, trainer: Trainer, pl_module: LightningModule) -> None:
        """Makes the log durable."""
        self._open.close()

    def on_exception(
        self, trainer: Trainer, pl_module: LightningModule, exception: BaseException
    ) -> None:
        """Makes the log durable."""
        self._open.close()
