"""Expanded files, from small made-up ones in the released schema, and one of the released size."""

from __future__ import annotations

import hashlib
import json
import random
import subprocess
import sys
from pathlib import Path

import pytest

from tests.benchmarks.rag_safety.made_rows import RELEASED, doc, package, row, write
from tests.conftest import ROOT
from trace.benchmarks.rag_safety.names import RETRIEVALS
from trace.benchmarks.rag_safety.released import ALLOWED, EXPANDED, RowSet, documents, read
from trace.errors import DataError

IDS = ["p1", "p2", "p3"]


def ids(found: RowSet) -> list[str]:
    return [r.id for r in found.rows]


def test_rows_of_one_condition_in_the_order_of_the_file(tmp_path: Path) -> None:
    rows = package(IDS)
    random.Random(3).shuffle(rows)
    path = write(tmp_path / "rows.jsonl", rows)
    for ours, released in zip(RETRIEVALS, RELEASED, strict=True):
        found = read(path, ours)
        assert ids(found) == [r["prompt_id"] for r in rows if r["condition"] == released]
        assert {r.condition for r in found.rows} == {ours}
        assert found.fingerprint == {"rows.jsonl": hashlib.sha256(path.read_bytes()).hexdigest()}
        assert found.notes == ()


def test_of_the_released_folder_only_the_expanded_file(tmp_path: Path) -> None:
    write(tmp_path / EXPANDED, package(IDS))
    (tmp_path / "subset_manifest.json").write_text("{}")
    (tmp_path / "examples.jsonl").write_text("no JSON")
    (tmp_path / "category_counts.csv").write_text("a,b\n")
    found = read(tmp_path, "oracle")
    assert ids(found) == IDS
    assert list(found.fingerprint) == [EXPANDED]


def test_a_folder_of_our_own_files(tmp_path: Path) -> None:
    write(tmp_path / "a.jsonl", package(["p1"]))
    write(tmp_path / "b.jsonl", package(["p2"]))
    (tmp_path / "manifest.json").write_text("{}")
    assert ids(read(tmp_path, "random")) == ["p1", "p2"]
    write(tmp_path / "dataset.jsonl", package(["p3"]))
    assert ids(read(tmp_path, "random")) == ["p3"]


@pytest.mark.parametrize(
    "listed",
    ["example_id\np3\np1\n", "x,prompt_id\n,p1\n,p3\n", "p1\np3\n", "\ufeffexample_id\r\np1\r\np3"],
)
def test_a_list_of_ids_narrows(tmp_path: Path, listed: str) -> None:
    path = write(tmp_path / EXPANDED, package(IDS))
    (tmp_path / ALLOWED).write_text(listed, "utf-8")
    for given in (path, tmp_path):
        found = read(given, "on_topic")
        assert ids(found) == ["p1", "p3"]
        assert set(found.fingerprint) == {EXPANDED, ALLOWED}
        assert found.notes == (f"{ALLOWED} narrows 3 questions to 2.",)


def test_listed_ids_that_are_not_there_are_named(tmp_path: Path) -> None:
    write(tmp_path / EXPANDED, package(IDS))
    (tmp_path / ALLOWED).write_text("example_id\np1\np7\np8\n")
    assert read(tmp_path, "oracle").notes == (
        f"{ALLOWED} narrows 3 questions to 1. 2 of its ids are not in the file: p7, p8.",
    )
    (tmp_path / ALLOWED).write_text("example_id\np7\n")
    with pytest.raises(DataError, match="belongs to another set"):
        read(tmp_path, "oracle")


@pytest.mark.parametrize("listed", ["", "a,b\n1,2\n", "x,example_id\n1,p1\n2\n"])
def test_a_list_without_ids(tmp_path: Path, listed: str) -> None:
    write(tmp_path / EXPANDED, package(IDS))
    (tmp_path / ALLOWED).write_text(listed)
    with pytest.raises(DataError, match="should have a column example_id"):
        read(tmp_path, "oracle")


def test_questions_that_lack_a_condition_are_left_out_of_all_and_named(tmp_path: Path) -> None:
    rows = [
        r
        for r in package([*IDS, "p4"])
        if (r["prompt_id"], r["condition"])
        not in {("p1", RELEASED[2]), ("p3", RELEASED[2]), ("p3", RELEASED[3])}
    ]
    path = write(tmp_path / "rows.jsonl", rows)
    for condition in RETRIEVALS:
        found = read(path, condition)
        assert ids(found) == ["p2", "p4"]
        assert found.notes == (
            "2 of 4 questions left out under every condition, because a paired comparison needs a "
            "row under each. Lacking: 2 on_topic (p1, p3); 1 random (p3).",
        )


def test_many_are_named_in_part(tmp_path: Path) -> None:
    names = [f"p{n}" for n in range(9)]
    rows = [r for r in package(names) if r["condition"] != "non_rag" or r["prompt_id"] == "p8"]
    assert (
        "8 non_rag (p0, p1, p2, p3, p4 and 3 more)"
        in read(write(tmp_path / "rows.jsonl", rows), "random").notes[0]
    )


