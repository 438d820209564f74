"""The sweep of Table 2: its jobs compose, and are of guards that can be asked as it asks them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import ROOT
from trace import sweep

CONF = ROOT / "conf"
ARGUMENTS = ["-m", "+sweeps=evidence_table2"]


@pytest.mark.slow
def test_18_guards_on_three_components(tmp_path: Path) -> None:
    """`plan` composes and checks each of them."""
    plan = sweep.plan([*ARGUMENTS, f"output_dir={tmp_path}"], CONF)
    jobs = [dict(word.split("=", 1) for word in job if word.startswith(("model=", "condition=")))
            for job in sweep.jobs(plan.arguments[1:-1])]  # fmt: skip
    assert len(jobs) == 54
    assert len({(job["model"], job["condition"]) for job in jobs}) == 54
    names = {job["model"] for job in jobs}
    assert len(names) == 18
    for name in names:
        assert "\nkind: guard\n" in (CONF / "model" / f"{name}.yaml").read_text("utf-8")
    assert {job["condition"] for job in jobs} == {"prompt", "trace", "response"}


def test_it_can_be_narrowed(tmp_path: Path) -> None:
    arguments = [*ARGUMENTS, "model=qwen3guard_0_6b,qwen3guard_4b", f"output_dir={tmp_path}"]
    assert len(sweep.jobs(sweep.plan(arguments, CONF).arguments[1:-1])) == 6
