"""Lightning's trainer without its own output, files and advice."""

from __future__ import annotations

import signal
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from lightning.pytorch import Callback, Trainer
from lightning.pytorch.utilities.exceptions import MisconfigurationException

from trace import config
from trace.errors import ConfigError
from trace.interp.activations import silence  # noqa: F401


def silent_trainer(
    settings: config.Trainer, callbacks: Sequence[Callback] = (), **options: Any
) -> Trainer:
    """The trainer of a configuration.

    Lightning's own choice for several devices starts the whole command again for each of them,
    which a run that owns its directory cannot bear; so `auto` spawns processes instead.

    Raises:
        ConfigError: there are no such devices, or no such strategy.
    """
    several = settings.devices * settings.num_nodes > 1
    try:
        return Trainer(
            accelerator=settings.accelerator,
            devices=settings.devices,
            num_nodes=settings.num_nodes,
            strategy="ddp_spawn" if several and settings.strategy == "auto" else settings.strategy,
            callbacks=list(callbacks),
            logger=False,
            enable_progress_bar=False,
            enable_checkpointing=False,
            enable_model_summary=False,
            **options,
        )
    except (MisconfigurationException, ValueError, RuntimeError) as error:
        what = " ".join(str(error).split()).rstrip(".")
        raise ConfigError(
            f"trainer: Lightning refuses these settings ({what}). "
            "Leave the group out to use the best single device."
        ) from error


@contextmanager
def interrupts_heard() -> Iterator[None]:
    """Lets an interrupt through that Lightning turns into an exit, and the next one too.

    Lightning leaves SIGINT ignored, and status 1 is not what an interrupted run ends with.
    """
    before = signal.getsignal(signal.SIGINT)
    try:
        yield
    except SystemExit as error:
        if not isinstance(error.__context__, KeyboardInterrupt):
            raise
        signal.signal(signal.SIGINT, before)
        raise KeyboardInterrupt from error
