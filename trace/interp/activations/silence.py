"""Importing this keeps Lightning from talking, in whatever process it is imported.

A spawned process imports Lightning anew, which makes it talk again, and meets its first message
before any code of ours is called: so the modules whose objects travel there import this one.
"""

from __future__ import annotations

import logging
import warnings

import lightning.pytorch  # noqa: F401  # first: it sets the levels itself

for name in ("lightning.pytorch", "lightning.fabric"):
    logging.getLogger(name).setLevel(logging.ERROR)
warnings.filterwarnings("ignore", category=FutureWarning, module=r"lightning\.")
