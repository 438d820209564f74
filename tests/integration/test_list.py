"""task=list through the door: every model file, and whether it can run here."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT
from tests.integration.conftest import Door
from trace.models.runnable import Machine
from trace.tasks import list as list_task

NAMES = sorted(path.stem for path in (ROOT / "conf" / "model").glob("*.yaml"))
BEGINNING = "defaults:\n  - /schema/model@_here_: base\n  - engine: hf\n\n"


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """A laptop of 24 GB with one key, wherever the test runs."""
    laptop = Machine(memory=24 * 10**9, environment=frozenset({"OPENAI_API_KEY"}))
    monkeypatch.setattr(list_task, "this_machine", lambda ids: laptop)


def rows(out: str) -> dict[str, str]:
    """Name -> the first line of its row."""
    lines = [line for line in out.splitlines() if re.match(r"\S+ +\S", line)]
    return {line.split()[0]: line.rstrip() for line in lines}


def test_every_model_file_has_a_row_of_80_columns(door: Door, tmp_path: Path) -> None:
    ran = door("task=list")
    assert ran.status == 0, ran.err
    assert ran.err == ""
    assert set(NAMES) <= set(rows(ran.out))
    assert max(map(len, ran.out.splitlines())) <= 80
    assert "broken" not in ran.out
    assert "…" not in ran.out.split("Memory is about")[0]  # nothing of a row is cut off
    assert not (tmp_path / "outputs").exists()


def test_a_row_says_whether_it_runs_and_why_not(door: Door) -> None:
    ran = door("task=list")
    row = rows(ran.out)
    # Yes, with or without the mark of a note; the facts are those of the files.
    assert re.search(
        r"hf +SmolLM2 +0\.135B +0\.3 GB +general +Apache-(2\.0)? +yes$", row["smollm2"]
    )
    assert re.search(r"hf +Qwen3 +14\.8B +36 GB +general +Apache-(2\.0)? +no\S+$", row["qwen3_14b"])
    assert row["gpt_5_mini"].endswith("yes")
    assert re.search(r"no\S+$", row["claude_opus_4_5"])
    assert "needs more than the 24 GB of memory" in ran.out
    assert "the environment variable ANTHROPIC_API_KEY is not set" in ran.out
    assert "OPENAI_API_KEY" not in ran.out
    assert "model.id=org/name" in ran.out  # what model=hf is given
    assert list(row).index("smollm2") < list(row).index("qwen3_14b")


def test_every_guard_has_a_row_of_what_it_judges_also_one_that_stands_in_a_cloud(
    door: Door,
) -> None:
    ran = door("task=list")
    models, guards = ran.out.split("Guards (protocol=binary)")
    files = [path.read_text("utf-8") for path in (ROOT / "conf" / "model").glob("*.yaml")]
    names = [re.findall(r"^name: (\S+)", text, re.M) for text in files if "\nguard: " in text]
    assert {name for (name,) in names} <= set(rows(guards))
    for name in ("bedrock_guardrails", "model_armor"):
        assert rows(guards)[name].split()[1:5] == ["n", "a", "n", "a"]
        assert rows(guards)[name].split()[-1] == "–"  # no prompt of ours to verify
        assert re.search(r"guard +propri", rows(models)[name])
    assert "Model Armor" in rows(models)["model_armor"]


def test_a_key_is_never_shown(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()  # the real machine
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-very-secret")
    ran = door("task=list")
    assert ran.status == 0
    assert rows(ran.out)["claude_opus_4_5"].endswith("yes")
    assert "sk-very-secret" not in ran.out + ran.err


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (BEGINNING + "name: bad\nid: a/b\nparamters: 7\n", "Key 'paramters' not in 'Model'"),
        (BEGINNING + "name: bad\nid: a/b\nreasoning: maybe\n", "model.reasoning: 'maybe'"),
        (BEGINNING + "name: bad\n\tid: a/b\n", "found character '\\t'"),
        ("", "missing mandatory value"),
    ],
)
def test_a_broken_file_is_shown_and_breaks_nothing(
    text: str, said: str, door: Door, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    conf = tmp_path / "conf"
    for folder in ("model/engine", "model"):
        (conf / folder).mkdir(parents=True, exist_ok=True)
    for name in ("smollm2", "qwen3_14b", "gpt_5"):
        shutil.copy(ROOT / "conf" / "model" / f"{name}.yaml", conf / "model")
    for file in (ROOT / "conf" / "model" / "engine").glob("*.yaml"):
        shutil.copy(file, conf / "model" / "engine")
    (conf / "model" / "bad.yaml").write_text(text)
    monkeypatch.setattr(list_task, "CONF", conf)
    ran = door("task=list")
    assert ran.status == 0, ran.err
    row = rows(ran.out)
    assert {"bad", "smollm2", "qwen3_14b", "gpt_5"} <= set(row)
    assert re.search(r"^bad +broken .*no\S$", row["bad"])
    assert said in " ".join(ran.out.split())


def test_a_dry_run_only_says_what_would_be_listed(door: Door) -> None:
    ran = door("task=list", "dry_run=true")
    assert ran.status == 0, ran.err
    assert ran.out == "list: the models of conf/model, and whether they can run here\n"


def test_a_list_loads_nothing_heavy() -> None:
    code = (
        "import sys; from trace.run import main; status = main(['task=list']);"
        "heavy = {'torch', 'transformers', 'wandb', 'pandas', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else status)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT
    )
    assert ran.returncode == 0, ran.stderr
    assert "smollm2" in ran.stdout


def test_a_price_says_of_when_it_is() -> None:
    for name in NAMES:
        text = (ROOT / "conf" / "model" / f"{name}.yaml").read_text("utf-8")
        if "price:" in text:
            assert re.search(r"^price: +# as of 20\d\d-\d\d", text, re.MULTILINE), name
