from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.models.log_help import AWKWARD, completion, logged, segments
from trace.errors import DataError
from trace.models.log import CompletionLog, log_folder
from trace.records import Completion, LabelScore, digest

texts = st.text(st.characters(), max_size=20)
completions = st.builds(
    Completion,
    key=st.integers().map(digest),
    text=texts,
    reasoning=st.none() | texts,
    reasoning_closed=st.booleans(),
    finish=st.sampled_from(["stop", "length", "too_long", "content_filter"]),
    prompt_tokens=st.integers(0, 10**9),
    completion_tokens=st.integers(0, 10**9),
    scores=st.none()
    | st.dictionaries(
        texts,
        st.builds(
            LabelScore,
            logprob=st.floats(allow_nan=False, allow_infinity=False),
            tokens=st.integers(0, 99),
        ),
    ),
    engine=texts,
    seconds=st.floats(0, 1e6),
)


@given(st.lists(completions, max_size=5, unique_by=lambda c: c.key))
@settings(max_examples=100)
def test_what_is_appended_is_read(tmp_path_factory: Any, batch: list[Completion]) -> None:
    folder = tmp_path_factory.mktemp("log")
    with CompletionLog(folder) as log:
        log.append(batch)
        log.append(batch)
        assert log.read([c.key for c in batch]) == {c.key: c for c in batch}
    assert CompletionLog(folder).read([c.key for c in batch]) == {c.key: c for c in batch}


def test_lines_are_json_with_a_schema(tmp_path: Path) -> None:
    one, two = completion(1, AWKWARD), completion(2)
    segment = logged(tmp_path, one, two)
    lines = segment.read_bytes().split(b"\n")
    assert lines.pop() == b""
    values = [json.loads(line.decode()) for line in lines]
    assert [value["schema"] for value in values] == [1, 1]
    assert [value["key"] for value in values] == [one.key, two.key]
    assert [value["text"] for value in values] == [one.text, two.text]


def test_only_the_wanted_are_returned(tmp_path: Path) -> None:
    logged(tmp_path, *(completion(n) for n in range(10)))
    assert set(CompletionLog(tmp_path).read([digest(3), digest(99)])) == {digest(3)}
    assert CompletionLog(tmp_path).read([]) == {}
    assert CompletionLog(tmp_path / "none").read([digest(3)]) == {}


def test_first_occurrence_wins(tmp_path: Path) -> None:
    log = CompletionLog(tmp_path)
    log.append([completion(1, "first"), completion(1, "second")])
    log.close()
    log.append([completion(1, "third")])
    log.close()
    assert len(segments(tmp_path)) == 2
    assert CompletionLog(tmp_path).read([digest(1)])[digest(1)].text == "first"


def test_reading_or_appending_nothing_makes_no_file(tmp_path: Path) -> None:
    with CompletionLog(tmp_path / "log") as log:
        log.read([digest(1)])
        log.append([])
    assert not (tmp_path / "log").exists()


def test_two_logs_of_one_process_have_their_own_segments(tmp_path: Path) -> None:
    with CompletionLog(tmp_path) as one, CompletionLog(tmp_path) as two:
        one.append([completion(1)])
        two.append([completion(2)])
        one.append([completion(3)])
    assert [len(path.read_bytes().splitlines()) for path in segments(tmp_path)] == [2, 1]


def test_torn_at_every_byte_of_the_last_line(tmp_path: Path, caplog: Any) -> None:
    kept, torn, later = completion(1), completion(2, "你好 🙂 é\u2028"), completion(3)
    segment = logged(tmp_path, kept, torn)
    whole = segment.read_bytes()
    start = whole.index(b"\n") + 1
    keys = [kept.key, torn.key, later.key]
    for end in range(start, len(whole)):
        caplog.clear()
        segment.write_bytes(whole[:end])
        assert CompletionLog(tmp_path).read(keys) == {kept.key: kept}
        warned = [record.getMessage() for record in caplog.records]
        assert len(warned) == (end > start)
        assert all(f"{segment}, line 2" in message for message in warned)
    # The next process writes to a segment of its own: nothing is glued to the torn line.
    logged(tmp_path, torn, later)
    assert CompletionLog(tmp_path).read(keys) == {c.key: c for c in (kept, torn, later)}


