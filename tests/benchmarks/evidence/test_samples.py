"""Components of triples as samples, from small made-up files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.evidence.made_triples import triple, write
from trace import config
from trace.benchmarks.answerable import answerable
from trace.benchmarks.base import Dataset
from trace.benchmarks.evidence.measure import EvidenceStudy
from trace.benchmarks.evidence.samples import BUNDLED
from trace.benchmarks.evidence.taxonomy import TAXONOMY
from trace.benchmarks.load import load
from trace.errors import DataError
from trace.judging.labels import gold_label, label_set
from trace.judging.targets import conversation
from trace.records import digest

ALL = ("prompt", "reasoning", "response")


def read(path: Path, part: str = "prompt", limit: int | None = None) -> Dataset:
    settings = config.Evidence(path=str(path))
    condition = config.Condition(name=part, part=part)
    return load(settings, condition=condition, limit=limit, seed=0)


@pytest.mark.parametrize("part", ALL)
def test_a_component_stands_after_its_prompt(tmp_path: Path, part: str) -> None:
    made = triple(3, [part], attack="GoalHijacking", family="Gemma", abliterated=True,
                  respondent="gemma_x", source="made up", licence="CC0")  # fmt: skip
    (sample,) = (dataset := read(write(tmp_path / "dataset.jsonl", [made]), part)).samples
    texts = {"prompt": made.prompt, part: made.text(part)}  # type: ignore[arg-type]
    assert dict(sample.view) == texts
    assert list(sample.view) == list(dict.fromkeys(("prompt", part)))
    target, judged = conversation(sample)
    assert target == part
    assert judged.user == made.prompt
    assert judged.assistant == (None if part == "prompt" else texts[part])
    assert (sample.gold.label, sample.gold.class_) == ("unsafe", "Cybersecurity")
    assert sample.gold.domain == "Unlawful"
    assert (sample.id, sample.cluster) == (made.id, made.prompt_id)
    assert dict(sample.meta) == {
        "prompt_id": made.prompt_id,
        "language": "en",
        "category": "Cybersecurity",
        "attack": "GoalHijacking",
        "respondent": "gemma_x",
        "family": "Gemma",
        "abliterated": True,
        "source": "made up",
        "chars": len(texts[part]),
        "evidence": [span.text for span in made.labels[part].evidence],  # type: ignore[index]
    }
    assert dataset.study == EvidenceStudy(part)  # type: ignore[arg-type]
    assert dataset.licence.startswith("CC BY-NC-SA 4.0")
    assert dataset.licence.endswith("sources: CC0")


def test_no_label_of_the_gold_is_shown(tmp_path: Path) -> None:
    (sample,) = read(write(tmp_path / "d.jsonl", [triple(0, ALL)]), "response").samples
    shown = json.dumps(dict(sample.view))
    assert not any(word in shown for word in ("safe", "Cybersecurity", "evidence", "qwen"))


def test_triples_of_one_prompt_are_a_cluster(tmp_path: Path) -> None:
    made = [triple(i, prompt=i // 2) for i in range(6)]
    path = write(tmp_path / "dataset.jsonl", made)
    for part in ALL:
        samples = read(path, part).samples
        assert [s.id for s in samples] == [t.id for t in made]
        assert len({s.cluster for s in samples}) == 3
    assert read(path).notes == ("evidence, prompt: 6 triples of 3 prompts, 0 unsafe and 6 safe.",)


def test_the_fingerprint_is_that_of_the_file(tmp_path: Path) -> None:
    first = write(tmp_path / "dataset.jsonl", [triple(0)])
    found = read(first)
    assert dict(read(tmp_path).fingerprint) == dict(found.fingerprint)  # the folder
    write(first, [triple(1)])
    assert list(read(first).fingerprint) == ["dataset.jsonl"]
    assert dict(read(first).fingerprint) != dict(found.fingerprint)


def test_a_limit_is_for_each_gold_label_and_language(tmp_path: Path) -> None:
    made = [
        triple(10 * i + j, ["reasoning"] * unsafe, language=language)
        for i, (unsafe, language) in enumerate([(0, "en"), (1, "en"), (0, "zh"), (1, "zh")])
        for j in range(2 + i)
    ]
    path = write(tmp_path / "dataset.jsonl", made)
    few, more = (read(path, "reasoning", limit=n).samples for n in (2, 4))
    assert len(few) == 8
    assert len(more) == 2 + 3 + 4 + 4
    assert {s.id for s in few} <= {s.id for s in more}
    assert len(read(path, "prompt", limit=1).samples) == 2  # the prompts are all safe


def test_other_spellings_of_a_category_are_the_taxonomys(tmp_path: Path) -> None:
    names = ["Hate_Speech", "hate speech", "仇恨言论"]
    made = [triple(i, ["prompt"], category=name) for i, name in enumerate(names)]
    samples = read(write(tmp_path / "d.jsonl", made)).samples
    assert {s.gold.class_ for s in samples} == {"HateSpeech"}


def test_breakdowns_go_by_the_taxonomys_spelling(tmp_path: Path) -> None:
    given = [("Hate_Speech", "instruction_encryption"), ("仇恨言论", "deep inception"),
             ("None", "None"), ("GateForgery", "GateTrick"), (None, None)]  # fmt: skip
    made = [triple(i, ALL, category=c, attack=a) for i, (c, a) in enumerate(given)]
    for part in ALL:
        samples = read(write(tmp_path / "d.jsonl", made), part).samples
        assert [(s.meta["category"], s.meta["attack"]) for s in samples] == [
            ("HateSpeech", "InstructionEncryption"),
            ("HateSpeech", "DeepInception"),
            (None, None),
            ("GateForgery", "GateTrick"),
            (None, None),
        ]


def test_evidence_that_overlaps_is_one_piece(tmp_path: Path) -> None:
    text = triple(0).prompt
    spans = [{"start": a, "end": b, "text": text[a:b]} for a, b in [(14, 22), (9, 18), (9, 18)]]
    label = {"prompt": {"safety": "unsafe", "evidence": spans}}
    labels = triple(0).to_json()["labels"] | label
    (sample,) = read(write(tmp_path / "d.jsonl", [changed(labels=labels, prompt=text)])).samples
    assert sample.meta["evidence"] == ["pass the gate"]


@pytest.mark.parametrize("quoted", ["", "?"])
def test_unsafe_components_without_evidence_are_counted(tmp_path: Path, quoted: str) -> None:
    text = triple(0).prompt
    at = text.index("?")
    spans = [{"start": at, "end": at + 1, "text": quoted}] if quoted else []
    label = {"prompt": {"safety": "unsafe", "evidence": spans}}
    labels = triple(0).to_json()["labels"] | label
    bare = changed(labels=labels, prompt=text)
    path = write(tmp_path / "d.jsonl", [bare, triple(2, ["prompt"])])
    assert "1 unsafe without evidence, which TokenF1 leaves out." in read(path).notes
    assert len(read(path, "response").notes) == 1


def test_a_category_that_the_taxonomy_lacks_is_safe_or_unsafe_and_no_class(tmp_path: Path) -> None:
    made = [
        triple(0, ["prompt"], category="GateForgery"),
        triple(1, ["prompt"], category=None),
        triple(2, ["prompt"], category="None"),
        triple(3, ["prompt"]),
        triple(4, category="GateForgery"),
    ]
    dataset = read(write(tmp_path / "d.jsonl", made))
    classes = [s.gold.class_ for s in dataset.samples]
    assert classes == ["GateForgery", "Unlisted", "Unlisted", "Cybersecurity", "Benign"]
    assert dataset.samples[0].meta["category"] == "GateForgery"
    assert "1 GateForgery, 2 Unlisted" in dataset.notes[1]
    assert answerable(dataset, "binary") is dataset
    labels = [gold_label("binary", TAXONOMY, str(c)) for c in classes]
    assert labels == ["Unsafe"] * 4 + ["Safe"]
    for answers in ("class", "domain"):
        left = answerable(dataset, answers)
        assert [s.id for s in left.samples] == [made[3].id, made[4].id]
        assert left.notes[-1].startswith("3 of 5 samples have a class that is no answer")
        known = label_set(answers, TAXONOMY).labels
        assert all(gold_label(answers, TAXONOMY, str(s.gold.class_)) in known for s in left.samples)


def test_a_line_break_in_a_category_breaks_no_note(tmp_path: Path) -> None:
    notes = read(
        write(tmp_path / "d.jsonl", [triple(0, ["prompt"], category="Gate\nForgery")])
    ).notes
    assert "Unsafe, and in no category of the taxonomy: 1 Gate Forgery." in notes


@pytest.mark.parametrize(
    ("part", "word"), [("prompt", "prompt"), ("reasoning", "trace"), ("response", "response")]
)
def test_a_note_calls_a_component_by_its_condition(tmp_path: Path, part: str, word: str) -> None:
    made = read(write(tmp_path / "d.jsonl", [triple(0), triple(1, [part])]), part)
    assert made.notes[0].startswith(f"evidence, {word}: 2 triples")


def test_where_no_class_can_be_answered(tmp_path: Path) -> None:
    dataset = read(write(tmp_path / "d.jsonl", [triple(0, ["prompt"], category="GateForgery")]))
    with pytest.raises(DataError, match="protocol=binary"):
        answerable(dataset, "class")


def test_prompts_labelled_both_ways_are_counted(tmp_path: Path) -> None:
    made = [triple(i, ["prompt"] * (i < 1), prompt=0) for i in range(3)]
    path = write(tmp_path / "d.jsonl", made)
    assert "1 prompt with safe and unsafe gold labels" in read(path).notes[1]
    assert len(read(path, "reasoning").notes) == 1


def changed(**fields: Any) -> str:
    line = {k: v for k, v in triple(1, ["prompt"]).to_json().items() if k != "id"}
    return json.dumps({k: v for k, v in (line | fields).items() if v != ...})


SHIFTED = {"safety": "unsafe", "evidence": [{"start": 10, "end": 23, "text": "pass the gate"}]}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (triple(0), "dataset.jsonl:2: the same texts of the same respondent again"),
        (changed(response=...), "dataset.jsonl:2: has no response"),
        (changed(labels={"prompt": SHIFTED}), "is not what stands at 10 to 23. It stands at 9"),
        (changed(labels={"prompt": {"safety": "harmful", "evidence": []}}), "safe or unsafe"),
        (changed(language="fr"), "language: 'fr' should be en or zh"),
        ('{"prompt": "\\ud83d"}', "dataset.jsonl:2: broken line"),
        ("{", "dataset.jsonl:2: broken line"),
        (changed(provenance="web"), "dataset.jsonl:2: provenance: 'web' should be an object"),
        (changed(votes=["a"]), "dataset.jsonl:2: votes: ['a'] should be an object"),
    ],
)
def test_what_is_refused(tmp_path: Path, line: Any, message: str) -> None:
    path = write(tmp_path / "dataset.jsonl", [triple(0), line])
    with pytest.raises(DataError) as error:
        read(path)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("", "the file is empty"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\n", "git lfs pull"),
    ],
)
def test_files_that_hold_nothing(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "dataset.jsonl"
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        read(path)


def test_the_bundled_triples_can_be_asked_about_under_every_protocol() -> None:
    for part in ALL:
        condition = config.Condition(name=part, part=part)
        dataset = load(config.Evidence(), condition=condition, limit=None, seed=0)
        assert list(dataset.fingerprint) == [BUNDLED.name]
        assert len(dataset.samples) >= 60
        assert {s.gold.label for s in dataset.samples} == {"safe", "unsafe"}
        for sample in dataset.samples:
            source, evidence = sample.view[part], sample.meta["evidence"]
            assert all(text in source for text in evidence)
            assert bool(evidence) == (sample.gold.label == "unsafe")
        assert answerable(dataset, "class").samples


def test_ids_do_not_depend_on_the_component(tmp_path: Path) -> None:
    made = triple(5)
    path = write(tmp_path / "d.jsonl", [made])
    expected = digest([made.prompt, made.reasoning, made.response, "qwen"])[:16]
    assert {read(path, part).samples[0].id for part in ALL} == {expected}


def test_a_build_that_is_not_frozen_is_named(tmp_path: Path) -> None:
    for name in ("prompts.jsonl", "inferred.jsonl"):
        (tmp_path / name).write_text("{}\n")
    with pytest.raises(DataError, match=r"a build that is not frozen.*stage=freeze"):
        load(
            config.Evidence(path=str(tmp_path)),
            condition=config.Condition(name="prompt", part="prompt"),
            limit=None,
            seed=0,
        )
