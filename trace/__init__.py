"""A laboratory for LLM-safety experiments. Run it as `python -m trace.run`.

The standard library has a module of this name. Its public names are forwarded, so that a
dependency that means that module still works; it is read on first use only.
"""

from __future__ import annotations

import importlib.util
import sysconfig
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any


@cache
def _standard_library_trace() -> ModuleType:
    path = Path(sysconfig.get_paths()["stdlib"]) / "trace.py"
    spec = importlib.util.spec_from_file_location("_standard_library_trace", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def __getattr__(name: str) -> Any:
    if name in ("Trace", "CoverageResults", "main"):
        return getattr(_standard_library_trace(), name)
    raise AttributeError(f"module 'trace' has no attribute {name!r}")
