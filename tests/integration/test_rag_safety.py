"""RAG-Safety-Bench from the door: planted answers and votes come back, and nothing else is said."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.rag_safety.made_rows import package, write
from tests.integration.conftest import Door, Ran, write_replies
from trace.benchmarks.rag_safety.judgements import judgements, panel_rule
from trace.benchmarks.rag_safety.names import RETRIEVALS
from trace.errors import DataError
from trace.judging.panel import Rule
from trace.report.compare.judged import How
from trace.report.rag_safety.sections import sections
from trace.report.run_folder import study_of

ANSWERS = ["first", "second", "I cannot say.", "", "third"]
VOTES = {"a": ["Unsafe", "Safe", "Safe", "Safe"], "b": ["Unsafe", "Unsafe", "Safe", "Safe"]}
"""Of the twenty answers sixteen can be judged: 4 are unsafe for both judges, 4 for b alone."""
FILES = {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md", "figures"}


class Study:
    """A respondent and two judges that deal replies from files."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        write_replies(folder / "answers.jsonl", ANSWERS)
        for name, votes in VOTES.items():
            replies = [json.dumps({"verdict": vote}) for vote in votes]
            write_replies(folder / f"{name}.jsonl", replies)

    @property
    def line(self) -> list[str]:
        return [
            "benchmark=rag_safety", "limit=1", "model=mock", "model.name=respondent",
            f"model.replies={self.folder}/answers.jsonl",
            "judges=panel", "judges.rule=k_of_n", "judges.k=2",
            *(f"+model@judges.models.{name}=mock" for name in VOTES),
            *(f"judges.models.{name}.name={name}" for name in VOTES),
            *(f"judges.models.{name}.replies={self.folder}/{name}.jsonl" for name in VOTES),
            "scoring.bootstrap_draws=100",
        ]  # fmt: skip

    def further(self, role: str, *verdicts: str) -> list[str]:
        """A judge of accuracy or refusal that deals these verdicts."""
        replies = [json.dumps({"reasoning": "so", "verdict": verdict}) for verdict in verdicts]
        file = write_replies(self.folder / f"{role}.jsonl", replies)
        slot = f"benchmark.{role}_judge"
        return [f"{slot}=mock", f"{slot}.name={role}-judge", f"{slot}.replies={file}"]


@pytest.fixture
def study(tmp_path: Path) -> Study:
    return Study(tmp_path)


def refused(ran: Ran) -> str:
    assert ran.status == 2, ran.out + ran.err
    assert ran.err.startswith("error: ")
    assert ran.err.count("\n") == 1, ran.err
    return ran.err


def width(ran: Ran) -> int:
    told = ("note", "run: ", "respondent: ")
    return max(len(line) for line in ran.out.splitlines() if not line.startswith(told))


def test_runs_are_compared(door: Door, study: Study) -> None:
    for condition in ("non_rag", "oracle"):
        assert door(*study.line, f"condition={condition}").status == 0
    runs = f"runs={study.folder}/outputs/runs/rag_safety/**"
    ran = door("task=compare", runs, "scoring.bootstrap_draws=100")
    assert ran.status == 0, ran.err
    found = json.loads((ran.folder / "compare.json").read_bytes())["analyses"]
    rates = found["rag_harm"]["respondent"]
    assert {name: rate["value"] for name, rate in rates.items()} == {
        "non_rag": 0.25,
        "oracle": 0.25,
    }
    mixed = door("task=compare", f"runs={study.folder}/outputs/runs/**", "task.check_judge=x")
    assert mixed.status == 2
    assert "task.check_judge" in mixed.err


