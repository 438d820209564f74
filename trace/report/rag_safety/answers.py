"""Judgements as arrays: respondents by conditions by items by repeats by judges."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from trace.records import Json
from trace.report.judgements import STATUSES, Judgement
from trace.report.rag_safety.labels import in_order
from trace.report.rag_safety.words import BENIGN, LABELS

Codes: TypeAlias = NDArray[np.int8]

UNSCORED, ABSENT = -1, -2
"""In the place of a label: there is none; nobody was asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ballots:
    """What judges said on one measure.

    `votes` and `statuses` are [respondents, conditions, items, epochs, judges]: the place of the
    label among `labels`, or `UNSCORED`, or `ABSENT`; and the place of the status among `STATUSES`,
    or `ABSENT`.
    """

    judges: tuple[str, ...]
    labels: tuple[str, ...]
    votes: Codes
    statuses: Codes

    def of(self, judge: str) -> Codes:
        """The votes of one judge, [respondents, conditions, items, epochs]."""
        found: Codes = self.votes[..., self.judges.index(judge)]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Answers:
    """Answers of respondents to items under conditions, and what was said of them.

    `columns` maps a name to a value an item, None where it is not known.
    """

    respondents: tuple[str, ...]
    conditions: tuple[str, ...]
    items: tuple[str, ...]
    epochs: tuple[int, ...]
    ballots: Mapping[str, Ballots]
    columns: Mapping[str, tuple[Json, ...]]

    def only(self, wanted: NDArray[np.bool_]) -> Answers:
        """The answers to some of the items.

        Args:
            wanted: [items].
        """
        return replace(
            self,
            items=tuple(name for name, kept in zip(self.items, wanted, strict=True) if kept),
            ballots={
                name: replace(b, votes=b.votes[:, :, wanted], statuses=b.statuses[:, :, wanted])
                for name, b in self.ballots.items()
            },
            columns={
                name: tuple(v for v, kept in zip(values, wanted, strict=True) if kept)
                for name, values in self.columns.items()
            },
        )


def gathered(judgements: Iterable[Judgement]) -> Answers:
    """Judgements without duplicates as arrays; respondents, items and judges as they come.

    A cell that nobody judged takes a byte a judge.
    """
    places: dict[str, dict[str | int, int]] = {
        axis: {} for axis in ("respondent", "condition", "item", "epoch")
    }
    judges: dict[str, dict[str, int]] = {}
    columns: dict[str, dict[int, Json]] = {}
    rows: dict[str, list[tuple[int, ...]]] = {}
    codes = {m: {label: i for i, label in enumerate(labels)} for m, labels in LABELS.items()}
    numbers = {status: i for i, status in enumerate(STATUSES)}
    for one in judgements:
        names: tuple[str | int, ...] = (one.respondent, one.condition, one.item, one.epoch)
        at = [axis.setdefault(n, len(axis)) for axis, n in zip(places.values(), names, strict=True)]
        own = judges.setdefault(one.measure, {})
        vote = UNSCORED if one.label is None else codes[one.measure][one.label]
        judge = own.setdefault(one.judge, len(own))
        rows.setdefault(one.measure, []).append((*at, judge, vote, numbers[one.status]))
        for name, value in one.columns.items():
            columns.setdefault(name, {})[at[2]] = value
    conditions = in_order(str(name) for name in places["condition"])
    epochs = sorted(int(name) for name in places["epoch"])
    moved = (
        np.array([conditions.index(str(name)) for name in places["condition"]], dtype=np.intp),
        np.array([epochs.index(int(name)) for name in places["epoch"]], dtype=np.intp),
    )
    shape = tuple(map(len, places.values()))
    return Answers(
        respondents=tuple(map(str, places["respondent"])),
        conditions=tuple(conditions),
        items=tuple(map(str, places["item"])),
        epochs=tuple(epochs),
        ballots={
            m: _ballots(tuple(judges[m]), LABELS[m], rows[m], shape, moved)
            for m in LABELS
            if m in rows
        },
        columns={
            name: tuple(values.get(i) for i in range(len(places["item"])))
            for name, values in columns.items()
        },
    )


def _ballots(
    judges: tuple[str, ...],
    labels: tuple[str, ...],
    rows: list[tuple[int, ...]],
    shape: tuple[int, ...],
    moved: tuple[NDArray[np.intp], NDArray[np.intp]],
) -> Ballots:
    respondent, condition, item, epoch, judge, vote, status = np.array(rows, dtype=np.intp).T
    at = (respondent, moved[0][condition], item, moved[1][epoch], judge)
    votes = np.full((*shape, len(judges)), ABSENT, dtype=np.int8)
    statuses = votes.copy()
    votes[at], statuses[at] = vote, status
    return Ballots(judges=judges, labels=labels, votes=votes, statuses=statuses)


def split_benign(answers: Answers) -> tuple[Answers, Answers]:
    """The answers to questions that seek harm, and those to benign items."""
    benign = np.array(
        [value is True for value in answers.columns.get(BENIGN, [None] * len(answers.items))],
        dtype=np.bool_,
    )
    return answers.only(~benign), answers.only(benign)
