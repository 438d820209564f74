"""The families of guards there are, by the name that `model.guard` gives."""

from __future__ import annotations

from collections.abc import Mapping

from trace.errors import ConfigError
from trace.judging.guards.base import Guard
from trace.judging.guards.families_a import FAMILIES_A
from trace.judging.guards.families_b import FAMILIES_B
from trace.judging.guards.families_c import FAMILIES_C

FAMILIES: Mapping[str, Guard] = {**FAMILIES_A, **FAMILIES_B, **FAMILIES_C}


def guard_of(name: str) -> Guard:
    """The guard of a family.

    Raises:
        ConfigError: there is no such family.
    """
    if name not in FAMILIES:
        raise ConfigError(
            f"model.guard: {name!r} is no family of guards. Choose one of {', '.join(FAMILIES)}."
        )
    return FAMILIES[name]
