from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from trace.benchmarks import lines
from trace.benchmarks.evidence import wildchat
from trace.benchmarks.evidence.prompts import Prompt
from trace.errors import DataError


def turn(text: str, *, role: str = "user", language: str = "English", toxic: bool = False) -> Any:
    return {
        "content": text,
        "country": "Ostravel",
        "language": language,
        "redacted": False,
        "role": role,
        "toxic": toxic,
        "turn_identifier": 1,
    }


def flagged(*turns: bool) -> Any:
    return [
        {"categories": {"violence": f}, "category_scores": {"violence": 0.5}, "flagged": f}
        for f in turns
    ]


def row(name: str, text: str, **changes: Any) -> dict[str, Any]:
    """A conversation with the columns of the published files that matter, and some others."""
    language = changes.get("language", "English")
    return {
        "conversation_hash": name,
        "model": "gpt-4-0314",
        "conversation": [
            turn(text, language=language),
            turn("An answer.", role="assistant", language=language),
        ],
        "turn": 1,
        "language": language,
        "openai_moderation": flagged(False, False),
        "detoxify_moderation": [{"toxicity": 0.01}],
        "toxic": False,
        "redacted": False,
    } | changes


SAFE_ROWS = [
    row("h1", "How long does plum jam keep?"),
    row("h2", "梅子酱能放多久？", language="Chinese"),
]
OTHER_ROWS = [
    (row("h3", "Combien de temps se garde la confiture ?", language="French"), "another language"),
    (
        row("h4", "你好", language="English", conversation=[turn("你好", language="Chinese")]),
        "another language",
    ),
    (row("h5", "marked as a whole", toxic=True), "labelled unsafe"),
    (row("h6", "x", conversation=[turn("marked turn", toxic=True)]), "labelled unsafe"),
    (row("h7", "flagged later", openai_moderation=flagged(False, True)), "labelled unsafe"),
    (row("h8", "never moderated", openai_moderation=[]), "not labelled"),
    (row("h9", "no label", toxic=None), "not labelled"),
    (row("h10", "x", conversation=[turn("Hello!", role="assistant")]), "no first user turn"),
    (row("h11", "  \n"), "no first user turn"),
    (row("h12", "x", conversation=[]), "another language"),
    (row("h13", "no language", language=None), "another language"),
    (row("", "no name", conversation_hash=None), "no conversation_hash"),
]


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    if path.suffix == ".parquet":
        parquet.write_table(pa.Table.from_pylist(rows), path, row_group_size=3)
    else:
        path.write_text("".join(json.dumps(r) + "\n" for r in rows), "utf-8")
    return path


def read(path: Path) -> tuple[list[Prompt], Counter[str]]:
    passed_over: Counter[str] = Counter()
    found = [p for file in wildchat.files(path) for p in wildchat.read(file, passed_over)]
    return found, passed_over


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read(path)
    return str(caught.value)


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_only_what_its_labels_call_safe_is_taken(tmp_path: Path, suffix: str) -> None:
    rows = [SAFE_ROWS[0], *(other for other, _ in OTHER_ROWS), SAFE_ROWS[1]]
    prompts, passed_over = read(write(tmp_path / f"train-00000-of-00001{suffix}", rows))
    assert [(p.text, p.language) for p in prompts] == [
        ("How long does plum jam keep?", "en"),
        ("梅子酱能放多久？", "zh"),
    ]
    assert passed_over == Counter(reason for _, reason in OTHER_ROWS)
    assert {p.group for p in prompts} == {("safe", "en"), ("safe", "zh")}
    assert prompts[0].provenance == {"conversation_hash": "h1"}
    assert (prompts[0].source, prompts[0].licence) == ("WildChat", "ODC-BY")


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_each_reason_alone(tmp_path: Path, suffix: str) -> None:
    for number, (other, reason) in enumerate(OTHER_ROWS):
        if suffix == ".parquet" and (not other["conversation"] or not other["openai_moderation"]):
            continue  # alone an empty list has no type to be written with
        path = write(tmp_path / f"{number}{suffix}", [other])
        assert read(path) == ([], Counter([reason]))


