"""From a command line to jobs: how many there are, and what is refused before the first."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.errors import ConfigError

CONF = ROOT / "conf"
config.register()

JOBS = [
    ("benchmark=tracesafe model=qwen3_14b", 4),
    ("benchmark=tracesafe model=smollm2 limit=4 protocol.answer=score", 4),
    ("benchmark=rag_safety judges=local model=qwen2_5_7b", 4),
    ("benchmark=rag_safety judges=rag_safety condition=oracle", 1),
    ("benchmark=rag_safety judges=local model=smollm2,qwen3_4b", 2),
    ("protocol=binary,fine", 2),
    ("protocol=binary", 1),
    ("protocol.variant=plain,reversed,reworded_1", 3),
    ("protocol=binary,fine protocol.variant=plain,reversed", 4),
    ("model=smollm2,qwen3_4b", 2),
    ("seed=1,2,3 protocol=binary,fine", 6),
    ("+sweeps=tracesafe_table1", 36),
    ("+sweeps=tracesafe_pilot", 4),
    ("+sweeps=tracesafe_needle", 5),
    ("+sweeps=tracesafe_table1 protocol=fine,coarse", 18),
]


@pytest.mark.parametrize(("line", "count"), JOBS)
def test_the_number_of_jobs(line: str, count: int, tmp_path: Path) -> None:
    arguments = [*line.split(), f"output_dir={tmp_path}"]
    plan = sweep.plan(["-m", *arguments], CONF)
    ran = sweep.jobs(plan.arguments[1:-1])
    assert plan.arguments[-1] == "hydra.sweeper.params=null"
    assert len(ran) == count
    assert len({tuple(job) for job in ran}) == count


def test_the_multirun_flag_may_stand_anywhere(tmp_path: Path) -> None:
    words = ["benchmark=tracesafe", f"output_dir={tmp_path}"]
    plans = [
        sweep.plan([*words[:i], flag, *words[i:]], CONF)
        for i, flag in itertools.product(range(3), ["-m", "--multirun"])
    ]
    assert all(plan == plans[0] for plan in plans)


def test_all_jobs_are_checked_before_the_first(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"1 of 2 jobs cannot run.*limit"):
        sweep.plan(["-m", "limit=3,0", f"output_dir={tmp_path}"], CONF)


def test_several_values_without_multirun_are_an_error() -> None:
    with pytest.raises(ConfigError, match="Add -m"):
        sweep.plan(["protocol=binary,fine"], CONF)


def test_editing_conf_during_a_multirun_changes_nothing(tmp_path: Path) -> None:
    conf = tmp_path / "conf"
    for path in CONF.rglob("*.yaml"):
        target = conf / path.relative_to(CONF)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(path.read_bytes())
    plan = sweep.plan(["-m", f"output_dir={tmp_path}"], conf)
    (conf / "protocol" / "fine.yaml").write_text("name: broken\n")
    with sweep.composing(plan.conf):
        assert config.to_typed(compose("config", ["protocol=fine"])).protocol.answers == "class"
    assert sweep.plan(["-m", f"output_dir={tmp_path}"], CONF).conf == plan.conf


@pytest.mark.parametrize("group", ["task", "benchmark", "condition", "protocol"])
def test_the_name_of_a_file_cannot_be_given_to_another(group: str) -> None:
    with pytest.raises(ConfigError, match=f"{group}.name: is the name of its file"):
        sweep.plan([f"{group}.name=other"], CONF)
