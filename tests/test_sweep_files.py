"""Every file of sweeps/ and sweeps/wandb/: it composes, its jobs can run, and there are so many."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import yaml
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.config.benchmarks import MODEL_SLOTS
from trace.errors import ConfigError, UnsupportedError
from trace.messages import known_keys
from trace.tasks.guarding import Guarding

CONF = ROOT / "conf"
SIDES = ["probe.run=.", "probe.positive=[a]", "probe.negative=[b]"]
config.register()


class File(NamedTuple):
    """What is known of a sweep: how many jobs, how many of them no model can do, what it needs."""

    jobs: int
    impossible: int = 0
    needs: tuple[str, ...] = ()


FILES = {
    "tracesafe_table1": File(36),
    "tracesafe_table1_hosted": File(16),
    "tracesafe_table1_guards": File(5),
    "tracesafe_figure3_ragtruth": File(9, needs=("benchmark.path=.",)),
    "tracesafe_figure3_strongreject": File(
        9, needs=("benchmark.path=.", "benchmark.judge=qwen3_32b")
    ),
    "tracesafe_needle": File(5),
    "tracesafe_pilot": File(4),
    "tracesafe_rerun": File(2),
    "evidence_table2": File(54, impossible=1),  # octopus_14b judges no prompt
    "rag_safety_figure2": File(20),
    "rag_safety_benign": File(5),
    "cross_lab": File(12),
    "cross_lab_mock": File(12),
    "cross_lab_budget": File(12),
    "cross_lab_context": File(24),
    "cross_lab_probe": File(1, needs=tuple(SIDES)),
    "cross_lab_steer": File(1, needs=tuple(SIDES)),
}
WANDB = {
    "tracesafe": "tracesafe_table1",
    "evidence": "evidence_table2",
    "rag_safety": "rag_safety_figure2",
    "cross_lab": "cross_lab",
}
"""File of sweeps/wandb -> the sweep whose jobs it hands to agents."""

TARGETS = {None: "trajectory", "prompt": "prompt", "reasoning": "reasoning", "response": "response"}


def typed(overrides: list[str]) -> config.Root:
    """One job as it would run."""
    composed = config.to_typed(compose("config", [*map(sweep.chosen_model, overrides)]))
    config.check_files(composed)
    return composed


def possible(settings: config.Root) -> bool:
    """Whether the models can do what is asked; a job that is wrong raises instead."""
    if settings.task.name in ("probe", "steer"):
        return isinstance(settings.model.engine, config.HfEngine)
    judges = {} if settings.judges is None else settings.judges.models
    asked = [settings.model, *judges.values()] if settings.judges else [settings.model]
    part = "response" if settings.benchmark.asks_respondent else settings.condition.part
    for model in asked:
        if model.guard is None:
            continue
        guarding = Guarding(model)
        try:
            guarding.check(settings)
        except UnsupportedError:
            return False
        if TARGETS[part] not in guarding.guard.targets:
            return False
    return True


def planned(monkeypatch: pytest.MonkeyPatch, words: list[str], folder: Path) -> list[list[str]]:
    """The jobs of a command line, none of which is checked: the tests check what they need."""
    monkeypatch.setattr(sweep, "check_jobs", lambda conf, jobs: None)
    plan = sweep.plan(["-m", *words, f"output_dir={folder}"], CONF)
    return [own(job) for job in sweep.jobs(plan.arguments[1:-1])]


def own(job: list[str]) -> list[str]:
    """The overrides of a job without those that the door adds."""
    return [word for word in job if not word.startswith(("hydra.", "output_dir="))]


def grid(name: str) -> list[list[str]]:
    """The arguments of every run of a W&B sweep, made as its agent makes them."""
    from wandb.sdk.launch.sweeps.utils import create_sweep_command_args

    parameters = read(name)["parameters"]
    values = [one.get("values", [one.get("value")]) for one in parameters.values()]
    return [
        create_sweep_command_args(
            {"args": {key: {"value": one} for key, one in zip(parameters, point, strict=True)}}
        )["args_no_hyphens"]
        for point in itertools.product(*values)
    ]


def read(name: str) -> dict[str, Any]:
    """A file of sweeps/wandb."""
    read: dict[str, Any] = yaml.safe_load((ROOT / f"sweeps/wandb/{name}.yaml").read_text("utf-8"))
    return read


def test_the_tables_here_name_every_file() -> None:
    assert {path.stem for path in (ROOT / "sweeps").glob("*.yaml")} == FILES.keys()
    assert {path.stem for path in (ROOT / "sweeps/wandb").glob("*.yaml")} == WANDB.keys()
    folders = {path.relative_to(ROOT / "sweeps").parent for path in ROOT.glob("sweeps/**/*.yaml")}
    assert folders == {Path(), Path("wandb")}


@pytest.mark.parametrize("name", FILES)
def test_a_sweep_has_so_many_jobs(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = FILES[name]
    jobs = planned(monkeypatch, [f"+sweeps={name}", *file.needs], tmp_path)
    assert len(jobs) == len({tuple(job) for job in jobs}) == file.jobs
    with sweep.composing(CONF):
        typed(jobs[-1])  # the slow test below has all of them
    header = (ROOT / f"sweeps/{name}.yaml").read_text("utf-8").partition("\ndefaults:")[0]
    assert header.startswith("# @package _global_\n")
    said = re.search(r"(\d+) jobs?\b", header)
    assert said is not None
    assert int(said[1]) == file.jobs
    assert re.search(rf"python -m trace\.run .*\+sweeps={name} .*-m", header)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_every_job_of_a_sweep_is_valid_and_the_impossible_are_told_apart(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = FILES[name]
    jobs = planned(monkeypatch, [f"+sweeps={name}", *file.needs], tmp_path)
    with sweep.composing(CONF):
        able = [possible(typed(job)) for job in jobs]
    assert able.count(False) == file.impossible


def test_an_impossible_job_is_no_wrong_one_and_a_wrong_one_no_impossible() -> None:
    guard = ["+sweeps=tracesafe_table1_guards", "model=qwen3guard_0_6b"]
    with sweep.composing(CONF):
        found = {
            name: possible(typed([*guard, f"protocol={name}"])) for name in ("binary", "schema")
        }
        octopus = typed(["benchmark=evidence", "model=octopus_14b", "condition=prompt"])
        with pytest.raises(ConfigError, match="takes no examples"):
            possible(typed([*guard, "protocol=binary", "condition=few_shot"]))
        with pytest.raises(ConfigError, match="nobody judges it"):
            typed(["benchmark=cross_lab"])
    assert found == {"binary": True, "schema": False}
    assert not possible(octopus)


def test_a_model_for_another_seat_leaves_the_models_of_the_sweep_alone(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    words = [
        "+sweeps=tracesafe_figure3_strongreject",
        *FILES["tracesafe_figure3_strongreject"].needs,
    ]
    jobs = planned(monkeypatch, words, tmp_path)
    models = {word for job in jobs for word in job if word.startswith("model=")}
    assert len(models) == 9
    assert all("model@benchmark.judge=qwen3_32b" in job for job in jobs)


def test_a_model_on_the_command_line_takes_the_place_of_those_of_the_sweep(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    jobs = planned(monkeypatch, ["+sweeps=tracesafe_needle", "model=smollm2"], tmp_path)
    assert len(jobs) == 5
    assert all("model=smollm2" in job for job in jobs)


@pytest.mark.parametrize("name", WANDB)
def test_a_file_for_wandb_agents_reads_as_wandb_wants_it(name: str) -> None:
    file = read(name)
    assert file.keys() == {
        "name", "description", "project", "method", "program", "command", "parameters"
    }  # fmt: skip
    assert (file["method"], file["name"]) == ("grid", WANDB[name])
    assert file["command"] == [
        "${env}", "${interpreter}", "-m", "${program}", "${args_no_hyphens}"
    ]  # fmt: skip
    assert file["program"] == "trace.run"
    assert file["project"] == config.Tracking().project
    keys = {"benchmark", "model", "judges", "condition", "protocol", *MODEL_SLOTS, *known_keys()}
    for key, one in file["parameters"].items():
        assert one.keys() in ({"value"}, {"values"}), key
        assert key in keys, key


@pytest.mark.parametrize("name", WANDB)
def test_agents_get_the_jobs_of_the_sweep(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    axes = set(yaml.safe_load((ROOT / f"sweeps/{WANDB[name]}.yaml").read_text("utf-8"))
               ["hydra"]["sweeper"]["params"])  # fmt: skip
    swept = planned(monkeypatch, [f"+sweeps={WANDB[name]}"], tmp_path)
    runs = grid(name)
    assert sorted(along(axes, swept)) == sorted(along(axes, runs))
    with sweep.composing(CONF):
        one = typed(runs[0])
        other = typed(swept[along(axes, swept).index(along(axes, runs)[0])])
    assert config.of_result(one) == config.of_result(other)


def along(axes: set[str], jobs: list[list[str]]) -> list[list[str]]:
    """What each job has on some axes."""
    return [sorted(word for word in job if word.partition("=")[0] in axes) for job in jobs]


@pytest.mark.slow
@pytest.mark.parametrize("name", WANDB)
def test_every_run_of_wandb_agents_composes_to_a_valid_job(name: str) -> None:
    with sweep.composing(CONF):
        able = [possible(typed(run)) for run in grid(name)]
    assert len(able) == FILES[WANDB[name]].jobs
    assert able.count(False) == FILES[WANDB[name]].impossible


ELSEWHERE = {
    "task", "benchmark", "condition", "protocol", "sampling", "scoring", "tracking", "model",
    "judges",
}  # fmt: skip
"""Groups whose every file tests/test_config.py composes."""
OTHERS = {
    "annotate": ["task=annotate"],
    "probe": ["task=probe"],
    "steering": ["task=steer"],
    "trainer": ["task=probe"],
    "benchmark/builder": ["benchmark=evidence"],
    "model/mock_lab": ["benchmark=cross_lab", "judges=local"],
}
ENGINES = {
    "hf": ["model=qwen3_4b"],
    "vllm": ["model=qwen3_4b"],
    "mock": ["model=mock", "model.rates={default: 0.5}"],
    "openai_compatible": ["model=gpt_5_mini"],
    "bedrock": ["model=bedrock_guardrails", "model.id=abc123", "model.region=us-east-1",
                "model.version=1"],
    "azure": ["model=azure_content_safety", "model.id=https://name.cognitiveservices.azure.com"],
    "model_armor": ["model=model_armor",
                    "model.id=projects/p/locations/us-central1/templates/t"],
    "rule": ["judges=local"],
}  # fmt: skip
"""Engine -> a model that it runs."""


def test_every_group_of_conf_is_composed_by_some_test() -> None:
    folders = {str(path.parent.relative_to(CONF)) for path in CONF.glob("*/**/*.yaml")}
    assert folders == {*ELSEWHERE, *OTHERS, "model/engine"}


def other_files() -> Iterator[tuple[str, list[str]]]:
    """Every file of the groups that are composed here, with what it needs beside it."""
    for group, needs in OTHERS.items():
        for path in sorted((CONF / group).glob("*.yaml")):
            chosen = f"{group.replace('model/', 'model=')}/{path.stem}"
            yield chosen, [*needs, chosen if group == "model/mock_lab" else f"{group}={path.stem}"]
    for path in sorted((CONF / "model/engine").glob("*.yaml")):
        engine = [] if path.stem == "rule" else [f"model/engine={path.stem}"]
        yield f"model/engine/{path.stem}", [*ENGINES[path.stem], *engine]


@pytest.mark.parametrize(
    "overrides", [pytest.param(words, id=chosen) for chosen, words in other_files()]
)
def test_a_file_of_conf_composes(overrides: list[str]) -> None:
    with sweep.composing(CONF):
        assert typed(overrides).output_dir == "outputs"


PAPERS = ROOT / "docs/papers.md"


def test_the_page_of_the_papers_names_every_sweep_and_no_other() -> None:
    text = PAPERS.read_text("utf-8")
    named = set(re.findall(r"`((?:tracesafe|evidence|rag_safety|cross_lab)(?:_\w+)?)`", text))
    assert FILES.keys() <= named
    assert set(re.findall(r"\+sweeps=(\w+)", text)) <= FILES.keys()
    assert len(text.splitlines()) <= 120


def commands() -> list[str]:
    """The commands of that page that are no multirun: the sweeps are composed above."""
    lines = re.findall(r"^python -m trace\.run (.+?)(?: +#.*)?$", PAPERS.read_text("utf-8"), re.M)
    return [line for line in lines if " -m" not in f"{line} "]


@pytest.mark.parametrize("line", commands())
def test_a_command_of_the_page_composes(line: str, tmp_path: Path) -> None:
    for name in ("FOLDER", "FILE.csv"):
        (tmp_path / name).touch()
    words = [re.sub(r"\b(FOLDER|FILE\.csv)\b", str(tmp_path / r"\1"), w) for w in shlex.split(line)]
    with sweep.composing(CONF):
        typed([word.replace("NAME", "qwen3_14b") for word in words])
