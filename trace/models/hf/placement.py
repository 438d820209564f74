"""Where weights lie, and in how many bits."""

from __future__ import annotations

import importlib.util
import logging
from typing import Any

import torch
import transformers

from trace import config
from trace.errors import ConfigError


def quantisation(engine: config.HfEngine) -> Any:
    """What transformers is told to quantise to while loading; None for nothing.

    Raises:
        ConfigError: bitsandbytes, which does it, is not installed.
    """
    if engine.quantisation == "none":
        return None
    if importlib.util.find_spec("bitsandbytes") is None:
        raise ConfigError(
            f"model.engine.quantisation={engine.quantisation}: the package bitsandbytes is not "
            "installed. Type: pip install bitsandbytes."
        )
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # else a line a matrix product
    if engine.quantisation == "int8":
        return transformers.BitsAndBytesConfig(load_in_8bit=True)
    return transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type=engine.quantisation,
        bnb_4bit_compute_dtype=getattr(torch, engine.dtype),
    )


def device(name: str) -> torch.device:
    """The device of that name; `auto` is the best there is.

    Raises:
        ConfigError: this machine has no such device.
    """
    if name != "auto":
        try:
            probe = torch.zeros(1, device=name)
            probe.tolist()  # the device meta keeps no values
            return probe.device
        except (RuntimeError, AssertionError) as error:  # torch raises either for what is missing
            what = str(error).strip().splitlines()[0]
            raise ConfigError(
                f"model.engine.device={name}: cannot be used here ({what}). "
                "Leave it out, or give cpu."
            ) from error
    if torch.cuda.is_available():
        return torch.device("cuda")
    return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