@pytest.mark.parametrize("wanted", [[digest(1)], [digest(2)], [digest(3)], []])
def test_glued_line_is_an_error_whichever_is_wanted(tmp_path: Path, wanted: list[str]) -> None:
    segment = logged(tmp_path, completion(1), completion(2), completion(3))
    lines = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(lines[0] + lines[1][:90] + lines[2] + lines[0])
    with pytest.raises(DataError, match=rf"{segment.name}, line 2:"):
        CompletionLog(tmp_path).read(wanted)


@pytest.mark.parametrize(
    "line",
    [b"", b"{", b"null", b"[]", b"3", b'"key"', b"\0" * 90, b"\xff\xfe", b'{"schema": 1}', b"}{",
     b'{"schema": null, "key": "1"}', b'{"key": "1"}', b'{"schema": 1, "key": "1", "new": 2}',
     b'{"schema": 0, "key": "1"}', b"[" * 100_000],
)  # fmt: skip
def test_broken_line_is_named(tmp_path: Path, line: bytes) -> None:
    segment = logged(tmp_path, completion(1), completion(2))
    first, second = segment.read_bytes().splitlines(keepends=True)
    segment.write_bytes(first + line + b"\n" + second)
    with pytest.raises(DataError, match=rf"{segment.name}, line 2:.*Remove the line"):
        CompletionLog(tmp_path).read([digest(1)])


@pytest.mark.parametrize(
    "change",
    [{"text": 5}, {"text": None}, {"reasoning": ["x"]}, {"top": 1}, {"finish": "nonsense"},
     {"finish": None}, {"scores": {"a": {"logprob": "-1", "tokens": 1}}}],
)  # fmt: skip
def test_a_line_with_values_of_another_kind_is_named(
    tmp_path: Path, change: dict[str, Any]
) -> None:
    segment = logged(tmp_path, completion(1), completion(2))
    first, second = segment.read_bytes().splitlines()
    segment.write_bytes(first + b"\n" + json.dumps(json.loads(second) | change).encode() + b"\n")
    with CompletionLog(tmp_path) as log:
        assert log.read([digest(1)])
        with pytest.raises(DataError, match="line 2: not a completion"):
            log.read([digest(2)])


def test_a_segment_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl").mkdir()
    with CompletionLog(tmp_path) as log, pytest.raises(DataError, match=r"a\.jsonl: cannot be"):
        log.read([digest(1)])


def test_newer_schema_says_so(tmp_path: Path) -> None:
    segment = logged(tmp_path, completion(1))
    segment.write_bytes(segment.read_bytes().replace(b'{"schema": 1,', b'{"schema": 2,'))
    with pytest.raises(DataError, match="newer version"):
        CompletionLog(tmp_path).read([])


def test_events_are_skipped(tmp_path: Path) -> None:
    segment = logged(tmp_path, completion(1))
    segment.write_bytes(b'{"event": {"out_of_memory": 32}}\n' + segment.read_bytes())
    assert set(CompletionLog(tmp_path).read([digest(1)])) == {digest(1)}


def test_errors_and_nan_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    failed = Completion(key=digest(1), finish="error", error="429")
    undefined = Completion(
        key=digest(2), scores={"Safe": LabelScore(logprob=float("nan"), tokens=1)}
    )
    with CompletionLog(tmp_path) as log:
        for bad in (failed, undefined):
            with pytest.raises(ValueError, match=r"429|not JSON compliant"):
                log.append([completion(3), bad])
    assert segments(tmp_path) == []


@pytest.mark.parametrize(
    ("model", "name"),
    [("smollm2", "smollm2"), ("org/model v1.5", "org-model-v1.5"), ("../..", "-"), ("模型", "-")],
)
def test_folder_names_are_plain(model: str, name: str) -> None:
    assert log_folder("outputs", model) == Path("outputs/completions") / name


@given(texts, st.data())
@settings(max_examples=200)
def test_wherever_the_last_line_is_torn_those_before_it_are_kept(
    tmp_path_factory: Any, text: str, data: st.DataObject
) -> None:
    folder = tmp_path_factory.mktemp("torn")
    kept, torn = completion(1, "before"), completion(2, text or "x")
    path = logged(folder, kept, torn)
    whole = path.read_bytes()
    last = whole.rindex(b"\n", 0, len(whole) - 1) + 1
    cut = data.draw(st.integers(last, len(whole) - 1))
    path.write_bytes(whole[:cut])
    keys = [kept.key, torn.key]
    assert CompletionLog(folder).read(keys) == {kept.key: kept}
    logged(folder, torn)  # the next process is not glued to it
    assert CompletionLog(folder).read(keys) == {kept.key: kept, torn.key: torn}
