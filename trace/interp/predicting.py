"""Lightning's prediction as a plain call: what goes wrong in it is raised here, and as it was."""

from __future__ import annotations

from lightning.pytorch import LightningModule, Trainer
from torch.multiprocessing.spawn import ProcessRaisedException

from trace import errors
from trace.interp.activations.trainer import interrupts_heard


def predict(trainer: Trainer, module: LightningModule) -> None:
    """Runs the module's predictions; its callbacks keep them.

    Raises:
        KeyboardInterrupt: the user's; Lightning would end the program and stay deaf to the next.
        TraceError: also one that was raised in a process that the trainer had spawned.
    """
    try:
        with interrupts_heard():
            trainer.predict(module, return_predictions=False)
    except ProcessRaisedException as error:  # all that is left of it is its text
        name, _, message = str(error).strip().rpartition("\ntrace.errors.")[2].partition(": ")
        kind = getattr(errors, name, None)
        if kind is None:
            raise
        raise kind(message) from None
