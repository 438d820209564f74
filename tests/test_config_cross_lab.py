"""Settings of cross-lab TRACE that nothing reads are refused: they would change a run's name."""

from __future__ import annotations

import pytest

from tests.test_config import typed
from trace.errors import ConfigError

STUDY = ("benchmark=cross_lab", "judges=local", "model=smollm2")


@pytest.mark.parametrize(
    ("line", "instead"),
    [
        ("protocol.variant=reversed", "Leave it out"),
        ("protocol.evidence=true", "Leave it out"),
        ("protocol.definitions=false", "Leave it out"),
        ("protocol.tools=false", "Leave it out"),
        ("scoring.threshold_split=0.5", "Leave it out"),
        ("benchmark.per_cell=3", "benchmark.arm=repeat"),
        ("benchmark.budget=2", "benchmark.regenerate=model"),
    ],
)
def test_what_nothing_reads_is_refused(line: str, instead: str) -> None:
    key = line.split("=")[0]
    with pytest.raises(ConfigError, match=f"^{key}: is not read.*{instead}"):
        typed(*STUDY, line)


def test_what_is_read_is_not() -> None:
    typed(*STUDY)
    typed(*STUDY, "benchmark.arm=repeat", "benchmark.per_cell=3")
    typed(*STUDY, "benchmark.regenerate=truncated", "benchmark.budget=2", "protocol.answer=score")
