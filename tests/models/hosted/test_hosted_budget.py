from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.models.hosted.budget import Budget, cost, worst_case
from trace.models.hosted.reply import Tokens

PRICE = {"input": 2.0, "output": 8.0, "cached": 0.5}


def test_cost_is_dollars_per_million_tokens() -> None:
    assert cost(PRICE, Tokens(prompt=1_000_000, completion=500_000, cached=200_000)) == (
        pytest.approx(0.8 * 2 + 0.2 * 0.5 + 0.5 * 8)
    )
    assert cost({"input": 1, "output": 0}, Tokens(prompt=10**6, completion=0, cached=10**6)) == 1


def test_the_worst_case_counts_bytes() -> None:
    assert worst_case(["安全"], 7) == Tokens(prompt=6 + 16, completion=7)


@given(
    st.lists(
        st.tuples(
            st.integers(1, 3000),  # prompt tokens at most
            st.integers(1, 3000),  # new tokens at most
            st.floats(0, 1),  # the share of both that is used
            st.sampled_from(["answered", "uncounted", "billed", "free"]),
        ),
        max_size=60,
    ),
    st.floats(0.001, 0.1),
    st.integers(1, 8),
)
def test_a_budget_is_never_exceeded_and_its_account_is_right(
    attempts: list[tuple[int, int, float, str]], most: float, at_once: int
) -> None:
    budget = Budget(price=PRICE, max_cost_usd=most, max_requests=None)
    under_way: list[tuple[Tokens, float, str]] = []
    sure = doubtful = 0.0

    def end() -> None:
        nonlocal sure, doubtful
        worst, share, how = under_way.pop(0)
        used = Tokens(prompt=int(worst.prompt * share), completion=int(worst.completion * share))
        if how in ("answered", "uncounted"):
            budget.answered(worst, used if how == "answered" else None, "served")
            sure += cost(PRICE, used if how == "answered" else worst)
        else:
            budget.failed(worst, billed=how == "billed")
            doubtful += cost(PRICE, worst) if how == "billed" else 0.0

    for prompt, new, share, how in attempts:
        worst = Tokens(prompt=prompt, completion=new)
        if budget.refusal(worst) is None:
            budget.begin(worst)
            under_way.append((worst, share, how))
        while len(under_way) >= at_once:
            end()
    while under_way:
        end()
    assert budget.usage.usd == pytest.approx(sure)
    assert budget.usage.usd_doubtful == pytest.approx(doubtful)
    assert sure + doubtful <= most + 1e-9


def test_every_attempt_counts_as_a_request() -> None:
    budget = Budget(price=None, max_cost_usd=None, max_requests=2)
    worst = Tokens(prompt=1, completion=1)
    budget.begin(worst)
    budget.failed(worst, billed=True)
    assert budget.refusal(worst) is None
    budget.begin(worst)
    budget.answered(worst, None, "served")
    assert "model.engine.max_requests=2" in (budget.refusal(worst) or "")
    assert (budget.usage.attempts, budget.usage.answers, budget.usage.usd) == (2, 1, None)
    assert (budget.usage.uncounted, budget.usage.prompt_tokens) == (1, 0), "nobody counted them"
    assert budget.usage.to_json()["served"] == ["served"]


def test_a_budget_below_one_request_does_not_promise_to_go_on() -> None:
    budget = Budget(price=PRICE, max_cost_usd=0.001, max_requests=None)
    said = budget.refusal(Tokens(prompt=1000, completion=1000)) or ""
    assert "a single request may cost up to 0.01 USD" in said
    assert "goes on" not in said
    assert "goes on" not in (
        Budget(price=PRICE, max_cost_usd=0.01, max_requests=None).refusal(
            Tokens(prompt=1000, completion=1000)
        )
        or ""
    )  # met exactly, it is not exceeded