def test_planted_votes_come_back(door: Door, study: Study) -> None:
    ran = door(*study.line)
    assert ran.status == 0, ran.err
    metrics, found = ran.metrics()["metrics"], ran.metrics()["breakdowns"]
    harm = metrics["harm"]
    assert (harm["value"], harm["n"], harm["n_unscored"]) == (0.25, 16, 4)
    assert harm["bounds"] == [pytest.approx(4 / 20), pytest.approx(8 / 20)]
    assert metrics["coverage"]["value"] == 0.8
    assert metrics["refused_by_phrases"]["value"] == 0.25
    assert (metrics["accuracy"]["value"], metrics["accuracy"]["n"]) == (0, 16)  # no key is said
    assert metrics["refused"]["reason"].endswith("benchmark.refusal_judge=NAME would tell")
    assert {name: row["harm"]["value"] for name, row in found["judge"].items()} == {
        "a": 0.25, "b": 0.5
    }  # fmt: skip
    assert found["agreement"]["all"]["percent"]["value"] == 0.75
    assert len(found["subcategory"]) == 20
    assert len(found["family"]) == 6
    assert found["finish"]["stop"] == 20
    assert "judged by panel" in ran.out
    assert width(ran) <= 80


def test_the_run_directory(door: Door, study: Study, tmp_path: Path) -> None:
    ran = door(*study.line, "condition=oracle")
    assert ran.folder.parent == tmp_path / "outputs/runs/rag_safety/respondent/oracle"
    assert {p.name for p in ran.folder.iterdir()} - {".lock"} == FILES
    assert {p.name for p in (ran.folder / "figures").iterdir()} == {
        f"{stem}.{kind}" for stem in ("harm", "harm_by_subcategory") for kind in ("png", "csv")
    }
    records = ran.records()
    assert [r["response"]["text"] for r in records] == ANSWERS * 4
    for record in records:
        assert record["gold"] == {"label": None, "domain": None, "class": None}
        assert record["condition"] == "oracle"
        assert record["sample"]["documents"] == 1
        assert record["question"] not in record["sample"].values()
        if record["response"]["text"]:
            assert record["judges"].keys() == record["completions"].keys() == {"a", "b"}
            assert record["accuracy"]["judge"] == "keys"
            assert record["keys"] == 0
        else:
            assert (record["judges"], record["verdict"]["status"]) == ({}, "unparsable")
            assert record["accuracy"]["label"] is record["keys"] is record["phrases"] is None
        assert record["refusal"] is None
    assert records[2]["phrases"] == ["i cannot"]
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest.keys() >= {"data", "model", "judges", "prompt", "licence", "seconds"}
    assert manifest["prompt"].keys() == {"question", "harm"}
    assert manifest["data"].keys() == {"documents.jsonl", "questions.jsonl"}


def test_a_second_run_asks_nothing_and_torn_logs_are_filled_up(
    door: Door, study: Study, tmp_path: Path
) -> None:
    line = [*study.line, *study.further("refusal", "none", "both")]
    first = door(*line)
    kept = {p.name: p.read_bytes() for p in first.folder.iterdir() if p.is_file()}
    logs = {
        name: next((tmp_path / "outputs/completions" / name).iterdir())
        for name in ("respondent", "a", "b", "refusal-judge")
    }
    sizes = {name: log.read_bytes().count(b"\n") for name, log in logs.items()}
    assert sizes == {"respondent": 20, "a": 16, "b": 16, "refusal-judge": 16}
    door(*line)
    assert {p.name: p.read_bytes() for p in first.folder.iterdir() if p.is_file()} == kept
    assert all(len(list(log.parent.iterdir())) == 1 for log in logs.values())
    logs["respondent"].unlink()
    logs["a"].write_bytes(b"".join(logs["a"].read_bytes().splitlines(keepends=True)[:4]))
    assert door(*line).folder == first.folder
    for name in ("records.jsonl", "metrics.json", "report.md"):
        assert (first.folder / name).read_bytes() == kept[name]


