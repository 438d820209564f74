"""Steering from the door: a tiny model is pushed, from the first answer to the report."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from tests.integration.conftest import Door, Ran, write_replies
from tests.integration.cross_lab_lines import LAB, four, items, panel, respondent
from tests.interp.activations_help import stored
from trace import config
from trace.interp.activations import read
from trace.interp.steering import answerer
from trace.models import open as opening
from trace.models.hf.engine import halving_when_full
from trace.models.hf.load import Source
from trace.tracking.files import read_jsonl

FILES = {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md", "figures",
         "vector.safetensors"}  # fmt: skip
ASKS, TELLS = "Which language would you like?", "It is done."
ALPHAS = (-6.0, -3.0, 0.0, 3.0, 6.0)
GRID = "steering.alphas=[-6,-3,0,3,6]"
DEFAULT = tuple(config.Steering().alphas)
PAIRS = 8
Steer = Callable[..., Ran]


@pytest.fixture(scope="module")
def llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("llama")
    stored(folder, max_position_embeddings=1024)
    return folder


@pytest.fixture(autouse=True)
def _cold(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opening, "_open", {})


@pytest.fixture
def loads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """A folder for every time that weights are loaded."""
    counted: list[Path] = []
    whole = Source.load_weights

    def counting(self: Source, **options: Any) -> Any:
        counted.append(self.folder)
        return whole(self, **options)

    monkeypatch.setattr(Source, "load_weights", counting)
    return counted


def tiny(folder: Path) -> list[str]:
    return ["model=hf", f"model.id={folder}", "model.name=tiny", "model.reasoning=none",
            "model.engine.dtype=float32", "model.engine.device=cpu",
            "sampling.max_new_tokens=8"]  # fmt: skip


def requests(folder: Path, pairs: int = PAIRS) -> str:
    rows = [
        {"id": f"p{i}-{kind[0]}", "pair": f"p{i}", "kind": kind, "topic": f"t{i % 2}",
         "text": f"{kind} request number {i}"}
        for i in range(pairs)
        for kind in ("underspecified", "specified")
    ]  # fmt: skip
    path = folder / f"own_{pairs}.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    return f"benchmark.path={path}"


@pytest.fixture
def steer(door: Door, llama: Path, tmp_path: Path) -> Steer:
    """task=steer with the tiny model and eight pairs of requests."""

    def run(*more: str, own: bool = True, **where: Path) -> Ran:
        given = [requests(tmp_path)] if own else []
        return door("task=steer", *tiny(llama), "trainer.accelerator=cpu", *given, *more, **where)

    return run


def refused(ran: Ran) -> str:
    assert ran.status == 2, ran.out + ran.err
    lines = [line for line in ran.err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1, ran.err
    assert "Traceback" not in ran.err
    return lines[0]


def done(ran: Ran) -> dict[str, Any]:
    assert ran.status == 0, ran.out + ran.err
    found: dict[str, Any] = ran.metrics()["breakdowns"]
    return found


def texts(ran: Ran) -> dict[tuple[str, str, float], str]:
    return {(one["id"], one["direction"], one["alpha"]): one["response"]["text"]
            for one in ran.records()}  # fmt: skip


def files(ran: Ran) -> dict[str, bytes]:
    return {
        str(path.relative_to(ran.folder)): path.read_bytes()
        for path in ran.folder.rglob("*")
        if path.is_file() and path.name not in ("manifest.json", ".lock")
    }


def clarified(door: Door, folder: Path, *more: str) -> Ran:
    """A run of clarify whose model asks back every other time."""
    replies = write_replies(folder / "answers.jsonl", [ASKS, TELLS, TELLS])
    ran = door("benchmark=clarify", requests(folder), "model=mock", "model.name=someone",
               f"model.replies={replies}", "scoring.bootstrap_draws=100", *more)  # fmt: skip
    assert ran.status == 0, ran.out + ran.err
    return ran


def of_run(ran: Ran, positive: str = "asks_back", negative: str = "answers") -> list[str]:
    return [f"probe.run={ran.folder}", f"probe.positive=[{positive}]",
            f"probe.negative=[{negative}]"]  # fmt: skip


def test_the_default_from_end_to_end(steer: Steer, tmp_path: Path) -> None:
    ran = steer()
    found = done(ran)
    assert {path.name for path in ran.folder.iterdir()} - {".lock"} == FILES
    assert ran.folder.parent == tmp_path / "outputs/runs/clarify/tiny/plain"
    assert {path.name for path in (ran.folder / "figures").iterdir()} >= {"doses.png", "doses.csv"}
    rows = [(row["direction"], row["alpha"]) for row in found["doses"]]
    assert rows == [
        *(("difference", alpha) for alpha in DEFAULT),
        *(("random", alpha) for alpha in DEFAULT if alpha),
    ]
    vector, zero = found["vector"], next(row for row in found["doses"] if not row["alpha"])
    assert vector["made_from"] == {"positive": PAIRS // 2, "negative": PAIRS // 2}
    assert vector["separation"] == pytest.approx(vector["norm"], rel=1e-5)
    assert (vector["layer"], vector["unit"], vector["tokens"]) == (3, "raw", "all")
    assert (zero["ratio"], zero["n"] + zero["n_unscored"]) == (0, PAIRS)
    for row in found["doses"]:
        expected = abs(row["alpha"]) * vector["norm"] / vector["median_norm"]
        assert row["ratio"] == pytest.approx(expected, rel=1e-5)
    assert "The request tells the classes" in ran.out
    report = (ran.folder / "report.md").read_text("utf-8")
    assert "not that the model uses it" in report.replace("\n", " ")
    records = ran.records()
    assert len(records) == PAIRS * len(rows)
    assert len({one["group"] for one in records}) == PAIRS // 2  # held out by pair
    share = sum(r["positive"] is True and not r["incoherent"] for r in records if not r["alpha"])
    assert zero["positives"] == share


def test_the_same_command_leaves_the_same_bytes_and_loads_nothing(
    steer: Steer, loads: list[Path]
) -> None:
    first = steer()
    assert first.status == 0, first.err
    assert len(loads) == 1
    before = files(first)
    opening._open.clear()
    again = steer()
    assert again.folder == first.folder
    assert files(again) == before
    assert len(loads) == 1
    assert not [line for line in again.err.splitlines() if "steered answers" in line]


def test_five_jobs_share_model_vector_and_activations(
    steer: Steer, loads: list[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads: list[int] = []
    whole = read._compute

    def computing(*arguments: Any) -> None:
        reads.append(1)
        whole(*arguments)

    monkeypatch.setattr(read, "_compute", computing)
    swept = steer("steering.alpha=-6,-3,0,3,6", "-m")
    assert swept.status == 0, swept.out + swept.err
    folders = [line.removeprefix("run: ") for line in swept.out.splitlines()
               if line.startswith("run: ")]  # fmt: skip
    jobs = [Ran(0, f"run: {folder}\n", "") for folder in folders]
    assert len({*folders}) == len(ALPHAS)
    assert len(loads) == len(reads) == 1
    assert len({job.metrics()["breakdowns"]["vector"]["sha256"] for job in jobs}) == 1
    assert len({(job.folder / "vector.safetensors").read_bytes() for job in jobs}) == 1
    grid = steer(GRID, output_dir=tmp_path / "grid")
    together = {key: text for job in jobs for key, text in texts(job).items()}
    assert together == texts(grid)
    assert any(text != together[name, way, 0.0] for (name, way, alpha), text in together.items()
               if way == "difference" and alpha)  # fmt: skip
    zero = steer("steering.alpha=0")
    assert [row["alpha"] for row in done(zero)["doses"]] == [0]


def test_a_stored_vector_is_tried_on_what_it_never_saw(steer: Steer) -> None:
    made = steer("steering.layer=2", GRID)
    was = done(made)["vector"]
    given = steer(f"steering.vector={made.folder / 'vector.safetensors'}", "seed=7",
                  "steering.alpha=3")  # fmt: skip
    found = done(given)
    assert found["vector"] == was  # made_from and separation are the vector's own, too
    assert {one["group"] for one in given.records()} == {one["group"] for one in made.records()}
    other = steer("steering.layer=2", "seed=7", "steering.alpha=3")
    assert {one["group"] for one in other.records()} != {one["group"] for one in made.records()}
    mine = {key: text for key, text in texts(made).items() if key[1:] in [("difference", 3.0)]}
    assert mine.items() <= texts(given).items()
    again = steer(f"steering.vector={given.folder / 'vector.safetensors'}", "steering.alpha=3")
    assert done(again)["vector"] == was


def test_vectors_that_do_not_fit_are_refused(steer: Steer, llama: Path, tmp_path: Path) -> None:
    made = steer("steering.alpha=1")
    vector = f"steering.vector={made.folder / 'vector.safetensors'}"
    other = tmp_path / "other"
    shutil.copytree(llama, other)
    weights = other / "model.safetensors"
    from safetensors.torch import load_file, save_file

    save_file({k: v + 0.01 for k, v in load_file(weights).items()}, weights, {"format": "pt"})
    assert "made from another model" in refused(steer(vector, f"model.id={other}"))
    stored(tmp_path / "wide", hidden_size=48)
    assert "32 numbers" in refused(steer(vector, f"model.id={tmp_path / 'wide'}"))
    assert "steering.layer: 1, and" in refused(steer(vector, "steering.layer=1"))
    assert "steering.direction" in refused(steer(vector, "steering.direction=probe"))
    assert "Use probe.position=response_last" in refused(
        steer(vector, "probe.position=response_mean")
    )
    assert "vector.safetensors" in refused(steer(f"steering.vector={weights}"))
    absent = refused(steer(f"steering.vector={tmp_path / 'absent'}"))
    assert "does not exist" in absent


def test_a_vector_of_all_items_has_nothing_to_be_tried_on(steer: Steer, tmp_path: Path) -> None:
    made = steer("steering.alpha=1")
    saw = {one["group"] for one in made.records()}
    kept = [row for row in read_jsonl(tmp_path / f"own_{PAIRS}.jsonl") if row["pair"] not in saw]
    only = tmp_path / "only.jsonl"
    only.write_text("".join(json.dumps(row) + "\n" for row in kept), "utf-8")
    said = refused(steer(f"steering.vector={made.folder / 'vector.safetensors'}",
                         f"benchmark.path={only}", own=False))  # fmt: skip
    assert "Leave steering.vector out" in said


def test_the_probes_direction(steer: Steer) -> None:
    ran = steer("steering.direction=probe", "probe.folds=2", "steering.alpha=3")
    found = done(ran)
    assert found["vector"]["direction"] == "probe"
    assert 0 < found["vector"]["cosine_probe"] < 1
    assert [row["direction"] for row in found["doses"]] == ["probe", "probe", "random"]
    difference = done(steer("steering.alpha=3"))["vector"]
    assert found["vector"]["norm"] == pytest.approx(difference["norm"], rel=1e-5)
    assert found["vector"]["separation"] < difference["separation"]
    said = refused(steer("steering.direction=probe"))
    assert "probe.folds: 5" in said


def test_median_norm_is_a_unit(steer: Steer) -> None:
    found = done(steer("steering.unit=median_norm", "steering.alphas=[-1,0.5]"))
    assert [row["ratio"] for row in found["doses"]] == pytest.approx([1, 0, 0.5, 1, 0.5], rel=1e-5)


def test_only_generated_tokens_are_pushed(steer: Steer) -> None:
    everything, later = steer("steering.alpha=3"), steer("steering.alpha=3",
                                                         "steering.tokens=generated")  # fmt: skip
    one, two = texts(everything), texts(later)
    assert all(one[key] == two[key] for key in one if not key[2])
    assert any(one[key] != two[key] for key in one)
    assert done(later)["vector"]["tokens"] == "generated"
    notes = (everything.folder / "report.md").read_text("utf-8")
    assert "The prompt is pushed too" in notes
    assert "The prompt is pushed too" not in (later.folder / "report.md").read_text("utf-8")


def test_steered_answers_are_greedy_and_asked_once(steer: Steer) -> None:
    ran = steer("sampling.temperature=0.8", "epochs=2", "steering.alpha=3")
    zero = done(ran)["doses"][0]
    assert zero["n"] + zero["n_unscored"] == PAIRS
    greedy, twice = texts(steer("steering.alpha=0")), texts(ran)
    pushed_by_nothing = {name.split("/")[0]: text for (name, _, alpha), text in twice.items()
                         if not alpha}  # fmt: skip
    both = {name for name, _, _ in greedy} & pushed_by_nothing.keys()
    assert both
    assert all(pushed_by_nothing[name] == greedy[name, "difference", 0.0] for name in both)


def test_a_judged_run_of_another_model(door: Door, steer: Steer, tmp_path: Path) -> None:
    judged = clarified(door, tmp_path)
    ran = steer(*of_run(judged), "steering.alphas=[-3,3]", own=False)
    found = done(ran)
    assert "engine mock for the answers, hf for the activations" in found["scope"]
    assert "Illustrative only" in ran.out
    assert ran.folder.parent == tmp_path / "outputs/runs/clarify/tiny/plain"
    assert found["vector"]["classes"]["positive"]["labels"] == ["asks_back"]
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["answers"]["model"]["engine"] == "mock"


def test_a_judged_run_of_the_same_model_and_its_panel(
    door: Door, steer: Steer, llama: Path, tmp_path: Path
) -> None:
    votes = write_replies(
        tmp_path / "votes.jsonl",
        [json.dumps({"verdict": label}) for label in ("asks_back", "answers", "answers")],
    )
    voter = ["judges=panel", "judges.min_valid=1", "+model@judges.models.voter=mock",
             "judges.models.voter.name=voter", f"judges.models.voter.replies={votes}"]  # fmt: skip
    judged = door("benchmark=clarify", requests(tmp_path), *tiny(llama), *voter,
                  "scoring.bootstrap_draws=100")  # fmt: skip
    assert judged.status == 0, judged.err
    ran = steer(*of_run(judged), "steering.alpha=3", own=False)
    found = done(ran)
    assert found["scope"] is None
    assert {one["verdict"]["label"] for one in ran.records()} == {"asks_back", "answers"}
    mine = done(steer(*voter, "steering.alpha=3"))  # and as the judge of a run of its own
    assert sum(row["positives"] for row in mine["doses"]) > 0
    assert "judges: are not read with probe.run" in refused(
        steer(*of_run(judged), *voter, own=False)
    )


def test_a_judge_takes_the_models_place_in_memory_once_a_round(
    steer: Steer, llama: Path, tmp_path: Path, loads: list[Path]
) -> None:
    judge = tmp_path / "judge"
    shutil.copytree(llama, judge)
    ran = steer(
        "judges=panel", "judges.min_valid=1", "+model@judges.models.voter=hf",
        f"judges.models.voter.id={judge}", "judges.models.voter.name=voter",
        "judges.models.voter.engine.device=cpu", "judges.models.voter.reasoning=none",
        "steering.alpha=3",
    )  # fmt: skip
    assert ran.status == 0, ran.out + ran.err
    assert loads == [llama, judge, llama, judge]


def test_peers_of_cross_lab_judge_what_was_steered(
    door: Door, steer: Steer, tmp_path: Path
) -> None:
    eight = [LINE | {"id": f"i{n}", "base": f"Task {n}.", "steered": f"Task {n}. So."}
             for n, LINE in enumerate(four() * 2)]  # fmt: skip
    judged = door(*LAB[:1], items(tmp_path, *eight),
                  *respondent(tmp_path, ["Here.", "I won't."]), *panel(tmp_path, "x", "y"),
                  "condition=steered")  # fmt: skip
    assert judged.status == 0, judged.out + judged.err
    ran = steer(*of_run(judged, "full_compliance", "refuses_outright"), "steering.alpha=3",
                own=False)  # fmt: skip
    found = done(ran)
    assert found["vector"]["outcome"] == "full_compliance"
    assert ran.folder.parent == tmp_path / "outputs/runs/cross_lab/tiny/steered"
    labels = {one["verdict"]["label"] for one in ran.records() if one["verdict"]["label"]}
    assert labels


def test_a_dry_run_says_what_would_be_asked(steer: Steer, tmp_path: Path) -> None:
    ran = steer("dry_run=true", "judges=local", GRID)
    assert ran.status == 0, ran.err
    assert "steer clarify/tiny/plain at -6, -3, 0, 3, 6" in ran.out
    assert "under 9 pushes each" in ran.out
    assert "gemma3_270m (judge)" in ran.out
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (["steering.layer=999"], "tiny has no layer 999; it has 6, counted from 0 to 5."),
        (["steering.layer=-1"], "counted from 0"),
        (["model.engine.dtype=float16", "steering.alpha=1e5"], "use model.engine.dtype=bfloat16"),
        (["steering.alpha=1e300"], "float32 ends at 3.40282e+38. Push less."),
        (["steering.unit=median_norm", "steering.alpha=1e308"], "Push less."),
        (["steering.alpha=nan"], "steering.alpha: nan is no strength. Try 3."),
        (["steering.alpha=-inf"], "steering.alpha: -inf is no strength. Try 3."),
        (["steering.alphas=[]"], "Try [-3,0,3]."),
        (["steering.alphas=[1,inf]"], "Try [-3,0,3]."),
        (["steering.alphas=3"], "steering.alphas=[3]"),
        (["steering.unit=sd"], "raw, median_norm"),
        (["steering.tokens=prompt"], "all, generated"),
        (["benchmark.label=response"], "no answer that can be read is asks_back"),
        (["probe.positive=[asks_back]", "probe.negative=[answers]"], "probe.run=FOLDER"),
        (["probe.control=gemma3_270m"], "probe.control"),
    ],
)  # fmt: skip
def test_bad_input(steer: Steer, tmp_path: Path, line: list[str], said: str) -> None:
    assert said in refused(steer(*line))
    left = [path for path in (tmp_path / "outputs/runs").rglob("*") if path.is_file()]
    assert all(path.name == ".lock" for path in left)


def test_too_few_items_to_split(steer: Steer, tmp_path: Path) -> None:
    assert "needs one" in refused(steer(requests(tmp_path, 1), own=False))


def test_labels_of_a_judged_run_that_cannot_be_told_apart(
    door: Door, steer: Steer, tmp_path: Path
) -> None:
    judged = clarified(door, tmp_path)
    said = refused(steer(f"probe.run={judged.folder}", own=False))
    assert "Try 'probe.positive=[asks_back]' 'probe.negative=[answers]'." in said
    said = refused(steer(*of_run(judged, "refuses"), own=False))
    assert "The labels are" in said
    replies = write_replies(tmp_path / "one.jsonl", [TELLS])
    one = clarified(door, tmp_path, f"model.replies={replies}", "model.name=teller")
    said = refused(steer(*of_run(one), own=False))
    assert "not on two sides" in said


@pytest.mark.parametrize(
    "line",
    [
        ["model=mock", "model.replies=REPLIES"],
        ["model=vllm", "model.id=some/model"],
        ["model=smollm2", "model/engine=vllm"],
        ["model=gpt_5_mini"],
    ],
)
def test_engines_without_activations_are_unsupported(
    door: Door, tmp_path: Path, line: list[str]
) -> None:
    replies = str(write_replies(tmp_path / "replies.jsonl", [TELLS]))
    line = [argument.replace("REPLIES", replies) for argument in line]
    for dry in ("false", "true"):
        ran = door("task=steer", *line, f"dry_run={dry}")
        assert ran.status == 0, ran.err
        (said,) = [line for line in ran.err.splitlines() if line.startswith("unsupported: ")]
        assert "model/engine=hf" in said


def test_steering_belongs_to_its_task(door: Door) -> None:
    for task in ("task=evaluate", "task=probe"):
        assert "Add task=steer" in refused(door(task, "benchmark=clarify", "steering.alpha=3"))
    said = refused(door("task=steer", "benchmark=cross_lab"))
    assert "probe.run=FOLDER" in said


def test_an_interrupted_run_goes_on(
    steer: Steer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    line = [GRID, "model.engine.decode_rows=9"]
    whole = steer(*line, output_dir=tmp_path / "whole")
    groups: list[int] = []
    inner = halving_when_full

    def breaking(runner: Any, group: Any) -> Any:
        groups.append(sum(map(len, group)))
        if len(groups) == 3:
            raise KeyboardInterrupt
        return inner(runner, group)

    with monkeypatch.context() as patch:
        patch.setattr(answerer, "halving_when_full", breaking)
        cut = steer(*line)
        assert cut.status == 130, cut.out + cut.err
        assert "the same command goes on" in cut.err
        made = sum(groups[:2])
        again = steer(*line)
        assert sum(groups[3:]) == PAIRS * 9 - made
    mine, other = files(again), files(whole)
    del mine["config.yaml"], other["config.yaml"]  # they name the output folder
    assert mine == other


def test_a_directory_in_use_is_left_alone(steer: Steer, tmp_path: Path) -> None:
    ran = steer("steering.alpha=1")
    digest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))["run"]
    before = files(ran)
    import filelock

    with filelock.FileLock(ran.folder / ".lock"):
        said = refused(steer("steering.alpha=1"))
    assert digest[:8] in said
    assert files(ran) == before


def test_a_push_that_overflows_is_told_and_not_counted(steer: Steer) -> None:
    found = done(steer("steering.alpha=1e37"))
    zero, pushed, random = found["doses"]
    assert (zero["n"], pushed["n"], random["n"]) == (zero["n"], 0, 0)
    assert pushed["share"]["value"] is pushed["mcnemar"]["p"] is None


def test_a_broken_model_names_layer_and_sample(
    door: Door, steer: Steer, llama: Path, tmp_path: Path
) -> None:
    from safetensors.torch import load_file, save_file

    broken = tmp_path / "broken"
    shutil.copytree(llama, broken)
    weights = load_file(broken / "model.safetensors")
    weights["model.layers.2.mlp.down_proj.weight"][:] = torch.nan
    save_file(weights, broken / "model.safetensors", {"format": "pt"})
    assert "left out: 16 error" in refused(steer(f"model.id={broken}"))
    said = refused(steer(f"model.id={broken}", *of_run(clarified(door, tmp_path)), own=False))
    assert "behind layer 3 are not finite" in said
    assert "sample p" in said


@pytest.mark.slow
def test_five_jobs_of_smollm2(door: Door, loads: list[Path]) -> None:
    ran = door("task=steer", "limit=1", "sampling.max_new_tokens=16",
               "steering.alpha=-2,-1,0,1,2", "-m")  # fmt: skip
    assert ran.status == 0, ran.out + ran.err
    folders = [Path(line.removeprefix("run: ")) for line in ran.out.splitlines()
               if line.startswith("run: ")]  # fmt: skip
    assert len(set(folders)) == 5
    assert len(loads) == 1
    assert len({(folder / "vector.safetensors").read_bytes() for folder in folders}) == 1
