"""The line that says what a paid service counted."""

from __future__ import annotations

from trace.models.hosted.budget import Budget
from trace.models.hosted.reply import Tokens
from trace.tasks.answers import used_in_words

WORST = Tokens(prompt=1000, completion=1000)


def test_what_is_in_doubt_is_said_beside_what_is_sure() -> None:
    budget = Budget(price={"input": 1.0, "output": 9.0}, max_cost_usd=None, max_requests=None)
    for _ in range(4):
        budget.begin(WORST)
    budget.answered(WORST, Tokens(prompt=100, completion=10), "m")
    budget.answered(WORST, None, "m")  # charged as the most it can be: 0.01
    budget.failed(WORST, billed=True)
    budget.failed(WORST, billed=False)
    assert used_in_words(budget.usage.to_json()) == (
        "4 requests sent, 2 answered (1 without a count of tokens), 100 tokens read, 10 written, "
        "0.0102 USD, and up to 0.0100 USD for attempts that broke off"
    )


def test_what_is_not_there_is_not_said() -> None:
    free = Budget(price=None, max_cost_usd=None, max_requests=None)
    free.begin(WORST)
    free.answered(WORST, Tokens(prompt=0, completion=0), "guard")
    assert used_in_words(free.usage.to_json()) == "1 requests sent, 1 answered"
