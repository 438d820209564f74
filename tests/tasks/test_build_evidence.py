"""`task=build benchmark=evidence` as a user types it: its stages, killed, resumed, read back."""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import Door, Ran, write_replies
from trace import config
from trace.benchmarks.evidence import samples
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.models import mock
from trace.records import Completion, Request
from trace.tasks import evidence_stages
from trace.tracking.files import read_jsonl

BUILD = ("task=build", "benchmark=evidence", "limit=5")
FILES = {
    "curate": {"prompts.jsonl"},
    "infer": {"prompts.jsonl", "inferred.jsonl"},
    "annotate": {"prompts.jsonl", "inferred.jsonl", "annotated.jsonl", "queue.jsonl"},
}
FROZEN = {"dataset.jsonl", "card.md", "SHA256SUMS"}
THOUGHT = "They ask for a thing. I could tell them to bring a lantern."
ANSWERS = [
    f"<think>{THOUGHT}</think>I will not help with that.",
    f"<think>{THOUGHT}</think>Bring a lantern, and be kind.",
    "<think>It goes on and on",  # never closed
    f"<think>{THOUGHT}</think>",  # no response
    "Just this.",  # no reasoning
]


def said(reasoning: str, response: str, quote: str = "bring a lantern") -> dict[str, Any]:
    """An annotation in the form that is asked for; the prompt is safe."""

    def part(safety: str, evidence: str) -> dict[str, Any]:
        quotes = [] if safety == "safe" else [evidence]
        return {"safety": safety, "evidence": quotes, "explanation": "So it reads."}

    return {
        "prompt": part("safe", "") | {"risk_category": "None", "attack": "None"},
        "reasoning": part(reasoning, "bring a lantern"),
        "response": part(response, quote),
    }


CALM = said("unsafe", "safe")
ALARMED = said("unsafe", "unsafe", "be unkind")  # a quote that stands nowhere
DOUBTFUL = said("safe", "safe")


def mocks(folder: Path, **replies: list[Any]) -> list[str]:
    """The local builder with a mock in the place of every model."""
    dealt: dict[str, list[Any]] = {
        "respondents.smollm2": [*ANSWERS],
        "annotators.smollm2": [CALM, ALARMED],
        "annotators.gemma3_270m": [CALM, "I can't help with that.", ALARMED],
    }
    dealt |= {key.replace("__", "."): lines for key, lines in replies.items()}
    words = []
    folder.mkdir(parents=True, exist_ok=True)
    for key, lines in dealt.items():
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path = write_replies(folder / f"{key}.jsonl", texts)
        words += [
            f"model@benchmark.builder.{key}=mock",
            f"benchmark.builder.{key}.replies={path}",
        ]
    return words


def lines(folder: Path, name: str) -> list[Any]:
    return list(read_jsonl(folder / name))


def contents(folder: Path) -> dict[str, bytes]:
    """All that is a function of data, configuration and completions."""
    skipped = (".lock", "manifest.json")
    return {p.name: p.read_bytes() for p in folder.iterdir() if p.name not in skipped}


@pytest.fixture
def built(door: Door, tmp_path: Path) -> Ran:
    ran = door(*BUILD, *mocks(tmp_path / "replies"))
    assert ran.status == 0, ran.err
    return ran


def test_a_set_is_built_and_read_back(built: Ran) -> None:
    assert built.folder.parts[-4:-1] == ("runs", "evidence", "build")
    assert set(contents(built.folder)) == FROZEN | FILES["annotate"]
    frozen = lines(built.folder, "dataset.jsonl")
    triples = [Triple.from_json(line, f"line {n}") for n, line in enumerate(frozen)]
    assert triples
    for part, condition in zip(COMPONENTS, ("prompt", "trace", "response"), strict=True):
        for path in (built.folder, built.folder / "dataset.jsonl"):
            settings = config.Evidence(path=str(path))
            read = samples.load(settings, part=part, limit=None, seed=0)
            assert [s.id for s in read.samples] == [t.id for t in triples], condition
    for triple in triples:
        reasoning = triple.labels["reasoning"]
        assert reasoning.safety == "unsafe"
        assert {span.text for span in reasoning.evidence} == {"bring a lantern"}
        assert triple.provenance["source_category"] is None or triple.provenance["category_by"]
        assert set(triple.votes) == {"smollm2", "gemma3_270m", "marked_words"}