def test_a_folder_of_both_kinds_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write(tmp_path / "b.parquet", [SAFE_ROWS[0]])
    write(tmp_path / "a.jsonl", [SAFE_ROWS[1]])
    (tmp_path / "README.md").write_text("not data")
    assert [p.language for p in read(tmp_path)[0]] == ["zh", "en"]


def test_the_earlier_name_of_the_id_is_known(tmp_path: Path) -> None:
    old = {
        ("conversation_id" if k == "conversation_hash" else k): v for k, v in SAFE_ROWS[0].items()
    }
    for suffix in (".parquet", ".jsonl"):
        prompts, _ = read(write(tmp_path / f"old{suffix}", [old]))
        assert prompts[0].provenance == {"conversation_id": "h1"}


@pytest.mark.parametrize("suffix", [".parquet", ".jsonl"])
def test_other_columns_are_listed_beside_those_wanted(tmp_path: Path, suffix: str) -> None:
    path = write(tmp_path / f"x{suffix}", [{"prompt": "Hello", "lang": "en", "toxic": False}])
    said = refusal(path)
    assert "has no conversation_hash or conversation_id" in said
    assert "WildChat's columns are conversation_hash, conversation, language, toxic" in said
    assert "this file has prompt, lang, toxic" in said


def test_turns_of_another_form_are_refused(tmp_path: Path) -> None:
    flat = write(tmp_path / "flat.parquet", [SAFE_ROWS[0] | {"conversation": "user: hello"}])
    assert "has no conversation[].content, conversation[].role" in refusal(flat)
    flat = write(tmp_path / "flat.jsonl", [SAFE_ROWS[0] | {"conversation": "user: hello"}])
    assert "flat.jsonl:1: conversation: should be a list of turns" in refusal(flat)
    flat = write(tmp_path / "flags.jsonl", [SAFE_ROWS[0] | {"openai_moderation": [False]}])
    assert "flags.jsonl:1: openai_moderation: should be a list of objects" in refusal(flat)
    words = write(tmp_path / "words.jsonl", [SAFE_ROWS[0] | {"toxic": "false"}])
    assert "words.jsonl:1: toxic and flagged should be true or false" in refusal(words)


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "train.parquet"
    path.write_bytes(b"no parquet")
    assert "cannot be read as parquet" in refusal(path)
    path.write_bytes(lines.LFS + b"/spec/v1\n")
    assert "git lfs pull" in refusal(path)
    write(path, SAFE_ROWS * 50)
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "cannot be read as parquet" in refusal(path)
    path.write_bytes(whole[:4] + bytes(200) + whole[204:])
    assert "train.parquet: cannot be read" in refusal(path)
    parquet.write_table(pa.Table.from_pylist(SAFE_ROWS).slice(0, 0), path)
    assert "has no row" in refusal(path)


def test_a_path_that_holds_nothing_says_what_to_give(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nowhere")
    (tmp_path / "data").mkdir()
    assert "It has the folders data: name one of them." in refusal(tmp_path)
    csv = tmp_path / "chats.csv"
    csv.write_text("a,b\n")
    assert "is not called *.parquet or *.jsonl" in refusal(csv)


@pytest.mark.parametrize("name", [b"\x01\xff", 1.5])
def test_a_conversation_named_by_no_text_is_refused(tmp_path: Path, name: Any) -> None:
    path = write(tmp_path / "a.parquet", [row("", "Why is tea hot?", conversation_hash=name)])
    assert "row 1: conversation_hash" in refusal(path)


def test_a_list_of_languages_is_none_of_ours(tmp_path: Path) -> None:
    several = row("h1", "Why is tea hot?") | {"language": ["English"]}
    assert read(write(tmp_path / "a.jsonl", [several])) == ([], Counter({"another language": 1}))
