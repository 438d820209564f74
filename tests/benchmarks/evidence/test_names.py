"""What tables call a component is what a user types to have it judged."""

from __future__ import annotations

from pathlib import Path

import yaml

import trace
from trace.benchmarks.evidence.names import CONDITION_OF, shown
from trace.benchmarks.evidence.triple import COMPONENTS


def test_a_component_has_the_name_of_its_condition() -> None:
    folder = Path(trace.__file__).parents[1] / "conf" / "condition"
    written = [yaml.safe_load(path.read_text("utf-8")) for path in folder.glob("*.yaml")]
    picking = {one["part"]: one["name"] for one in written if one.get("part")}
    assert picking == dict(CONDITION_OF)
    assert tuple(CONDITION_OF) == COMPONENTS


def test_what_is_no_component_keeps_its_name() -> None:
    assert [shown(item) for item in ("reasoning", "category")] == ["trace", "category"]