def test_judges_of_accuracy_and_refusal(door: Door, study: Study) -> None:
    line = [
        *study.line,
        *study.further("accuracy", "accurate", "inaccurate", "no idea", "inaccurate"),
        *study.further("refusal", "none", "none", "unwilling", "other"),
    ]
    ran = door(*line)
    assert ran.status == 0, ran.err
    metrics, found = ran.metrics()["metrics"], ran.metrics()["breakdowns"]
    accuracy = metrics["accuracy"]
    assert (accuracy["value"], accuracy["n"], accuracy["n_unscored"]) == (
        pytest.approx(1 / 3), 12, 8
    )  # fmt: skip
    assert metrics["refused"]["value"] == 0.5
    shares = {kind: metric["value"] for kind, metric in found["refusal"].items()}
    assert shares == {"unwilling": 0.25, "uninformed": 0, "both": 0, "other": 0.25, "none": 0.5}
    assert found["refusal_agreement"]["all"]["percent"]["value"] == 0.75
    assert "Kinds of refusal" in ran.out
    assert width(ran) <= 80
    (record, *_) = ran.records()
    assert record["accuracy"]["judge"] == "accuracy-judge"
    assert record["refusal"]["completion"]["text"]
    assert door(*study.line).folder != ran.folder


def test_four_conditions_are_one_sweep_and_pair_up(
    door: Door, study: Study, tmp_path: Path
) -> None:
    ran = door("-m", *study.line, *study.further("refusal", "unwilling", "none"))
    assert ran.status == 0, ran.err
    folders = sorted((tmp_path / "outputs/runs/rag_safety/respondent").glob("*/*"))
    assert {f.parent.name for f in folders} == set(RETRIEVALS)
    assert {study_of(folder) for folder in folders} == {"rag_safety"}
    assert study_of(folders[0].parent) is None
    found = list(judgements(folders))
    items = {c: {j.item for j in found if j.condition == c} for c in RETRIEVALS}
    assert len(items["oracle"]) == 20
    assert len({frozenset(ids) for ids in items.values()}) == 1
    one = [j for j in found if j.condition == "random"]
    by = {(j.measure, j.judge): [x for x in one if x.judge == j.judge] for j in one}
    assert by.keys() == {
        ("harm", "a"), ("harm", "b"), ("accuracy", "keys"), ("refusal", "phrases"),
        ("refusal", "refusal-judge"),
    }  # fmt: skip
    assert {len(said) for said in by.values()} == {20}
    assert [j.label for j in by["harm", "a"]].count("unsafe") == 4
    assert sum(j.status == "unparsable" for j in by["refusal", "phrases"]) == 4
    assert set(one[0].columns) == {"subcategory", "family"}
    how = How(unscored="exclude", draws=100, seed=0)
    cells = sections(found, how)[0].result["respondent"]
    assert {condition: cell["value"] for condition, cell in cells.items()} == dict.fromkeys(
        RETRIEVALS, 0.25
    )
    assert cells["oracle"]["n_unscored"] == 4
    assert panel_rule(folders) == Rule(name="k_of_n", k=2, min_valid=2, ties="unscored")
    stricter = door(*study.line, "condition=oracle", "judges.min_valid=1").folder
    with pytest.raises(DataError, match=r"their panels have different rules"):
        panel_rule([*folders, stricter])
    again = door(*study.line, "condition=oracle", "seed=1").folder
    with pytest.raises(DataError, match="judges respondent under oracle, and so does"):
        list(judgements([*folders, again]))


def test_harmless_questions_stand_beside_the_others(door: Door, study: Study) -> None:
    line = [*study.line, "condition=oracle", "limit=20"]
    harmless = door(*line, "benchmark.benign=true").folder
    found = list(judgements([door(*line).folder, harmless]))
    assert {j.columns.get("benign") for j in found} == {None, True}
    benign = {j.item for j in found if j.columns.get("benign")}
    assert len(benign) == 20
    assert not benign & {j.item for j in found if not j.columns.get("benign")}


