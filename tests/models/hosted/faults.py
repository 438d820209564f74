"""Faults of the server that misbehaves on demand, as the tests plant them."""

from __future__ import annotations

from typing import Any


def first(fault: str) -> Any:
    return lambda prompt, attempt: fault if attempt == 1 and prompt == "item 3" else ""


def always(fault: str, *items: int) -> Any:
    prompts = {f"item {i}" for i in items}
    return lambda prompt, attempt: fault if not prompts or prompt in prompts else ""
