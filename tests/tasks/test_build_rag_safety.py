"""`task=build benchmark=rag_safety` as a user types it: its stages, killed, resumed, read back."""

from __future__ import annotations

import csv
import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.annotation.stub import reached
from tests.benchmarks.rag_safety import made_articles
from tests.benchmarks.rag_safety.made_articles import ARTICLES, FACTS, write_articles
from tests.integration.conftest import Door, Ran, write_replies
from tests.tasks.test_annotate import Lab, chosen, submit
from trace.annotation.decide import Decision
from trace.annotation.label import Label
from trace.benchmarks.rag_safety import human, released, rows
from trace.benchmarks.rag_safety.builder import freeze, wikitext
from trace.benchmarks.rag_safety.names import RELEASED
from trace.models import mock
from trace.records import Completion, Request
from trace.tracking.files import read_jsonl, write_jsonl

BUILD = ("task=build", "benchmark=rag_safety", "benchmark.builder.words=100")
STAGES = {
    "corpus": {"corpus.jsonl"},
    "questions": {"questions.jsonl"},
    "documents": {"candidates.jsonl"},
    "audit": {"audit.jsonl", "queue.jsonl"},
    "review": {"reviewed.jsonl"},
    "freeze": {"eval_examples.expanded.jsonl", "category_counts.csv", "sources.csv", "card.md",
               "SHA256SUMS", "balanced/eval_examples.expanded.jsonl",
               "balanced/allowed_example_ids.csv", "balanced/category_counts.csv"},
}  # fmt: skip
PLANTED = "planted"
NEVER = -1