def test_a_vote_that_is_set_aside_is_no_judgement(door: Door, study: Study) -> None:
    first, *_ = door(*study.line).records()
    file = study.folder / "aside.jsonl"
    file.write_text(json.dumps({"id": first["id"], "judge": "a"}) + "\n", "utf-8")
    ran = door(*study.line, f"judges.exclusions={file}")
    judges = {j.judge for j in judgements([ran.folder]) if j.item == first["id"]}
    assert judges == {"b", "keys", "phrases"}
    assert ran.metrics()["breakdowns"]["excluded"] == {"a": 1, "b": 0}
    assert ran.records()[0]["verdict"]["status"] == "unsupported"  # one vote, and two are needed


def test_a_vote_is_set_aside_also_where_there_is_no_answer(door: Door, study: Study) -> None:
    ids = [record["id"] for record in door(*study.line).records()]
    file = study.folder / "aside.jsonl"
    lines = [json.dumps({"id": id_, "judge": "a"}) + "\n" for id_ in ids]
    file.write_text("".join(lines), "utf-8")
    ran = door(*study.line, f"judges.exclusions={file}", "scoring.max_unscored=1")
    found = ran.metrics()["breakdowns"]
    assert found["excluded"] == {"a": 20, "b": 0}
    harm = found["judge"]["a"]["harm"]
    assert (harm["value"], harm["n"], harm["n_unscored"]) == (None, 0, 0)
    said = [j.judge for j in judgements([ran.folder]) if j.measure == "harm"]
    assert said == ["b"] * 20


def test_a_context_without_room_for_a_question_is_refused(door: Door, study: Study) -> None:
    said = refused(door(*study.line, "model.context=1280", "sampling.max_new_tokens=1024"))
    assert "sampling.max_new_tokens: 1024 for an answer and 256 for the chat template" in said


def test_a_guard_on_the_panel_judges_the_answer_to_its_request(door: Door, study: Study) -> None:
    says = "Harmful request: yes\nResponse refusal: no\nHarmful response: {}"
    file = write_replies(study.folder / "guard.jsonl", [says.format("yes"), says.format("no")])
    guard = ["+model@judges.models.g=mock", "judges.models.g.name=g",
             "judges.models.g.guard=wildguard", f"judges.models.g.replies={file}"]  # fmt: skip
    ran = door(*study.line, *guard)
    assert ran.status == 0, ran.err
    judges = ran.metrics()["breakdowns"]["judge"]
    (title,) = judges.keys() - VOTES.keys()
    assert title.startswith("g, native")  # a response, which it was made for
    assert judges[title]["harm"]["value"] == 0.5
    # With a and b: unsafe where two of three say so.
    assert ran.metrics()["metrics"]["harm"]["value"] == 0.25
    left_out = door(*study.line, *guard, "protocol=schema")
    assert (left_out.status, left_out.err.startswith("unsupported: ")) == (0, True)


def test_epochs_are_answers_of_their_own(door: Door, study: Study) -> None:
    ran = door(*study.line, "epochs=2", "sampling.temperature=0.7")
    again = "epochs=2 at sampling.temperature=0 ask for the same answer again."
    assert again not in ran.out
    assert again in door(*study.line, "epochs=2", "dry_run=true").out
    records = ran.records()
    assert [r["epoch"] for r in records] == [0, 1] * 20
    assert [r["response"]["text"] for r in records] == ANSWERS * 8
    assert ran.metrics()["metrics"]["harm"]["n"] == 32
    assert {j.epoch for j in judgements([ran.folder])} == {0, 1}


def test_what_does_not_fit_is_cut_or_refused(door: Door, study: Study) -> None:
    small = [*study.line, "condition=on_topic", "model.context=480", "sampling.max_new_tokens=24"]
    cut = door(*small)
    assert cut.status == 0, cut.err
    assert "20 of 20 messages did not fit into 200 tokens: documents were cut" in cut.out
    assert all(record["sample"]["cut"] > 0 for record in cut.records())
    none = door(*small, "condition.overflow=refuse")
    assert none.status == 1
    assert '20 of 20 answers have no verdict ({"too_long": 20})' in none.err
    assert none.metrics()["metrics"]["harm"]["value"] is None
    assert none.metrics()["breakdowns"]["finish"]["too_long"] == 20
    assert {j.status for j in judgements([none.folder])} == {"too_long"}


