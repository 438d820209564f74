from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace.models.complete import complete
from trace.models.log import CompletionLog
from trace.records import Completion, Json, Request

IDENTITY = {"engine": "fake"}


class Killed(Exception):
    pass


class Fake:
    """Answers in batches of `size`, the last batch first, and dies after `lives` batches."""

    identity: Mapping[str, Json] = IDENTITY

    def __init__(self, size: int = 2, lives: int = 10**9, failing: Sequence[str] = ()) -> None:
        self.size, self.lives, self.failing = size, lives, failing
        self.given: list[list[Request]] = []
        self.made: list[str] = []

    def generate(
        self, requests: Sequence[Request], done: Mapping[str, Completion]
    ) -> Iterator[list[Completion]]:
        self.given.append(list(requests))
        for start in reversed(range(0, len(requests), self.size)):
            batch = requests[start : start + self.size]
            if all(request.key(IDENTITY) in done for request in batch):
                continue
            if self.lives == 0:
                raise Killed
            self.lives -= 1
            self.made += [text_of(request) for request in batch]
            yield [self._answer(request, len(batch)) for request in batch]

    def _answer(self, request: Request, rows: int) -> Completion:
        key = request.key(IDENTITY)
        if text_of(request) in self.failing:
            return Completion(key=key, finish="error", error="rate limit")
        return Completion(key=key, text=f"re: {text_of(request)}", batch_rows=rows)


def ask(*texts: str) -> list[Request]:
    return [Request(messages=({"role": "user", "content": text},)) for text in texts]


def text_of(request: Request) -> str:
    return request.messages[0]["content"]


def run(model: Fake, requests: list[Request], folder: Path) -> tuple[list[Completion], list[str]]:
    """The completions, and the keys that progress heard of."""
    heard: list[str] = []
    with CompletionLog(folder) as log:
        out = complete(model, requests, log, lambda completion: heard.append(completion.key))
    return out, heard


def lines(folder: Path) -> list[str]:
    return [line for path in sorted(folder.glob("*")) for line in path.read_text().splitlines()]


def test_in_the_order_of_the_requests(tmp_path: Path) -> None:
    requests = ask(*"abcde")
    out, heard = run(Fake(), requests, tmp_path)
    assert [c.text for c in out] == [f"re: {letter}" for letter in "abcde"]
    assert [c.key for c in out] == [request.key(IDENTITY) for request in requests]
    assert sorted(heard) == sorted(c.key for c in out)


def test_duplicates_are_asked_once_and_heard_of_each(tmp_path: Path) -> None:
    model = Fake()
    out, heard = run(model, ask(*"abcabca"), tmp_path)
    assert [c.text[-1] for c in out] == list("abcabca")
    assert sorted(model.made) == list("abc")
    assert len(heard) == 7
    assert len(lines(tmp_path)) == 3


def test_of_duplicates_the_first_is_asked(tmp_path: Path) -> None:
    model = Fake()
    (request,) = ask("a")
    run(model, [replace(request, sample="one"), replace(request, sample="two")], tmp_path)
    assert [r.sample for r in model.given[0]] == ["one"]


def test_again_asks_nothing_and_writes_nothing(tmp_path: Path) -> None:
    requests = ask(*"abcab")
    first, _ = run(Fake(), requests, tmp_path)
    before = lines(tmp_path)
    model = Fake()
    second, heard = run(model, requests, tmp_path)
    assert model.given == []
    assert second == first
    assert len(heard) == 5
    assert lines(tmp_path) == before


def test_nothing_to_ask(tmp_path: Path) -> None:
    model = Fake()
    assert run(model, [], tmp_path) == ([], [])
    assert model.given == []


@given(
    letters=st.lists(st.sampled_from("abcdefgh"), min_size=1, max_size=12),
    size=st.integers(1, 4),
    lives=st.lists(st.integers(0, 3), max_size=4),
)
@settings(max_examples=60)
def test_killed_between_batches_and_resumed(
    tmp_path_factory: pytest.TempPathFactory, letters: list[str], size: int, lives: list[int]
) -> None:
    folder, undisturbed = tmp_path_factory.mktemp("killed"), tmp_path_factory.mktemp("whole")
    requests = ask(*letters)
    for batches in lives:
        try:
            run(Fake(size, batches), requests, folder)
        except Killed:
            continue
    model = Fake(size)
    out, _ = run(model, requests, folder)
    expected, _ = run(Fake(size), requests, undisturbed)
    assert out == expected
    assert sorted(lines(folder)) == sorted(lines(undisturbed))  # each key logged once
    for given_ in model.given:  # the plan is made from all requests, not from the missing
        assert len(given_) == len(set(letters))


def test_redone_batch_keeps_what_was_logged(tmp_path: Path) -> None:
    """A batch of which one is missing is made whole, but the logged answers stay."""
    a, b = ask("a", "b")
    logged = Completion(key=a.key(IDENTITY), text="logged before")
    with CompletionLog(tmp_path) as log:
        log.append([logged])
    model = Fake(size=2)
    out, heard = run(model, [a, b], tmp_path)
    assert model.made == ["a", "b"]
    assert [c.text for c in out] == ["logged before", "re: b"]
    assert heard == [a.key(IDENTITY), b.key(IDENTITY)]
    assert len(lines(tmp_path)) == 2


def test_errors_are_returned_but_asked_again(tmp_path: Path) -> None:
    requests = ask(*"ab")
    out, heard = run(Fake(failing="b"), requests, tmp_path)
    assert [c.finish for c in out] == ["stop", "error"]
    assert len(heard) == 2
    assert len(lines(tmp_path)) == 1
    again, _ = run(Fake(), requests, tmp_path)
    assert [c.text for c in again] == ["re: a", "re: b"]


def test_logged_before_progress_hears_of_it(tmp_path: Path) -> None:
    def interrupt(completion: Completion) -> None:
        raise KeyboardInterrupt

    requests = ask(*"ab")
    with CompletionLog(tmp_path) as log, pytest.raises(KeyboardInterrupt):
        complete(Fake(), requests, log, interrupt)
    assert len(lines(tmp_path)) == 2


def test_unanswered_request_is_a_defect(tmp_path: Path) -> None:
    class Lazy(Fake):
        def generate(
            self, requests: Sequence[Request], done: Mapping[str, Completion]
        ) -> Iterator[list[Completion]]:
            yield [self._answer(requests[0], 1)]

    with pytest.raises(RuntimeError, match="Lazy left 1 requests"):
        run(Lazy(), ask(*"ab"), tmp_path)
