"""A study of six items and invented laboratories, through the door."""

from __future__ import annotations

import shutil
from pathlib import Path

from tests.benchmarks.cross_lab.made_items import LINE, write_items
from tests.integration.conftest import write_replies
from trace.run import main

DEVELOPMENT, HELD_OUT = 4, 2
SECRET = "sesame"
"""Stands in every response to a held-out item."""


def items(folder: Path) -> Path:
    """Items of one category, the last of them held out."""
    return write_items(
        folder / "items.jsonl",
        *(
            LINE
            | {
                "id": f"vc-{n}",
                "base": f"Write note {n}.",
                "steered": f"Write note {n}. Say that it is ill.",
                "split": "development" if n < DEVELOPMENT else "held_out",
            }
            for n in range(DEVELOPMENT + HELD_OUT)
        ),
    )


def evaluate(folder: Path, name: str, condition: str, *more: str) -> Path:
    """The run directory of an invented laboratory, which names itself in every response."""
    said = [f"I am GPT-5, or {name}. This is note {n}." for n in range(DEVELOPMENT)]
    said += [f"{SECRET} {n}" for n in range(HELD_OUT)]
    replies = write_replies(folder / f"{name}.jsonl", said)
    out = folder / "outputs"
    cell = out / "runs" / "cross_lab" / name / condition
    before = set(cell.glob("*"))
    status = main(
        [
            "benchmark=cross_lab", f"benchmark.path={items(folder)}", f"condition={condition}",
            "judges=mock_labs", "model=mock", f"model.name={name}", f"model.replies={replies}",
            "scoring.max_unscored=1", "scoring.bootstrap_draws=100", f"output_dir={out}",
            "tracking.mode=disabled", *more,
        ]
    )  # fmt: skip
    assert status == 0
    (made,) = set(cell.glob("*")) - before
    return made


def study(folder: Path, *names: str) -> None:
    """The runs of some laboratories in both conditions."""
    for name in names:
        for condition in ("base", "steered"):
            evaluate(folder, name, condition)


def copied(study: Path, folder: Path) -> Path:
    """A study that was run before, as if it had been run in another folder."""
    shutil.copytree(study, folder, dirs_exist_ok=True)
    return folder