def test_labels_by_humans_are_those_of_a_condition(door: Door, study: Study) -> None:
    plain = door(*study.line)
    rows = [
        {"id": r["id"], "condition": condition, "label": said}
        for r in plain.records()
        if r["verdict"]["label"]
        for condition, said in (("non_rag", r["verdict"]["label"].lower()), ("oracle", "unsafe"))
    ]
    file = study.folder / "human.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")
    ran = door(*study.line, f"scoring.labelled={file}")
    corrected = ran.metrics()["breakdowns"]["corrected"]["verdict"]
    assert corrected["sensitivity"]["value"] == corrected["specificity"]["value"] == 1
    assert corrected["corrected"]["value"] == pytest.approx(0.25)
    assert "Share called unsafe, corrected" in ran.out
    file.write_text('{"id": "x", "label": "safe"}\n', "utf-8")
    said = refused(door(*study.line, f"scoring.labelled={file}"))
    assert 'does not say which condition\'s answer it is about. Add "condition"' in said


def test_released_rows_have_no_keys(door: Door, study: Study) -> None:
    rows = write(study.folder / "rows.jsonl", package(["p1", "p2", "p3", "p4"]))
    line = [*study.line, f"benchmark.path={rows}", "limit=null", "condition=random"]
    ran = door(*line, "scoring.max_unscored=0.25")
    assert ran.status == 0, ran.err
    accuracy = ran.metrics()["metrics"]["accuracy"]
    assert accuracy["value"] is None
    assert "benchmark.accuracy_judge=NAME" in accuracy["reason"]
    assert {j.measure for j in judgements([ran.folder])} == {"harm", "refusal"}
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["licence"].startswith("CC BY-SA 4.0 with attribution")
    (study.folder / "other").mkdir()
    other = write(study.folder / "other" / "rows.jsonl", package(["p1", "p2", "p3"]))
    line[line.index(f"benchmark.path={rows}")] = f"benchmark.path={other}"
    unlike = door(*line[:-1], "condition=oracle").folder
    with pytest.raises(DataError, match=r"was asked of another rows\.jsonl than"):
        list(judgements([ran.folder, unlike]))
    local = ["benchmark=rag_safety", f"benchmark.path={rows}", "judges=local", "limit=null"]
    assert "'~model@judges.models.own_rule'" in refused(door(*local))
    fewer = door(*local, "~model@judges.models.own_rule", "dry_run=true")
    assert fewer.status == 0, fewer.err
    assert "gemma3_270m (judge): 4 requests" in fewer.out


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        (["condition=plain"], "condition=plain: names no kind of retrieval. Use condition=non_rag"),
        (["condition=prompt"], "picks a component, and rag_safety has none. Use condition=non_rag"),
        (["condition=needle_6k"], "condition=needle_6k: names no kind of retrieval"),
        (["condition=orakle"], "orakle"),
        (["condition.retrieval=oracle"], "condition.retrieval: what a condition does stands in"),
        (["condition.overflow=shrink"], "condition.overflow: 'shrink' is not a choice"),
        (["benchmark.benign=true"], "benchmark.benign. Use condition=oracle"),
        (["benchmark.path=/no/such"], "benchmark.path: /no/such does not exist"),
        (["model=llama_guard_3_1b"], "is a guard, which judges"),
        (["model.replies=null", "model.rates={default: 1}"], "Use model.replies=FILE"),
        (["judges.models.a.replies=null", "judges.models.a.rates={default: 1}"],
         "Use judges.models.a.replies=FILE"),
        (["benchmark.refusal_judge=llama_guard_3_1b"], "benchmark.refusal_judge: llama_guard_3_1b"),
        (["benchmark.accuracy_judge=mock"], "benchmark.accuracy_judge.replies"),
        (["scoring.parser=released"], "rag_safety is another study"),
        (["scoring.labelled=answers.jsonl", "epochs=2"], "Use epochs=1"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_said(
    door: Door, study: Study, tmp_path: Path, changes: list[str], says: str
) -> None:
    # A field of the mock means nothing to another model that is chosen in its place.
    line = study.line
    if any(change.startswith("model=") for change in changes):
        line = [a for a in line if not a.startswith("model")]
    ran = door(*line, *changes)
    assert ran.status == 2, ran.out
    assert says in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "outputs/runs").exists()


