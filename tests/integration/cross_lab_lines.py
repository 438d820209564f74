"""Command lines of cross-lab TRACE that need no weights, and what they leave."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from tests.benchmarks.cross_lab.made_items import LINE, write_items
from tests.integration.conftest import Ran, write_replies
from trace.models.mock import MockModel
from trace.records import Completion, Json, Request

FILES = {"config.yaml", "manifest.json", "records.jsonl", "metrics.json", "report.md", "figures"}
LAB = ["benchmark=cross_lab", "judges=mock_labs", "scoring.bootstrap_draws=100"]
FIRST, MORE = 64, 192
"""Tokens of an answer, and at three times the budget."""


def panel(folder: Path, *seats: str, votes: Sequence[str] = (), min_valid: int = 1) -> list[str]:
    """Judges that deal the same votes (JSON replies), or that err never where none are given."""
    line = ["judges=panel", "judges.rule=majority", f"judges.min_valid={min_valid}"]
    for n, seat in enumerate(seats):
        line += [f"+model@judges.models.{seat}=mock", f"judges.models.{seat}.name={seat}",
                 f"judges.models.{seat}.seed={n}"]  # fmt: skip
        if votes:
            file = write_replies(folder / f"{seat}.jsonl", [*votes, *["-"] * n])
            line.append(f"judges.models.{seat}.replies={file}")
        else:
            line.append("judges.models." + seat + ".rates={default: 1.0}")
    return line


def respondent(folder: Path, replies: Sequence[str], name: str = "someone") -> list[str]:
    file = write_replies(folder / "replies.jsonl", replies)
    return ["model=mock", f"model.name={name}", f"model.replies={file}", "model.reasoning=think"]


def items(folder: Path, *lines: Json) -> str:
    return f"benchmark.path={write_items(folder / 'items.jsonl', *lines)}"


def four(**changed: Json) -> list[dict[str, Json]]:
    """Four items of one core category."""
    return [
        LINE | {"id": f"i{n}", "base": f"Task {n}.", "steered": f"Task {n}. So."} | changed
        for n in range(4)
    ]


def cut_off(patch: pytest.MonkeyPatch) -> None:
    """A mock whose reply begins with CUT stops at its limit, unless it has more than at first."""
    plain = MockModel._answer

    def limited(self: MockModel, request: Request, key: str) -> Completion:
        made = plain(self, request, key)
        if made.text.startswith("CUT") and request.sampling.max_new_tokens <= FIRST:
            return replace(made, finish="length")
        return made

    patch.setattr(MockModel, "_answer", limited)


def refused(ran: Ran) -> str:
    assert ran.status == 2, ran.out + ran.err
    assert ran.err.count("\n") == 1, ran.err
    return ran.err