def test_every_answer_is_a_triple_or_counted(built: Ran) -> None:
    prompts, inferred = lines(built.folder, "prompts.jsonl"), lines(built.folder, "inferred.jsonl")
    assert len(inferred) == len(prompts)
    invalid = Counter(line["invalid"] for line in inferred)
    for place, reason in enumerate((None, None, "trace not closed", "no response", "no trace")):
        dealt = [line["invalid"] for line in inferred[place::5]]
        assert set(dealt) == {reason}
    queue, frozen = lines(built.folder, "queue.jsonl"), lines(built.folder, "dataset.jsonl")
    assert len(queue) + len(frozen) == invalid[None] == len(lines(built.folder, "annotated.jsonl"))
    assert {line["id"] for line in queue}.isdisjoint(line["id"] for line in frozen)
    for line in queue:
        assert line["open"]
        assert all(question["reason"] for question in line["open"])
        assert line["prompt"]
        assert line["reasoning"] == THOUGHT
    manifest = json.loads((built.folder / "manifest.json").read_text("utf-8"))
    del invalid[None]
    assert manifest["invalid"] == {"smollm2": dict(invalid)}
    assert manifest["queued"]["triples"] == len(queue)
    assert sum(_leaves(manifest["counts"])) == manifest["triples"] == len(frozen)
    assert set(manifest["models"]) == {
        "respondents.smollm2", "annotators.smollm2", "annotators.gemma3_270m",
    }  # fmt: skip


def _leaves(counts: Any) -> Iterator[int]:
    if isinstance(counts, int):
        yield counts
    else:
        for inner in counts.values():
            yield from _leaves(inner)


def test_the_sums_are_those_of_the_files_and_the_card_says_what_they_hold(built: Ran) -> None:
    text = (built.folder / "SHA256SUMS").read_text("utf-8")
    sums = {name: sha256 for sha256, name in (line.split("  ") for line in text.splitlines())}
    assert set(sums) == set(contents(built.folder)) - {"SHA256SUMS"}
    for name, sha256 in sums.items():
        assert hashlib.sha256((built.folder / name).read_bytes()).hexdigest() == sha256
    card = (built.folder / "card.md").read_text("utf-8")
    words = ["CC BY-NC-SA 4.0", "ODC-BY", "Limits", "trace not closed", "RisksInvolvingMinors",
             "Safety from prompt to trace to response", "Agreement of the annotators",
             "Not in the text", "evaluates safety"]  # fmt: skip
    for word in words:
        assert word in card, word
    assert built.out.count("Left out") == 1
    assert "Safety from prompt to trace to response" in " ".join(built.out.split())


def test_invented_quotes_are_counted_by_annotator_and_never_become_evidence(built: Ran) -> None:
    manifest = json.loads((built.folder / "manifest.json").read_text("utf-8"))
    assert manifest["invented"]["smollm2"]["response"]["invented"] > 0
    assert manifest["invented"]["smollm2"]["reasoning"]["invented"] == 0
    assert manifest["invented"]["marked_words"] == {
        c: {"quotes": n["quotes"], "invented": 0}
        for c, n in manifest["invented"]["marked_words"].items()
    }
    assert manifest["failures"]["gemma3_270m"]["refused"] > 0
    assert "be unkind" not in json.dumps(
        [line["labels"] for line in lines(built.folder, "dataset.jsonl")]
    )


