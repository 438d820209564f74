from __future__ import annotations

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.models.hosted.pace import FIRST_PAUSE, LONGEST_PAUSE, Outcome, Pace, backoff

OUTCOMES = st.sampled_from(get_args(Outcome))
RESTS = st.none() | st.floats(0, 100)


def full(pace: Pace, now: float = 0.0) -> Pace:
    while pace.wait(now) is not None:
        pace = pace.begun()
    return pace


def window(pace: Pace, limited: int, now: float = 0.0) -> Pace:
    """As many outcomes as may be under way, the first `limited` of them turned away."""
    pace = full(pace)
    for i in range(pace.under_way):
        pace = pace.ended("limited" if i < limited else "answered", now=now, jitter=0.0)
    return pace


def test_it_begins_with_four_and_never_exceeds_the_most() -> None:
    assert full(Pace(most=64)).under_way == 4
    assert full(Pace(most=2)).under_way == 2
    pace = Pace(most=64)
    for _ in range(40):
        pace = window(pace, 0)
    assert pace.limit == 64


def test_a_window_of_answers_adds_and_a_window_of_refusals_halves_once() -> None:
    assert window(Pace(most=16, limit=8), 0).limit == 9
    assert window(Pace(most=64, limit=8), 0).limit == 12
    assert window(Pace(most=64, limit=8), 8).limit == 4
    assert window(Pace(most=64, limit=8), 2).limit == pytest.approx(7)
    assert window(Pace(most=64, limit=1), 1).limit == 1


@given(st.integers(1, 40))
def test_it_settles_where_the_servers_own_limit_is(capacity: int) -> None:
    pace, seen = Pace(most=64), []
    for _ in range(120):
        allowed = full(pace).under_way
        seen.append(allowed)
        pace = window(pace, max(0, allowed - capacity))
    late = seen[-60:]
    most = capacity * 16 / 15 + 4  # the last limit that is not cut, and one step
    assert capacity <= sum(late) / len(late) <= most
    assert max(late) <= most


def test_one_in_thirty_turned_away_by_chance_does_not_starve_it() -> None:
    pace, limits = full(Pace(most=64)), []
    for ended in range(1, 6001):
        pace = pace.ended("limited" if ended % 30 == 0 else "answered", now=0.0, jitter=0.0)
        limits.append(pace.limit)
        pace = full(pace)
    assert min(limits[3000:]) > 20


@given(st.lists(st.tuples(OUTCOMES, RESTS, st.floats(0, 1, exclude_max=True)), max_size=300))
def test_whatever_comes_it_keeps_count_and_goes_on(
    events: list[tuple[Outcome, float, float]],
) -> None:
    pace, now, latest = Pace(most=16), 0.0, 0.0
    for outcome, rest, jitter in events:
        if (wait := pace.wait(now)) is not None:
            now += wait
            pace = pace.begun()
        before = pace.under_way
        pace = pace.ended(outcome, now=now, jitter=jitter, retry_after=rest)
        latest = max(latest, now + (rest or 0.0))
        assert pace.under_way == before - 1
        assert 1 <= pace.limit <= 16
        assert pace.resume >= latest, "somebody begins before the rest that was asked for is over"
        wait = pace.wait(now)
        assert wait is not None
        assert wait <= max(latest - now, LONGEST_PAUSE)


def test_the_rest_that_is_asked_for_holds_for_everybody() -> None:
    pace = full(Pace(most=8)).ended("limited", now=10.0, jitter=0.0, retry_after=5.0)
    assert pace.wait(11.0) == 4.0
    assert pace.wait(15.0) == 0.0
    assert pace.ended("limited", now=11.0, jitter=0.0, retry_after=1.0).wait(11.0) == 4.0


def test_silence_makes_everybody_pause_longer_each_time_and_an_answer_ends_it() -> None:
    pace, pauses, now = Pace(most=4), [], 0.0
    for _ in range(9):
        pace = full(pace, now)
        while pace.under_way:
            pace = pace.ended("failed", now=now, jitter=1.0)
        pauses.append(pace.wait(now))
        now += pauses[-1] or 0.0
    assert pauses == [0.5, 1, 2, 4, 8, 16, 30, 30, 30]
    assert pace.limit == 4, "silence is no sign of too many requests"
    assert window(pace, 0, now).storms == 0


@given(st.integers(0, 10_000), st.floats(0, 1, exclude_max=True))
def test_a_wait_is_a_share_of_a_doubling_time(times: int, jitter: float) -> None:
    assert 0 <= backoff(times, jitter) <= min(LONGEST_PAUSE, FIRST_PAUSE * 2.0 ** min(times, 100))
    assert backoff(times, 0.5) <= backoff(times + 1, 0.5)


def of_silence(silent: int, answered: int) -> Pace:
    """The pace after one window of as many outcomes."""
    rows = silent + answered
    pace = Pace(most=64, limit=rows, under_way=rows)
    for i in range(rows):
        outcome: Outcome = "silent" if i < silent else "answered"
        pace = pace.ended(outcome, now=0.0, jitter=0.0)
    return pace


@pytest.mark.parametrize(
    ("silent", "answered", "limit"),
    [(16, 0, 8), (1, 15, 20), (5, 11, 20), (6, 10, 13), (2, 0, 1), (1, 0, 1)],
)
def test_silence_of_many_is_a_server_too_slow_for_them(
    silent: int, answered: int, limit: float
) -> None:
    assert of_silence(silent, answered).limit == limit
