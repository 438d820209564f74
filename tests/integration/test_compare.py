"""A positive control: judges of planted rates through the door, then the comparison."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from scipy.stats import binom

from tests.integration.conftest import Door
from trace.benchmarks.base import Dataset
from trace.run import main
from trace.tasks import evaluate

LIMIT = 20
JUDGES = {
    "binary": range(0, 13, 3),
    "schema": range(13),
    "coarse": range(0, 13, 3),
    "fine": range(13),
}
FAMILIES = ("Qwen3", "Qwen3", "Qwen3", "Qwen3", "GPT", "GPT", "Gemini", "Gemini", "Llama",
            "Llama", "Mistral", "ToolACE", "Granite")  # fmt: skip
RUNS = sum(map(len, JUDGES.values()))

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_set")]


def planted(i: int) -> dict[str, float]:
    """The rates of judge `i`: better and better, always worse on one explicit danger."""
    return {"default": 0.35 + 0.05 * i, "Benign": 0.95 - 0.05 * i, "ApiKeyLeak": 0.2}


@pytest.fixture(scope="module")
def outputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """13 judges under schema and fine, some under binary and coarse; one is asked twice."""
    folder = tmp_path_factory.mktemp("control") / "outputs"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(evaluate, "load", once(evaluate.load))  # the same set each time
        for protocol, judges in JUDGES.items():
            for i in judges:
                ask(folder, protocol, i)
    return folder


def once(load: Callable[..., Dataset]) -> Callable[..., Dataset]:
    """Builds a data set the first time it is asked for."""
    built: dict[str, Dataset] = {}

    def remembering(settings: Any, **arguments: Any) -> Dataset:
        wanted = repr((settings, arguments))
        if wanted not in built:
            built[wanted] = load(settings, **arguments)
        return built[wanted]

    return remembering


def ask(folder: Path, protocol: str, i: int) -> None:
    """One run through the door."""
    rates = ", ".join(f"{name}: {rate:.2f}" for name, rate in planted(i).items())
    status = main(
        [
            "model=mock", f"model.name=judge_{i}", f"model.family={FAMILIES[i]}",
            f"model.parameters={1.7 * 1.5**i}",
        f"model.kind={'guard' if i > 10 else 'general'}",
            f"model.rates={{{rates}}}", f"model.seed={i}", f"protocol={protocol}",
            f"limit={LIMIT}", f"epochs={2 if i == 0 else 1}", f"output_dir={folder}",
            "scoring.bootstrap_draws=100", "tracking.mode=disabled",
        ]
    )  # fmt: skip
    assert status == 0


def result(folder: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((folder / "compare.json").read_text("utf-8"))
    return loaded


def expect(metric: dict[str, Any], rate: float) -> None:
    low, high = binom.interval(1 - 1e-6, metric["n"], rate)
    assert low <= metric["value"] * metric["n"] <= high, (metric, rate)


def near(metric: dict[str, Any], planted_value: float) -> None:
    """Within 5 standard errors, as the interval tells them."""
    error = (metric["high"] - metric["low"]) / 3.92
    assert abs(metric["value"] - planted_value) < 5 * error, metric


@pytest.fixture
def compared(door: Door, outputs: Path) -> tuple[Path, str]:
    """What the door writes and prints."""
    ran = door("task=compare", f"runs={outputs}/runs/tracesafe/**", "scoring.bootstrap_draws=200")
    assert ran.status == 0, ran.err
    assert ran.folder.parent.name == "compare"
    assert len(ran.folder.name) == 8
    return ran.folder, ran.out


def test_what_was_planted_comes_back(compared: tuple[Path, str]) -> None:
    folder, out = compared
    analyses = result(folder)["analyses"]
    main_table = analyses["table"]
    assert {protocol: len(rows) for protocol, rows in main_table.items()} == {
        protocol: len(judges) for protocol, judges in JUDGES.items()
    }
    assert list(main_table) == list(JUDGES)
    classes = analyses["classes"]["accuracy"]
    risky = [name for name in classes["fine"] if name != "Benign"]
    assert "ApiKeyLeak" in risky
    for protocol, i in ((p, i) for p, judges in JUDGES.items() for i in judges):
        rates, name = planted(i), f"judge_{i}"
        row = main_table[protocol][name]
        assert row["kind"] == ("guard" if i > 10 else "general")
        expect(row["metrics"]["tnr"], rates["Benign"])
        mean = sum(rates.get(c, rates["default"]) for c in risky) / len(risky)
        expect(row["metrics"]["tpr"], mean)  # a mixture varies less than a binomial of its mean
        for class_ in risky:
            cell = classes[protocol][class_][name]["accuracy"]
            expect(cell, rates.get(class_, rates["default"]))
    assert analyses["classes"]["precision"]["cells"] == RUNS * (len(risky) + 1)
    assert analyses["classes"]["precision"]["enough"] == 0
    for protocol in JUDGES:
        assert f"protocol: {protocol}" in out
    assert out.count("judge_4 ") == 2
    assert out.count("judge_6 ") == 4


def test_every_analysis_recovers_its_part(compared: tuple[Path, str]) -> None:
    folder, _ = compared
    analyses = result(folder)["analyses"]
    numbers = {"PromptInjectionIn", "PromptInjectionOut", "UserInfoLeak", "ApiKeyLeak", "DataLeak"}
    risky = [c for c in analyses["classes"]["accuracy"]["fine"] if c != "Benign"]
    explicit = [c for c in risky if c in numbers]

    gaps = analyses["dangers"]["fine"]
    mean_rate = sum(planted(i)["default"] for i in range(13)) / 13
    lower = (mean_rate - planted(0)["ApiKeyLeak"]) / len(explicit)
    near(gaps["all judges"]["difference"], -lower)

    confusion = analyses["confusion"]["classes"]["ApiKeyLeak"]
    assert confusion["n"] == 13 * LIMIT
    expect(confusion["misses_to_benign"], 1 / 12)  # a mock's wrong answers are equally likely
    assert len(confusion["examples"]) == min(3, round(
        confusion["misses_to_benign"]["value"] * confusion["misses_to_benign"]["n"]
    ))  # fmt: skip

    sizes = analyses["size"]["schema"]
    assert {family: len(row["members"]) for family, row in sizes.items()} == {
        "GPT": 2, "Gemini": 2, "Llama": 2, "Qwen3": 4
    }  # fmt: skip

    kinds = analyses["plane"]["binary"]["kinds"]
    assert (kinds["general"]["n"], kinds["guard"]["n"]) == (4, 1)
    guard = analyses["plane"]["binary"]["judges"]["judge_12"]
    assert kinds["guard"]["tpr"] == guard["tpr"]["value"]
    expect(guard["tnr"], planted(12)["Benign"])
    assert kinds["guard"]["lean_to_unsafe"] == 1

    length = analyses["length"]["steps"]["coarse"]
    seen = sum(metric["n"] for metric in length["bins"].values()) + length["outside"]
    assert seen == 5 * LIMIT * (len(risky) + 1)
    for class_, bins in length["classes"].items():
        rates = [planted(i).get(class_, planted(i)["default"]) for i in JUDGES["coarse"]]
        for metric in bins.values():  # the same rate whatever the length
            if metric["value"] is not None:
                expect(metric, sum(rates) / len(rates))

    assert analyses["subsample"]["fine"]["n"] == LIMIT // 2
    again = analyses["rerun"]["fine"]["judge_0"]["1"]
    assert again["fresh"] == 1
    assert again["mean_change"] < 0.35
    assert "bfcl-ground-truth" in analyses["kinship"]["reason"]
    assert "no table of scores" in analyses["capability"]["reason"]


def test_epochs_ask_afresh(outputs: Path) -> None:
    """The log of the judge that is asked twice has two completions a sample and protocol."""
    logs = (outputs / "completions" / "judge_0").rglob("*.jsonl")
    keys = [json.loads(line)["key"] for log in logs for line in log.read_text().splitlines()]
    (one,) = (outputs / "runs/tracesafe/judge_0/plain").glob("fine-*")
    records = [json.loads(line) for line in (one / "records.jsonl").read_text().splitlines()]
    assert len({r["completion"]["key"] for r in records}) == len(records)
    assert len(keys) == len(set(keys)) == 4 * len(records)


def test_files_are_complete_and_the_same_bytes_again(
    compared: tuple[Path, str], door: Door, outputs: Path, tmp_path: Path
) -> None:
    folder, out = compared
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.is_file()}
    files = found - {Path(".lock")}
    pictures = {path.with_suffix(".csv") for path in files if path.suffix == ".png"}
    assert len(pictures) == 13
    assert pictures < files
    assert {str(path) for path in files if path.parent == Path()} == {
        "tables.md", "compare.json", "manifest.json"
    }  # fmt: skip
    text = (folder / "tables.md").read_text("utf-8")
    assert text.count("\n## ") == 13
    assert "no table of scores" in text
    assert out.rstrip().splitlines()[-1] == f"run: {folder}"
    with (folder / "figures" / "plane.csv").open(encoding="utf-8", newline="") as rows:
        assert len(list(csv.DictReader(rows))) == RUNS
    again = door(
        "task=compare", f"runs={outputs}/runs/tracesafe/**", "scoring.bootstrap_draws=200",
        output_dir=tmp_path / "elsewhere",
    )  # fmt: skip
    assert again.folder.name == folder.name
    for path in files - {Path("manifest.json")}:
        assert (again.folder / path).read_bytes() == (folder / path).read_bytes(), path


def expected_f1(i: int) -> float:
    """Of 11 classes at the default rate, one at its own, and as many benign samples as of each."""
    rates = planted(i)
    caught, passed = 11 * rates["default"] + rates["ApiKeyLeak"], rates["Benign"]
    missed, alarms = 12 - caught, 1 - passed
    unsafe = 2 * caught / (2 * caught + missed + alarms)
    return (unsafe + 2 * passed / (2 * passed + missed + alarms)) / 2


def test_capability_scores_that_follow_the_planted_rates(
    door: Door, outputs: Path, tmp_path: Path
) -> None:
    """One benchmark scores a model as its planted rates foretell, another has nothing to do."""
    table = tmp_path / "scores.csv"
    lines = ["benchmark,model,score"]
    for i in range(13):
        lines.append(f"planted,judge_{i},{expected_f1(i)}")
        lines.append(f"noise,judge_{i},{i % 2}")
    table.write_text("\n".join(lines), "utf-8")
    ran = door(
        "task=compare",
        f"runs={outputs}/runs/tracesafe/**",
        f"task.capability={table}",
        "scoring.bootstrap_draws=500",
    )
    assert ran.status == 0, ran.err
    folder = ran.folder
    found = result(folder)["analyses"]["capability"]
    row = found["benchmarks"]["planted"]["all"]
    assert row["n"] == 13
    assert row["pearson"]["value"] > 0.8
    assert row["spearman"]["p"] < 0.01
    assert found["differences"][0]["interval"]["low"] > 0
    assert (folder / "figures" / "capability.png").is_file()


def test_one_run_or_one_protocol_is_enough(door: Door, outputs: Path) -> None:
    one = door("task=compare", f"runs={outputs}/runs/tracesafe/judge_1/plain/schema-*")
    assert one.status == 0, one.err
    assert len(result(one.folder)["runs"]) == 1
    analyses = result(one.folder)["analyses"]
    assert {name for name, found in analyses.items() if "reason" in found} == {
        "confusion", "size", "capability", "rerun", "spread", "kinship", "check_rank"
    }  # fmt: skip
    assert "no run under fine" in one.out
    coarse = door("task=compare", f"runs={outputs}/runs/tracesafe/*/plain/coarse-*")
    assert list(result(coarse.folder)["analyses"]["table"]) == ["coarse"]


def test_variants_of_the_wording_stand_beside_each_other(door: Door, tmp_path: Path) -> None:
    """Three jobs in three directories; a mock answers each wording afresh, at the same rate."""
    made = door(
        "model=mock", "model.rates={default: 0.7}", "protocol=schema", f"limit={LIMIT}",
        "protocol.variant=plain,reversed,reworded_1", "scoring.bootstrap_draws=100", "-m",
    )  # fmt: skip
    assert made.status == 0, made.err
    folders = {line for line in made.out.splitlines() if line.startswith("run: ")}
    assert len(folders) == 3
    ran = door("task=compare", f"runs={tmp_path}/outputs/runs/**", "scoring.bootstrap_draws=100")
    assert ran.status == 0, ran.err
    (row,) = result(ran.folder)["analyses"]["spread"]["schema"].values()
    assert list(row["variants"]) == ["plain", "reversed", "reworded_1"]
    for metric in row["changed"].values():
        expect(metric, 2 * 0.7 * 0.3)
    for metrics in row["variants"].values():
        expect(metrics["tpr"], 0.7)
    assert (ran.folder / "figures" / "spread.csv").is_file()
    assert "2 of 3 runs ask in another way" in ran.out


def test_what_cannot_be_compared_is_said_in_one_message(door: Door, outputs: Path) -> None:
    assert "runs: no value" in door("task=compare").err
    assert "tracesafe" in door("task=compare", f"runs={outputs}/runs/none/**").err
    nothing = door("task=compare", f"runs={outputs}/runs/tracesafe/judge_99/**")
    assert nothing.status == 2
    assert "no finished run matches" in nothing.err
    assert "judge_0" in nothing.err
    assert "Traceback" not in nothing.err


def test_what_would_be_misread_is_said(door: Door, tmp_path: Path) -> None:
    """Another limit, another case, a model without a score; and a name that no judge has."""
    asked = ("model=mock", "model.rates={default: 0.7}", "scoring.bootstrap_draws=100")
    for name, protocol, limit in (("a", "schema", 3), ("b", "schema", 3), ("a", "coarse", 2)):
        made = door(*asked, f"model.name={name}", f"protocol={protocol}", f"limit={limit}")
        assert made.status == 0, made.err
    table = tmp_path / "scores.csv"
    table.write_text("benchmark,model,score\nX,A,0.61\nX,zz,40\n", "utf-8")
    compare = ("task=compare", f"runs={tmp_path}/outputs/runs/**", "scoring.bootstrap_draws=100")
    ran = door(*compare, f"task.capability={table}", "task.check_judge=b")
    assert ran.status == 0, ran.err
    tables = (ran.folder / "tables.md").read_text("utf-8")
    said = (
        "asked of different samples (schema 39, coarse 26; ",
        "A in the table is not a of the runs",
        "no run under schema is of zz",
        "the table has no score of a, b",
        "may be on two scales",
    )
    for sentence in said:
        assert sentence in ran.out
        assert sentence in tables
    assert "judges or protocols left out, said in tables.md: " in ran.out
    assert "- left out: coarse: b was not run under it" in tables
    assert result(ran.folder)["left_out"]["check_rank"] == ["coarse: b was not run under it"]
    for more in ((), ("dry_run=true",)):
        wrong = door(*compare, "task.check_judge=zzz", *more)
        assert wrong.status == 2
        assert "task.check_judge: 'zzz' is none of the judges of these runs" in wrong.err
        assert "Name one of a, b;" in wrong.err
        missing = door(*compare, "task.capability=/nope", *more)
        assert (missing.status, "/nope" in missing.err) == (2, True)