def test_stage_by_stage_it_is_the_same_folder_and_the_same_bytes(
    door: Door, built: Ran, tmp_path: Path
) -> None:
    words = [*BUILD, *mocks(tmp_path / "replies")]
    expected: set[str] = set()
    for stage in ("curate", "infer", "annotate", "freeze"):
        ran = door(*words, f"stage={stage}", output_dir=tmp_path / "staged")
        assert ran.status == 0, ran.err
        assert ran.folder.name == built.folder.name
        expected |= FILES.get(stage, FROZEN)
        found = contents(ran.folder)
        assert set(found) == expected
        assert found == {name: contents(built.folder)[name] for name in expected}


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


NEVER = -1


@pytest.mark.parametrize(
    ("stage", "after"),  # 20 answers are 7 batches, and 8 annotations 3 of each annotator
    [("infer", 0), ("infer", 3), ("annotate", 7), ("annotate", 9), ("freeze", 1), ("all", 12)],
)
def test_a_stage_killed_and_resumed_ends_in_the_same_bytes(
    door: Door, built: Ran, kill: Callable[[int], None], tmp_path: Path, stage: str, after: int
) -> None:
    words, out = [*BUILD, *mocks(tmp_path / "replies"), f"stage={stage}"], tmp_path / "killed"
    kill(after)
    ran = door(*words, output_dir=out)
    assert ran.status == 130
    assert "Traceback" not in ran.err
    kill(NEVER)
    ran = door(*words, output_dir=out)
    assert ran.status == 0, ran.err
    whole = contents(built.folder)
    expected = FILES.get(stage, FROZEN | FILES["annotate"])
    assert contents(ran.folder) == {name: whole[name] for name in expected}
    logs = out.rglob("completions/**/*.jsonl")
    keys = [line["key"] for log in logs for line in read_jsonl(log)]
    assert len(keys) == len(set(keys)), "a finished completion was made twice"


