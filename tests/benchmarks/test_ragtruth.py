"""RAGTruth's Data2txt part, from small invented files in the released format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.load import load
from trace.benchmarks.ragtruth.taxonomy import RELEASED, TAXONOMY
from trace.errors import DataError
from trace.judging.labels import label_set
from trace.judging.protocols import judge_protocol

KINDS = list(RELEASED)


def business(id_: str, **changes: Any) -> dict[str, Any]:
    data = {"name": f"Cafe {id_}", "hours": {"Monday": "9:0-17:0"}, "attributes": {"WiFi": None}}
    return {"source_id": id_, "task_type": "Data2txt", "source": "Yelp", "source_info": data,
            "prompt": "Write about it."} | changes  # fmt: skip


def answer(id_: str, source: str, *kinds: str, **changes: Any) -> dict[str, Any]:
    spans = [{"start": 0, "end": 4, "text": "Cafe", "meta": "", "label_type": k} for k in kinds]
    return {"id": id_, "source_id": source, "model": "writer", "temperature": 0.7,
            "labels": spans, "split": "test", "quality": "good",
            "response": f"Cafe {source} opens on Monday ({id_})."} | changes  # fmt: skip


SOURCES = [
    business("a"),
    business("b"),
    business("q", task_type="QA", source_info={"question": "?", "passages": "!"}),
    business("s", task_type="Summary", source_info="A story."),
]


def write(folder: Path, responses: list[Any], sources: list[Any] = SOURCES) -> Path:
    folder.mkdir(exist_ok=True)
    for name, lines in (("source_info.jsonl", sources), ("response.jsonl", responses)):
        text = "".join(line if isinstance(line, str) else json.dumps(line) + "\n" for line in lines)
        (folder / name).write_text(text, "utf-8")
    return folder


def read(folder: Path, *, limit: int | None = None, split: str = "test") -> Dataset:
    settings = config.RagTruth(path=str(folder), split=split)
    return load(settings, condition=config.Condition(), limit=limit, seed=0)


def test_what_is_read(tmp_path: Path) -> None:
    responses = [
        answer("1", "a"),
        answer("2", "b", "Subtle Baseless Info", "Evident Conflict"),
        answer("3", "a", "Subtle Baseless Info"),
        answer("4", "a", split="train"),
        answer("5", "a", quality="truncated"),
        answer("6", "b", quality="incorrect_refusal"),
        answer("7", "q", "Evident Conflict"),
        answer("8", "s"),
    ]
    dataset = read(write(tmp_path, responses))
    found = {s.meta["response"]: s for s in dataset.samples}
    assert [s.meta["response"] for s in dataset.samples] == ["1", "2", "3"]
    golds = {id_: (s.gold.label, s.gold.domain, s.gold.class_) for id_, s in found.items()}
    assert golds == {
        "1": ("safe", "Faithful", "Faithful"),
        "2": ("unsafe", "Conflict", "EvidentConflict"),
        "3": ("unsafe", "Baseless", "SubtleBaseless"),
    }
    assert [found[i].cluster for i in "123"] == ["a", "b", "a"]
    assert dict(found["1"].view) == {
        "data": SOURCES[0]["source_info"],
        "text": "Cafe a opens on Monday (1).",
    }
    assert found["2"].meta["spans"] == 2
    assert found["1"].meta["model"] == "writer"
    assert found["1"].meta["temperature"] == 0.7
    assert set(dataset.fingerprint) == {"source_info.jsonl", "response.jsonl"}
    (note,) = dataset.notes
    assert "3 answers about 2 businesses" in note
    assert "1 incorrect_refusal, 1 truncated" in note
    assert [s.meta["response"] for s in read(tmp_path, split="train").samples] == ["4"]


def test_the_case_of_a_task_type_loses_nothing(tmp_path: Path) -> None:
    sources = [business("a", task_type="DATA2TXT"), business("b"), business("q", task_type="qa")]
    dataset = read(write(tmp_path, [answer("1", "a"), answer("2", "b"), answer("3", "q")], sources))
    assert {s.meta["response"] for s in dataset.samples} == {"1", "2"}


def test_an_answer_without_a_text_is_left_out_and_counted(tmp_path: Path) -> None:
    responses = [
        answer("1", "a"),
        answer("2", "a", response=""),
        answer("3", "b", response=" \n", labels=[]),
        answer("4", "b", response="", quality="truncated"),
    ]
    dataset = read(write(tmp_path, responses))
    assert [s.meta["response"] for s in dataset.samples] == ["1"]
    (note,) = dataset.notes
    assert "1 answer about 1 business (1 Faithful); left out: 2 empty, 1 truncated." in note


@pytest.mark.parametrize("graver", range(3))
def test_the_gravest_span_names_the_class(tmp_path: Path, graver: int) -> None:
    for milder in range(graver + 1, 4):
        folder = write(tmp_path, [answer("1", "a", KINDS[milder], KINDS[graver], KINDS[milder])])
        (sample,) = read(folder).samples
        assert sample.gold.class_ == RELEASED[KINDS[graver]]


def test_the_notes_on_spans_are_kept_and_change_no_label(tmp_path: Path) -> None:
    made = answer("1", "a", KINDS[2], KINDS[2])
    made["labels"][0]["due_to_null"] = made["labels"][1]["implicit_true"] = True
    (sample,) = read(write(tmp_path, [made])).samples
    assert sample.gold.label == "unsafe"
    assert (sample.meta["due_to_null"], sample.meta["implicit_true"]) == (1, 1)


def test_a_limit_counts_a_class_and_a_larger_one_only_adds(tmp_path: Path) -> None:
    kinds = [(), *((k,) for k in KINDS)]
    folder = write(tmp_path, [answer(f"{i}-{n}", "a", *k) for i, k in enumerate(kinds)
                              for n in range(6)])  # fmt: skip
    whole = [s.id for s in read(folder).samples]
    before: set[str] = set()
    for limit in range(1, 7):
        ids = [s.id for s in read(folder, limit=limit).samples]
        assert len(ids) == 5 * limit
        assert before < set(ids)
        assert ids == [i for i in whole if i in set(ids)]
        before = set(ids)


def test_order_and_ids_do_not_depend_on_the_order_of_the_lines(tmp_path: Path) -> None:
    responses = [answer(str(n), "ab"[n % 2], *KINDS[: n % 3]) for n in range(9)]
    one = read(write(tmp_path / "one", responses)).samples
    two = read(write(tmp_path / "two", responses[::-1], SOURCES[::-1])).samples
    assert one == two


GOOD = answer("1", "a")


@pytest.mark.parametrize(
    ("responses", "sources", "says"),
    [
        ([GOOD, "{broken\n"], SOURCES, "response.jsonl:2"),
        ([GOOD | {"source_id": "z"}], SOURCES, "response.jsonl:1: source_id: z is not in"),
        ([{k: v for k, v in GOOD.items() if k != "labels"}], SOURCES, ":1: has no labels"),
        ([GOOD | {"labels": "none"}], SOURCES, "labels: 'none' should be a list"),
        ([GOOD | {"labels": ["x"]}], SOURCES, "labels: each should be an object"),
        ([answer("1", "a", "Evident Lie")], SOURCES, "label_type: 'Evident Lie' should be one of"),
        ([GOOD | {"split": "dev"}], SOURCES, "split: 'dev' should be one of train, test"),
        ([GOOD | {"response": None}], SOURCES, "response: None should be a text"),
        ([GOOD, GOOD], SOURCES, "response.jsonl:2: the same text"),
        ([GOOD], [*SOURCES, business("a")], "source_info.jsonl:5: source_id: a stands twice"),
        ([GOOD], [business("a", source_info="text")], "source_info: 'text' should be an object"),
        ([GOOD], [*SOURCES, business("c", task_type="Data2text")], ":5: task_type: 'Data2text'"),
        ([GOOD], SOURCES[2:], "neither this nor any other line has the task_type Data2txt"),
        ([GOOD | {"split": "train"}], SOURCES, "Try benchmark.split=train"),
        ([], SOURCES, "empty"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(
    tmp_path: Path, responses: list[Any], sources: list[Any], says: str
) -> None:
    with pytest.raises(DataError) as error:
        read(write(tmp_path, responses, sources))
    assert says in str(error.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    write(tmp_path, [GOOD])
    (tmp_path / "source_info.jsonl").unlink()
    with pytest.raises(DataError, match=r"has no source_info\.jsonl\. Give the folder"):
        read(tmp_path)


@pytest.mark.parametrize("answers", ["binary", "domain", "class"])
@pytest.mark.parametrize("definitions", [False, True])
def test_judges_are_asked_about_texts_and_data(answers: str, definitions: bool) -> None:
    settings = config.Protocol(name="p", answers=answers, definitions=definitions)
    rubric = judge_protocol(settings, TAXONOMY).rubric
    assert "faithful to the data" in rubric
    assert "agent" not in rubric
    assert "trajectory" not in rubric
    assert "tool" not in rubric


def test_the_released_names_are_read_as_labels() -> None:
    labels = label_set("class", TAXONOMY)
    assert {name: labels.read(name) for name in RELEASED} == RELEASED
    assert label_set("domain", TAXONOMY).read("baseless info") == "Baseless"