def test_a_file_of_some_conditions(tmp_path: Path) -> None:
    rows = [r for r in package(IDS) if r["condition"] in RELEASED[:2]]
    path = write(tmp_path / "rows.jsonl", rows)
    found = read(path, "oracle")
    assert ids(found) == IDS
    assert found.notes == ("No rows under on_topic, random: no question can be paired with these.",)
    with pytest.raises(DataError, match=r"no row under random. It has non_rag, oracle"):
        read(path, "random")


def test_a_file_in_which_nothing_can_be_paired(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [row(RELEASED[0], "p1"), row(RELEASED[1], "p2")])
    with pytest.raises(DataError, match="no question has a row under each of non_rag, oracle"):
        read(path, "oracle")


def test_what_stands_twice(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", [*package(IDS), row(RELEASED[1], "p2")])
    with pytest.raises(DataError, match=r"jsonl:13: p2 under oracle stands at .*jsonl:6 already"):
        read(path, "random")
    other = row(RELEASED[1], "p1", question="Another?")
    path = write(tmp_path / "rows.jsonl", [row(RELEASED[0], "p1"), other])
    with pytest.raises(DataError, match=r"jsonl:2: question: is another than that of p1 at .*:1"):
        read(path, "oracle")


def test_a_bad_row_of_another_condition_is_refused_too(tmp_path: Path) -> None:
    rows = [*package(IDS), row("rag_topic_safe", "p9", docs=[])]
    with pytest.raises(DataError, match=r"jsonl:13: docs: is empty"):
        read(write(tmp_path / "rows.jsonl", rows), "non_rag")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "does not exist"),
        ("", "is empty"),
        ("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 67000000\n", "git lfs"),
        ('{"a": 1}\n{', r"jsonl:1: has no docs"),
        ("[]", "should be one JSON object"),
    ],
)
def test_files_that_are_none(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / EXPANDED
    if content is not None:
        path.write_text(content, "utf-8")
    with pytest.raises(DataError, match=message):
        read(path, "oracle")


def test_a_list_that_was_not_fetched(tmp_path: Path) -> None:
    write(tmp_path / EXPANDED, package(IDS))
    (tmp_path / ALLOWED).write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\n")
    with pytest.raises(DataError, match="git lfs pull"):
        read(tmp_path, "oracle")


def test_folders_without_rows(tmp_path: Path) -> None:
    (tmp_path / "v14_full_987").mkdir()
    with pytest.raises(DataError, match="folders v14_full_987: name one"):
        read(tmp_path, "oracle")
    (tmp_path / "subset_manifest.json").write_text("{}")
    with pytest.raises(
        DataError, match=rf"holds no \*\.jsonl file. Name the folder with {EXPANDED}"
    ):
        read(tmp_path, "oracle")


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="the peak is read from /proc")
def test_the_released_size_stays_within_300_mb(tmp_path: Path) -> None:
    text = ("it’s a long article of no meaning " * 300)[:9600]
    with (tmp_path / EXPANDED).open("w", encoding="utf-8") as file:
        for number in range(987):
            for line in package([f"p{number}"]):
                line["docs"] = [d | {"text": f"{d['doc_id']} {text}"} for d in line["docs"]]
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    assert (tmp_path / EXPANDED).stat().st_size > 67e6
    code = (
        "import sys; from pathlib import Path; from tests.benchmarks.rag_safety.made_rows import "
        "under; from trace.benchmarks.rag_safety import samples;"
        "found = samples.load(sys.argv[1], condition=under('on_topic'), limit=None, seed=0);"
        "status = Path('/proc/self/status').read_text();"
        "print(len(found.samples), status.split('VmHWM:')[1].split()[0])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    count, kib = map(int, ran.stdout.split())
    assert count == 987
    assert kib / 1024 < 140  # the texts are 65 MB in memory, once: others need the rest of 300


def test_the_order_of_documents_is_kept(tmp_path: Path) -> None:
    docs = [doc("c"), doc("a"), doc("b")]
    rows = [*package(["p2"]), *(r for r in package(["p1"]) if r["condition"] != RELEASED[2])]
    path = write(tmp_path / "rows.jsonl", [*rows, row(RELEASED[2], "p1", docs=docs)])
    (_, last) = read(path, "on_topic").rows
    assert [d.id for d in last.documents] == ["c", "a", "b"]


def test_rows_of_several_conditions_and_all_documents(tmp_path: Path) -> None:
    path = write(tmp_path / "rows.jsonl", package(IDS))
    both = read(path, "oracle", "random")
    assert [(r.id, r.condition) for r in both.rows] == [
        (id_, condition) for id_ in IDS for condition in ("oracle", "random")
    ]
    assert [d.id for d in documents(path)][:8] == [
        "p1-gold", "p1-t1", "p1-t2", "p1-t3", "p1-r1", "p1-r2", "p1-r3", "p2-gold"
    ]  # fmt: skip