@pytest.fixture
def fail(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Lets mocks whose replies are in a file of that name fail every other request."""
    generate, failing = mock.MockModel.generate, ""

    def generating(
        model: mock.MockModel, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        for batch in generate(model, requests, done):
            ends = [
                Completion(key=made.key, finish="error", error="busy") if n % 2 else made
                for n, made in enumerate(batch)
            ]
            yield ends if failing and failing in str(model.settings.replies) else batch

    monkeypatch.setattr(mock.MockModel, "generate", generating)

    def these(name: str) -> None:
        nonlocal failing
        failing = name

    return these


@pytest.mark.parametrize(
    ("failing", "stage"),
    [("respondents.smollm2", "infer"), ("annotators.smollm2", "annotate")],
)
def test_failed_requests_are_told_and_a_set_frozen_without_them_does_not_outlive_their_answers(
    door: Door, built: Ran, fail: Callable[[str], None], tmp_path: Path, failing: str, stage: str
) -> None:
    words, out = [*BUILD, *mocks(tmp_path / "replies")], tmp_path / "failed"
    fail(failing)
    before = door(*words, output_dir=out)
    assert before.status == 0, before.err
    assert "requests to models failed (busy)" in before.out
    frozen = contents(before.folder)
    fail("")
    for earlier in ("curate", stage):  # the one changes nothing
        assert set(frozen) == set(contents(before.folder))
        ran = door(*words, f"stage={earlier}", output_dir=out)
        assert ran.status == 0, ran.err
        assert "requests to models failed" not in ran.out
    assert set(contents(ran.folder)) == FILES[stage]
    assert not (ran.folder / "manifest.json").exists()
    assert contents(door(*words, output_dir=out).folder) == contents(built.folder)


@pytest.mark.parametrize("name", ["prompts.jsonl", "queue.jsonl", "dataset.jsonl", "card.md"])
def test_killed_while_it_writes_it_leaves_whole_files_and_ends_the_same(
    door: Door, built: Ran, tmp_path: Path, name: str
) -> None:
    words = [*BUILD, *mocks(tmp_path / "replies")]
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
    (folder,) = (out / "runs/evidence/build").glob("*") if name != "prompts.jsonl" else (None,)
    if folder is not None:
        assert contents(folder) == {k: whole[k] for k in contents(folder)}
        assert name not in contents(folder)
    assert contents(door(*words, output_dir=out).folder) == whole


def test_a_set_without_a_triple_is_refused_and_says_what_became_of_the_answers(
    door: Door, tmp_path: Path
) -> None:
    ran = door(*BUILD, *mocks(tmp_path / "r", respondents__smollm2=["<think>hm", ANSWERS[1]],
                              annotators__smollm2=["?"], annotators__gemma3_270m=["?"]),
               "benchmark.builder.min_valid=2")  # fmt: skip
    assert ran.status == 2
    assert "no triple can be frozen" in ran.err
    assert "trace not closed" in ran.err
    assert "too few valid votes" in ran.err
    assert "unparsable by gemma3_270m" in ran.err
    (folder,) = (tmp_path / "outputs/runs/evidence/build").iterdir()
    assert set(contents(folder)) == FILES["annotate"]  # what waits for a human is there


def test_half_a_character_in_a_reply_keeps_no_set_from_being_read(
    door: Door, tmp_path: Path
) -> None:
    broken = json.dumps(CALM).replace("So it reads.", "So it reads\\ud83d.")
    ran = door(*BUILD, *mocks(tmp_path / "r",
                              respondents__smollm2=[ANSWERS[1], ANSWERS[1] + "\ud83d"],
                              annotators__smollm2=[CALM], annotators__gemma3_270m=[broken]),
               "~benchmark.builder.annotators.marked_words")  # fmt: skip
    assert ran.status == 0, ran.err
    manifest = json.loads((ran.folder / "manifest.json").read_text("utf-8"))
    assert manifest["invalid"] == {"smollm2": {"half a character": 10}}
    assert manifest["failures"]["gemma3_270m"] == {"malformed": 30}
    settings = config.Evidence(path=str(ran.folder))
    read = samples.load(settings, part="response", limit=None, seed=0)
    assert len(read.samples) == manifest["triples"] > 0


def test_a_model_without_reasoning_is_asked_for_its_thoughts_first(
    door: Door, tmp_path: Path
) -> None:
    plain = ["I see.", "Perhaps a river.", "Here you are."]
    ran = door(*BUILD, *mocks(tmp_path / "r", respondents__smollm2=plain,
                              annotators__smollm2=[DOUBTFUL], annotators__gemma3_270m=[DOUBTFUL]),
               "benchmark.builder.respondents.smollm2.reasoning=none")  # fmt: skip
    assert ran.status == 0, ran.err
    frozen = lines(ran.folder, "dataset.jsonl")
    assert {line["provenance"]["reasoning"] for line in frozen} == {"elicited"}
    assert all(len(line["provenance"]["completions"]) == 2 for line in frozen)
    assert "without reasoning of their own" in (ran.folder / "card.md").read_text("utf-8")


def test_how_a_respondent_marks_its_reasoning_makes_another_set(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begin = mock.MockModel.__init__

    def like_local_models(model: mock.MockModel, settings: config.MockModel) -> None:
        begin(model, settings)
        model.identity = {k: v for k, v in model.identity.items() if k != "reasoning"}

    monkeypatch.setattr(mock.MockModel, "__init__", like_local_models)
    words = [*BUILD, *mocks(tmp_path / "r"), "stage=infer"]
    own, elicited = (
        door(*words, f"benchmark.builder.respondents.smollm2.reasoning={style}").folder
        for style in ("think", "none")
    )
    assert own != elicited


@pytest.mark.parametrize(
    ("extra", "message"),
    [
        ("stage=half", "no stage of the build"),
        ("benchmark.path=README.md", "is a set already"),
        ("benchmark.builder.min_valid=4", "cannot come from 3 annotators"),
        ("benchmark.builder.annotators.marked_words.rule=guess", "Choose from marked_words"),
        ("benchmark.builder.share=0", "is not a share"),
        ("benchmark.builder.quotes=loose", "benchmark.builder.quotes"),
    ],
)
def test_what_cannot_be_built_is_refused(
    door: Door, tmp_path: Path, extra: str, message: str
) -> None:
    ran = door(*BUILD, *mocks(tmp_path / "replies"), extra)
    assert ran.status == 2
    assert message in ran.err
    assert "Traceback" not in ran.err
    assert not (tmp_path / "outputs/runs").exists()


def test_a_hosted_respondent_needs_its_terms_confirmed_and_an_annotator_does_not(
    door: Door, tmp_path: Path
) -> None:
    def hosted(role: str) -> list[str]:
        at = f"benchmark.builder.{role}.served"
        return [f"+model@{at}=openai_compatible", f"{at}.id=some", f"{at}.name=served",
                f"{at}.base_url=http://127.0.0.1:9/v1"]  # fmt: skip

    words = [*BUILD, *mocks(tmp_path / "replies"), "dry_run=true"]
    ran = door(*words, *hosted("respondents"))
    assert ran.status == 2
    assert "benchmark.builder.respondents.served.terms_confirmed=true" in ran.err
    confirmed = "benchmark.builder.respondents.served.terms_confirmed=true"
    assert door(*words, *hosted("respondents"), confirmed).status == 0
    assert door(*words, *hosted("annotators")).status == 0


def test_a_dry_run_opens_no_model_and_says_what_is_asked(door: Door, tmp_path: Path) -> None:
    ran = door(*BUILD, "dry_run=true")
    assert ran.status == 0, ran.err
    assert "smollm2 (respondents.smollm2)" in ran.out
    assert "gemma3_270m (annotators.gemma3_270m)" in ran.out
    curating = door(*BUILD, "stage=curate", "dry_run=true").out
    assert "requests" not in curating
    assert not (tmp_path / "outputs").exists()


def test_a_dry_run_counts_what_every_respondent_makes_for_the_annotators(door: Door) -> None:
    second = ["+model@benchmark.builder.respondents.second=smollm2"]

    def asked(*words: str) -> tuple[int, int]:
        out = door(*BUILD, "dry_run=true", *words).out
        (line,) = re.findall(r"annotators\.gemma3_270m\): ([\d,]+) req.*?([\d,]+) to write", out)
        return int(line[0].replace(",", "")), int(line[1].replace(",", ""))

    one, two = asked(), asked(*second)
    assert two == (2 * one[0], 2 * one[1])


def test_other_marked_words_make_another_set(
    door: Door, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    words = [*BUILD, *mocks(tmp_path / "r"), "stage=infer"]
    before = door(*words).folder
    assert door(*words).folder == before
    monkeypatch.setitem(evidence_stages.RULE_HASHES, "marked_words", "other")
    assert door(*words).folder != before


def test_an_abliterated_respondent_takes_part_without_a_word(door: Door, tmp_path: Path) -> None:
    ran = door(*BUILD, *mocks(tmp_path / "replies"),
               "benchmark.builder.respondents.smollm2.abliterated=true")  # fmt: skip
    assert ran.status == 0, ran.err
    assert all(line["respondent"]["abliterated"] for line in lines(ran.folder, "dataset.jsonl"))


@pytest.mark.slow
def test_the_local_builder_builds_a_set_with_real_models(door: Door, tmp_path: Path) -> None:
    words = [*BUILD[:2], "limit=1", "sampling.max_new_tokens=64"]
    ran = door(*words)
    assert ran.status == 0, ran.err
    frozen = lines(ran.folder, "dataset.jsonl")
    triples = [Triple.from_json(line, f"line {n}") for n, line in enumerate(frozen)]
    assert triples
    assert {triple.respondent.name for triple in triples} == {"smollm2"}
    assert all(triple.reasoning.strip() and triple.response.strip() for triple in triples)
    before = contents(ran.folder)
    assert contents(door(*words).folder) == before  # from the log, with no model loaded