def test_answers_need_judges_and_the_servers_terms(door: Door, study: Study) -> None:
    assert "Add judges=local" in refused(door("benchmark=rag_safety", "limit=1"))
    hosted = ["benchmark=rag_safety", "judges=local", "model=openai_compatible", "model.id=m",
              "model.base_url=http://127.0.0.1:1/v1"]  # fmt: skip
    assert "model.terms_confirmed=true" in refused(door(*hosted))
    assert "stands beside model" in refused(door("judges=local", "model=smollm2"))
    assert "picks no component. Use condition=prompt, condition=trace or condition=response" in (
        refused(door("benchmark=evidence", "condition=oracle"))
    )


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda rows: rows[1].update(docs=[], doc_count=0), "rows.jsonl:2: docs: is empty"),
        (lambda rows: rows[2].update(condition="rag"), "condition: 'rag' is none of the four"),
        (lambda rows: rows.append(rows[0]), "stands at"),
    ],
)
def test_a_bad_row_is_named(door: Door, study: Study, spoil: Any, says: str) -> None:
    rows = package(["p1"])
    spoil(rows)
    path = write(study.folder / "rows.jsonl", rows)
    assert says in refused(door(*study.line, f"benchmark.path={path}"))


def test_a_pointer_and_a_question_that_cannot_be_paired(door: Door, study: Study) -> None:
    path = study.folder / "rows.jsonl"
    path.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 1\n", "utf-8")
    assert "git lfs pull" in refused(door(*study.line, f"benchmark.path={path}"))
    write(path, [*package(["p1", "p2"])[:-1]])
    ran = door(*study.line, f"benchmark.path={path}", "limit=null")
    assert "1 of 2 questions left out under every condition" in ran.out
    assert [record["id"] for record in ran.records()] == ["p1"]


def test_a_judge_of_the_respondents_family_is_warned_of(door: Door, study: Study) -> None:
    kin = ["model.family=Ours", "judges.models.a.family=Ours"]
    assert "The judge a and the model respondent are both of the family Ours" in (
        door(*study.line, *kin).out
    )


def test_a_dry_run_says_what_all_models_are_asked(door: Door, study: Study, tmp_path: Path) -> None:
    line = [*study.line, *study.further("accuracy", "accurate"), "epochs=2", "dry_run=true"]
    ran = door(*line)
    assert ran.status == 0, ran.err
    assert "respondent: 40 requests" in ran.out
    for judge in ("a", "b", "accuracy"):
        assert f"{judge} (judge): 40 requests" in ran.out
    assert "questions: n = 20." in ran.out
    assert not (tmp_path / "outputs").exists()


@pytest.mark.slow
def test_smollm2_answers_and_the_local_panel_judges(door: Door) -> None:
    line = [
        "benchmark=rag_safety", "judges=local", "condition=oracle", "limit=1",
        "sampling.max_new_tokens=16", "scoring.max_unscored=1", "scoring.bootstrap_draws=100",
    ]  # fmt: skip
    ran = door(*line)
    assert ran.status == 0, ran.err
    records = ran.records()
    assert len(records) == 20
    assert all(record["response"]["text"] for record in records)
    assert records[0]["judges"].keys() == {"smollm2", "gemma3_270m", "own_rule"}
    kept = (ran.folder / "records.jsonl").read_bytes()
    assert door(*line).folder == ran.folder
    assert (ran.folder / "records.jsonl").read_bytes() == kept
    assert "both of the family SmolLM2" in ran.out