def lines(folder: Path, name: str) -> list[Any]:
    return list(read_jsonl(folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """All that is a function of articles, configuration and completions."""
    skipped = (".lock", "manifest.json")
    files = (p for p in folder.rglob("*") if p.is_file() and p.name not in skipped)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def manifest(folder: Path) -> Any:
    return json.loads((folder / "manifest.json").read_text("utf-8"))


Reply = Callable[[str], str]


@pytest.fixture
def models(monkeypatch: pytest.MonkeyPatch) -> dict[str, Reply]:
    """Lets mocks whose replies say `planted` answer by what they are shown."""
    know: dict[str, Reply] = {"writer": made_articles.write, "auditor": made_articles.audit}
    answer = mock.MockModel._answer

    def knowing(model: mock.MockModel, request: Request, key: str) -> Completion:
        if not model._replies[0].startswith(PLANTED) or not request.sample:
            return answer(model, request, key)
        role = model._replies[0].removeprefix(PLANTED + " ")
        return model._written(know[role](str(request.messages[0]["content"])), key)

    monkeypatch.setattr(mock.MockModel, "_answer", knowing)
    return know


@pytest.fixture
def words(tmp_path: Path, models: dict[str, Reply]) -> list[str]:
    """A build of the invented world by models that know it."""
    path = write_articles(tmp_path / "articles.jsonl")
    return [*BUILD, f"benchmark.builder.articles={path}", *mocks(tmp_path)]


def mocks(folder: Path, **replies: str) -> list[str]:
    told = []
    for role in ("writer", "auditor"):
        reply = replies.get(role, f"{PLANTED} {role}")
        path = write_replies(folder / f"{role}.jsonl", [reply])
        told += [f"benchmark.builder.{role}=mock", f"benchmark.builder.{role}.replies={path}"]
    return told


@pytest.fixture
def built(door: Door, words: list[str]) -> Ran:
    ran = door(*words)
    assert ran.status == 0, ran.err
    return ran


def test_a_set_is_built_and_read_back_full_and_balanced(built: Ran) -> None:
    folder = built.folder
    assert folder.parts[-4:-1] == ("runs", "rag_safety", "build")
    assert set(contents(folder)) == set().union(*STAGES.values())
    facts = {fact.question: fact for fact in FACTS}
    sources = {one["title"]: one for one in ARTICLES}
    for at in (folder, folder / "eval_examples.expanded.jsonl", folder / "balanced"):
        for condition in ("non_rag", "oracle", "on_topic", "random"):
            read = released.read(at, condition)  # type: ignore[arg-type]
            assert {row.question for row in read.rows} == set(facts)
            assert not [note for note in read.notes if "narrows" not in note]
            for row in read.rows:
                fact = facts[row.question]
                assert (row.expected, row.keys) == (fact.answer, (fact.key,))
                assert row.subcategory == sources[fact.title]["subcategory"]
                assert len(row.documents) == {"non_rag": 0, "oracle": 1}.get(condition, 3)
                for document in row.documents:
                    said = sources[document.title]
                    assert (fact.key in document.text) == (condition == "oracle")
                    same = said["subcategory"] == row.subcategory
                    assert same == (condition != "random")
                    assert (said["subcategory"] is None) == (condition == "random")
                    assert document.url == said["url"]
                    for name in ("revision", "licence"):
                        assert document.provenance[name] == said[name]
                    assert document.provenance["change_note"] == "Cut into passages by section."
                    assert 50 <= len(document.text.split()) <= 100
                if condition == "oracle":
                    assert (
                        row.provenance["gold_section_id"]
                        in row.documents[0].provenance["section_ids"]
                    )


def test_the_rows_have_every_field_of_the_released_schema(built: Ran) -> None:
    texts = {"prompt_id", "question", "condition", "taxonomy_family", "taxonomy_subcategory",
             "taxonomy_source", "harm_category", "harm_topic_family", "topic", "topic_slug",
             "gold_doc_id", "gold_doc_title", "source_run_id", "source_builder_mode",
             "dataset_stage", "review_mode", "curation_status",
             "expected_unsafe_answer_summary"}  # fmt: skip
    of_documents = {"doc_id", "title", "url", "rank", "is_gold", "doc_safety", "answer_support",
                    "topic_relation", "source_category", "section_ids", "section_headings",
                    "text_source", "text"}  # fmt: skip
    made = lines(built.folder, "eval_examples.expanded.jsonl")
    assert len(made) == 4 * len(FACTS)
    assert Counter(row["condition"] for row in made) == dict.fromkeys(RELEASED.values(), 10)
    for row in made:
        assert all(isinstance(row[name], str) and row[name] for name in texts)
        assert row["doc_count"] == len(row["docs"])
        assert all(of_documents <= set(document) for document in row["docs"])


def test_it_is_evaluated_like_the_released_set(door: Door, built: Ran, tmp_path: Path) -> None:
    replies = write_replies(tmp_path / "r.jsonl", ["It is the quillen hook.", "I cannot."])
    verdict = write_replies(tmp_path / "v.jsonl", ['{"verdict": "unsafe"}'])
    ran = door("benchmark=rag_safety", f"benchmark.path={built.folder / 'balanced'}",
               "condition=oracle", "model=mock", f"model.replies={replies}", "judges=panel",
               "judges.min_valid=1", "+model@judges.models.a=mock", "judges.models.a.name=a",
               f"judges.models.a.replies={verdict}")  # fmt: skip
    assert ran.status == 0, ran.err
    assert len(ran.records()) == len(FACTS)


def test_an_export_of_a_wiki_with_the_same_articles_gives_the_same_set(
    door: Door, built: Ran, words: list[str], tmp_path: Path
) -> None:
    pages = [
        made_articles.page(
            one["title"],
            f"{{{{box}}}}{one['text'].replace('## More of it', '== More of it ==')}"
            f"<ref>A book.</ref>\n[[Category:{one['subcategory'] or 'Quiet things'}]]",
        )
        for one in ARTICLES
    ]
    (tmp_path / "w.xml").write_text(made_articles.export(pages), "utf-8")
    (tmp_path / "t.csv").write_text(
        "category,subcategory\nFraud scam,fraud_scam\nProperty crimes,property_crimes\n"
        "Quiet things,\n",
        "utf-8",
    )
    ran = door(*words, f"benchmark.builder.articles={tmp_path / 'w.xml'}",
               f"benchmark.builder.categories={tmp_path / 't.csv'}",
               "benchmark.builder.licence='CC BY-SA 4.0'")  # fmt: skip
    assert ran.status == 0, ran.err
    for condition in ("oracle", "on_topic"):
        mine, other = (
            {(r.question, frozenset(d.text for d in r.documents)) for r in read.rows}
            for read in (released.read(f, condition) for f in (built.folder, ran.folder))  # type: ignore[arg-type]
        )
        assert mine == other
    notes = {d["change_note"] for d in lines(ran.folder, "corpus.jsonl")}
    assert notes == {f"{wikitext.CHANGED} Cut into passages by section."}


def test_the_sums_are_those_of_the_files_and_card_and_manifest_say_what_they_hold(
    built: Ran,
) -> None:
    folder = built.folder
    text = (folder / "SHA256SUMS").read_text("utf-8")
    sums = {name: sha256 for sha256, name in (line.split("  ") for line in text.splitlines())}
    assert set(sums) == set(contents(folder)) - {"SHA256SUMS"}
    for name, sha256 in sums.items():
        assert hashlib.sha256((folder / name).read_bytes()).hexdigest() == sha256
    card = (folder / "card.md").read_text("utf-8")
    for word in ("10 questions", "CC BY-SA 4.0", "Limits", "sources.csv", "No person reviewed"):
        assert word in card, word
    said = manifest(folder)
    assert said["counts"]["full"] == {"fraud_scam": 4, "property_crimes": 6}
    assert said["questions"] == said["balanced"] == 10
    assert said["audit"]["oracle"] == {"answered": 10, "not_answered": 0, "undecided": 0}
    assert said["audit"]["on_topic"]["not_answered"] == 30
    assert said["licences"] == {"CC BY-SA 4.0": 8}
    assert set(said["models"]) == {"writer", "auditor"}
    with (folder / "sources.csv").open(newline="") as file:
        named = {row["title"]: row for row in csv.DictReader(file)}
    assert set(named) == {one["title"] for one in ARTICLES}
    assert all(all(row.values()) for row in named.values())
    with (folder / "category_counts.csv").open(newline="") as file:
        counts = {r["taxonomy_subcategory"]: int(r["count"]) for r in csv.DictReader(file)}
    assert counts == said["counts"]["full"]


def test_the_balanced_set_has_at_most_so_many_a_subcategory(
    door: Door, built: Ran, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(freeze, "BALANCED", 4)
    monkeypatch.setattr(rows, "BALANCED", 4)
    ran = door(*words)
    assert manifest(ran.folder)["counts"]["balanced"] == {"fraud_scam": 4, "property_crimes": 4}
    half = released.read(ran.folder / "balanced", "oracle")
    whole = released.read(ran.folder, "oracle")
    drawn = rows.chosen(whole.rows, balanced=True, limit=None, seed=0)
    assert half.rows == drawn  # as benchmark.balanced=true does
    assert len(drawn) < len(whole.rows)


def test_stage_by_stage_it_is_the_same_folder_and_the_same_bytes(
    door: Door, built: Ran, words: list[str], tmp_path: Path
) -> None:
    expected: set[str] = set()
    whole = contents(built.folder)
    for stage, files in STAGES.items():
        ran = door(*words, f"stage={stage}", output_dir=tmp_path / "staged")
        assert ran.status == 0, ran.err
        assert ran.folder.name == built.folder.name
        expected |= files
        assert contents(ran.folder) == {name: whole[name] for name in expected}


@pytest.fixture
def kill(monkeypatch: pytest.MonkeyPatch) -> Callable[[int], None]:
    """Interrupts the process when mocks are to answer one batch more than so many."""
    monkeypatch.setattr(mock, "BATCH", 3)
    generate = mock.MockModel.generate

    def after(batches: int) -> None:
        left = batches

        def generating(
            model: mock.MockModel, requests: Sequence[Request], done: Mapping[str, Completion]
        ) -> Iterator[list[Completion]]:
            nonlocal left
            for batch in generate(model, requests, done):
                if left == 0:
                    raise KeyboardInterrupt
                left -= 1
                yield batch

        monkeypatch.setattr(mock.MockModel, "generate", generating)

    return after


@pytest.mark.parametrize(
    ("stage", "after"),  # 10 documents are 4 batches, and 70 pairs 24
    [("questions", 0), ("questions", 2), ("audit", 4), ("audit", 9), ("freeze", 20), ("all", 27)],
)
def test_a_stage_killed_and_resumed_ends_in_the_same_bytes(
    door: Door, built: Ran, words: list[str], kill: Callable[[int], None], tmp_path: Path,
    stage: str, after: int,
) -> None:  # fmt: skip
    out, typed = tmp_path / "killed", [*words, f"stage={stage}"]
    kill(after)
    ran = door(*typed, output_dir=out)
    assert ran.status == 130
    assert "Traceback" not in ran.err
    kill(NEVER)
    ran = door(*typed, output_dir=out)
    assert ran.status == 0, ran.err
    whole, done = contents(built.folder), list(STAGES)
    last = "freeze" if stage == "all" else stage
    expected = set().union(*(STAGES[name] for name in done[: done.index(last) + 1]))
    assert contents(ran.folder) == {name: whole[name] for name in expected}
    keys = [line["key"] for log in out.rglob("completions/**/*.jsonl") for line in read_jsonl(log)]
    assert len(keys) == len(set(keys)) == (10 if stage == "questions" else 80)


@pytest.mark.parametrize("name", ["corpus.jsonl", "queue.jsonl", "allowed_example_ids.csv",
                                  "card.md", "SHA256SUMS"])  # fmt: skip
def test_killed_while_it_writes_it_leaves_whole_files_and_ends_the_same(
    door: Door, built: Ran, words: list[str], tmp_path: Path, name: str
) -> None:
    out = tmp_path / "killed"
    with pytest.MonkeyPatch.context() as patched:
        replace = Path.replace

        def renaming(path: Path, target: Path) -> Path:
            if Path(target).name == name:
                raise KeyboardInterrupt
            return replace(path, target)

        patched.setattr(Path, "replace", renaming)
        assert door(*words, output_dir=out).status == 130
    whole = contents(built.folder)
    for folder in (out / "runs/rag_safety/build").glob("*"):
        assert contents(folder) == {k: whole[k] for k in contents(folder)}
    assert contents(door(*words, output_dir=out).folder) == whole


def test_failed_requests_are_told_and_a_set_frozen_without_them_does_not_outlive_their_answers(
    door: Door, built: Ran, words: list[str], tmp_path: Path
) -> None:
    out = tmp_path / "failed"
    generate = mock.MockModel.generate

    def failing(
        model: mock.MockModel, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        for batch in generate(model, requests, done):
            yield [
                Completion(key=made.key, finish="error", error="busy") if n % 9 == 1 else made
                for n, made in enumerate(batch)
            ]

    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(mock.MockModel, "generate", failing)
        before = door(*words, output_dir=out)
    assert before.status == 0, before.err
    assert "requests to models failed (busy)" in before.out
    assert 0 < manifest(before.folder)["questions"] < 10
    # People are not given what the next try may settle.
    assert "Give them to people" not in before.out
    assert lines(before.folder, "queue.jsonl") == []
    assert any(a["meta"]["undecided"] == "error" for a in lines(before.folder, "audit.jsonl"))
    ran = door(*words, "stage=audit", output_dir=out)
    assert "requests to models failed" not in ran.out
    assert "eval_examples.expanded.jsonl" not in contents(ran.folder)
    assert not (ran.folder / "manifest.json").exists()
    assert contents(door(*words, output_dir=out).folder) == contents(built.folder)


def test_where_all_requests_failed_it_is_not_the_form_that_is_blamed(
    door: Door, words: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def failing(
        model: mock.MockModel, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        keys = (request.key(model.identity) for request in requests)
        yield [Completion(key=key, finish="error", error="busy") for key in keys]

    monkeypatch.setattr(mock.MockModel, "generate", failing)
    ran = door(*words)
    assert ran.status == 2
    assert "no question can be frozen" in ran.err
    assert "10 requests to models failed (busy)" in ran.err
    assert "the same command asks them again" in ran.err
    assert "Small models" not in ran.err
    assert "can be given to people" not in ran.err


def test_verdicts_that_contradict_drop_a_question_and_open_ones_wait_for_people(
    door: Door, words: list[str], models: dict[str, Reply], tmp_path: Path
) -> None:
    wrong, bare, liar, open_ = (FACTS[n] for n in (0, 2, 4, 6))

    def auditing(message: str) -> str:
        shown = made_articles.sections(message)
        right = made_articles.audit(message)
        title = next(f.title for f in FACTS if f.question == shown["question"])
        if shown["question"] == wrong.question and wrong.key in shown["document"]:
            return json.dumps({"verdict": "not_answered", "quote": ""})
        if shown["question"] == bare.question and bare.key in shown["document"]:
            return json.dumps({"verdict": "answered", "quote": "it stands nowhere"})
        if shown["question"] == liar.question and "bread" in shown["document"].casefold():
            return json.dumps({"verdict": "answered", "quote": shown["document"][:20]})
        if shown["question"] == open_.question and open_.key in shown["document"]:
            return f"It seems so, {title}."
        return right

    models["auditor"] = auditing
    ran = door(*words, "benchmark.builder.random=6")  # all harmless documents
    assert ran.status == 0, ran.err
    left = manifest(ran.folder)["left_out"]["audit"]
    assert left == {
        "a random document answers it": 1,
        "the oracle does not answer it": 1,
        "undecided about the oracle": 2,
    }
    frozen = {row["question"] for row in lines(ran.folder, "eval_examples.expanded.jsonl")}
    assert frozen == {f.question for f in FACTS} - {
        one.question for one in (wrong, bare, liar, open_)
    }
    assert len(lines(ran.folder, "audit.jsonl")) == 10 * 10
    queue = lines(ran.folder, "queue.jsonl")
    assert {(line["question"], line["meta"]["undecided"]) for line in queue} == {
        (bare.question, "answered, and the quote is not in the document"),
        (open_.question, "not in the form"),
    }
    for name in ("queue.jsonl", "audit.jsonl"):  # people can be given either
        study = human.study(ran.folder / name, "rag_document")
        assert len(study.items) == len(lines(ran.folder, name))

    def decided(line: Any, value: str) -> Any:
        label, at = Label(value=value), "2026-01-01T00:00:00Z"
        return Decision(
            item=line["id"], question="answerability", how="single", label=label, by=("A1",), at=at
        ).to_json()

    wait = {line["question"]: line for line in queue}
    conflict = next(
        line for line in lines(ran.folder, "audit.jsonl")
        if line["question"] == wrong.question and line["meta"]["role"] == "oracle"
    )  # fmt: skip
    reviewed = tmp_path / "reviewed"
    reviewed.mkdir()
    said = [decided(wait[bare.question], "answered"), decided(conflict, "answered"),
            decided(wait[open_.question], "not_answered")]  # fmt: skip
    write_jsonl(reviewed / "decisions.jsonl", said)
    for given in (reviewed, reviewed / "decisions.jsonl"):
        again = door(*words, "benchmark.builder.random=6", f"benchmark.builder.reviewed={given}")
        assert again.status == 0, again.err
        assert again.folder != ran.folder
        found_rows = lines(again.folder, "eval_examples.expanded.jsonl")
        assert {r["question"] for r in found_rows} == frozen | {bare.question, wrong.question}
        assert {r["question"] for r in found_rows if r["review_mode"] == "people"} == {
            bare.question, wrong.question,
        }  # fmt: skip
        assert manifest(again.folder)["decided_by_people"] == 3
        assert manifest(again.folder)["left_out"]["audit"] == {
            "a random document answers it": 1, "the oracle does not answer it": 1,
        }  # fmt: skip
        found = {line["id"]: line for line in lines(again.folder, "reviewed.jsonl")}
        assert found[conflict["id"]]["decided_by"] == "people"
        assert found[conflict["id"]]["auditor"] == "not_answered"
        assert "People decided about 3 documents" in (again.folder / "card.md").read_text("utf-8")


def test_what_the_auditor_left_open_is_given_to_people_and_comes_back(
    door: Door,
    words: list[str],
    models: dict[str, Reply],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    open_ = FACTS[0]

    def auditing(message: str) -> str:
        shown = made_articles.sections(message)
        return "?" if shown["question"] == open_.question else made_articles.audit(message)

    models["auditor"] = auditing
    ran = door(*words)
    assert "7 documents are undecided. Give them to people: task=annotate" in ran.out
    (typed,) = [line for line in ran.out.splitlines() if "Give them to people" in line]
    command = typed[typed.index("task=annotate") : typed.index(". Then")].split()
    with reached(monkeypatch) as stub:
        given = [f"annotate.url={stub.url}", "annotate.annotators=[A1]"]
        exported = door(*command, *given)
        assert exported.status == 0, exported.err
        lab = Lab(None, stub, capsys)  # type: ignore[arg-type]  # nothing is typed there
        lab.consent(exported.folder, "A1")
        for task in lab.tasks(exported.folder, "A1", "rag_document").values():
            value = "answered" if open_.key in task["data"]["document"] else "not_answered"
            submit(task, [chosen("document", "answerability", value)])
        imported = door(
            "task=annotate", "annotate.action=import", f"annotate.export={exported.folder}",
            *command[2:], *given, "scoring.bootstrap_draws=100",
        )  # fmt: skip
    assert imported.status == 0, imported.err
    again = door(*words, f"benchmark.builder.reviewed={imported.folder}")
    assert again.status == 0, again.err
    assert "Give them to people" not in again.out
    assert (manifest(ran.folder)["questions"], manifest(again.folder)["questions"]) == (9, 10)
    assert manifest(again.folder)["decided_by_people"] == 7


def test_decisions_about_something_else_are_refused(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    other = tmp_path / "decisions.jsonl"
    other.write_text('{"item": "q1"}\n', "utf-8")
    ran = door(*words, f"benchmark.builder.reviewed={other}")
    assert ran.status == 2
    assert "is no decision on whether a document answers" in ran.err
    write_jsonl(other, [Decision(item="q1.d1", question="answerability", how="open").to_json()])
    ran = door(*words, f"benchmark.builder.reviewed={other}")
    assert ran.status == 2
    assert "about a document of this build" in ran.err


def test_decisions_that_do_not_fit_are_refused_or_counted(
    door: Door, built: Ran, words: list[str], tmp_path: Path
) -> None:
    typed = [*words, f"benchmark.builder.reviewed={tmp_path / 'decisions.jsonl'}"]
    pair = lines(built.folder, "audit.jsonl")[0]

    def decide(item: Any, value: str) -> Any:
        return Decision(
            item=item, question="answerability", how="single", label=Label(value=value),
            by=("A1",), at="2026-01-01T00:00:00Z",
        ).to_json()  # fmt: skip

    right, stranger = decide(pair["id"], "answered"), decide("q1.d1", "answered")
    write_jsonl(tmp_path / "decisions.jsonl", [right, right, stranger])
    ran = door(*typed)
    assert ran.status == 0, ran.err
    assert "1 of the 2 decisions of benchmark.builder.reviewed are about no document" in ran.out
    said = manifest(ran.folder)
    assert (said["decided_by_people"], said["decisions_unused"]) == (1, 1)
    write_jsonl(tmp_path / "decisions.jsonl", [right, decide(pair["id"], "not_answered")])
    ran = door(*typed)
    assert ran.status == 2
    assert f"line 2: {pair['id']} is decided otherwise in a line above" in ran.err
    wrongs: list[Any] = [decide([pair["id"]], "answered"), decide(3, "answered"), [], "x",
                         decide(pair["id"], "yes"), right | {"label": "answered"}]  # fmt: skip
    for wrong in wrongs:
        write_jsonl(tmp_path / "decisions.jsonl", [wrong])
        ran = door(*typed)
        assert ran.status == 2
        assert "line 1: is no decision on whether a document answers" in ran.err


def test_no_model_is_asked_where_no_question_can_be_kept(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    for given, why in (
        ([one for one in ARTICLES if one["subcategory"]], "fewer than 3 harmless documents"),
        ([ARTICLES[0], *ARTICLES[5:]], "fewer than 4 documents: property_crimes has 2"),
    ):
        path = write_articles(tmp_path / "few.jsonl", given)
        typed = [*words, f"benchmark.builder.articles={path}"]
        ran = door(*typed)
        assert ran.status == 2
        assert why in ran.err
        assert not list(tmp_path.rglob("completions"))
        ran = door(*typed, "stage=corpus")  # says so, and shows what there is
        assert ran.status == 0, ran.err
        assert why in ran.out


def test_models_that_do_not_keep_to_the_form_give_no_set_and_are_told_so(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    ran = door(*words, *mocks(tmp_path, writer="I like boats.", auditor="Yes."))
    assert ran.status == 2
    assert "no question can be frozen" in ran.err
    assert "left out: 10 not in the form." in ran.err
    assert "Small models seldom keep to the form" in ran.err
    assert "Traceback" not in ran.err
    ran = door(*words, *mocks(tmp_path, auditor="Yes."))
    assert ran.status == 2
    assert "undecided about the oracle" in ran.err
    assert "queue.jsonl can be given to people" in ran.err


def test_a_dry_run_opens_no_model_and_counts_the_requests(
    door: Door, words: list[str], tmp_path: Path
) -> None:
    ran = door(*words, "dry_run=true")
    assert ran.status == 0, ran.err
    assert "up to 10 questions about 16 documents of 8 articles" in ran.out
    assert "mock (writer): 10 requests" in ran.out
    assert "mock (auditor): 70 requests" in ran.out
    assert "auditor" not in door(*words, "dry_run=true", "stage=questions").out
    assert "6 requests" not in door(*words, "dry_run=true", "stage=corpus").out
    assert "mock (writer): 4 requests" in door(*words, "dry_run=true", "limit=1").out
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("stage=half", "no stage of the build"),
        ("benchmark.path=README.md", "is not read by a build"),
        ("benchmark.balanced=true", "full and balanced"),
        ("benchmark.builder.words=60", "below 100"),
        ("benchmark.builder.articles=none.jsonl", "none.jsonl does not exist"),
        ("benchmark.builder.licence=x", "say it themselves"),
        ("benchmark.builder.writer=null", "benchmark.builder.writer"),
        ("benchmark.builder.reviewed=none.jsonl", "none.jsonl: cannot be read"),
    ],
)
def test_what_cannot_be_built_is_refused(
    door: Door, words: list[str], tmp_path: Path, extra: str, message: str
) -> None:
    ran = door(*words, extra)
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "outputs/runs").exists()


@pytest.mark.slow
def test_small_real_models_end_in_a_kind_word(door: Door, words: list[str]) -> None:
    small = ["benchmark.builder.writing.max_new_tokens=48", "sampling.max_new_tokens=16", "limit=1",
             "benchmark.builder.on_topic=1", "benchmark.builder.random=1"]  # fmt: skip
    for role in ("writer", "auditor"):
        mine = [word for word in words if f"builder.{role}" not in word]
        ran = door(*mine, f"benchmark.builder.{role}=smollm2", *small)
        assert ran.status in (0, 2), ran.err
        assert ran.status == 0 or "Small models seldom keep to the form" in ran.err
