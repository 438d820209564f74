"""Which beginnings prompts share: a pure function of their tokens."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import groupby

Tokens = tuple[int, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Stem:
    """A beginning that several prompts share, less that of its parent.

    It is `prompts[rows[0]][start:end]`. `rows` are the prompts that leave the tree here: no
    longer beginning is worth sharing for them. The root has no parent and starts at 0.
    """

    parent: int | None
    start: int
    end: int
    rows: tuple[int, ...]
    sample: int
    """A prompt that begins with it."""


def prefix_tree(prompts: Sequence[Tokens], minimum: int) -> list[Stem]:
    """The shared beginnings worth computing once, parents before children.

    Every prompt stands at exactly one stem and keeps at least one token beyond it. A stem other
    than the root saves at least `minimum` tokens; the root may be empty.

    Args:
        prompts: token ids, none empty.
        minimum: tokens that a further forward pass has to save.
    """
    if not prompts:
        return []
    stems: list[Stem] = []
    first = shared_length(prompts, range(len(prompts)))
    # What all share is not compared again. Equal prompts keep their order.
    ordered = sorted(range(len(prompts)), key=lambda i: prompts[i][first:])
    waiting: list[tuple[list[int], int | None]] = [(ordered, None)]
    while waiting:
        members, parent = waiting.pop()
        start = 0 if parent is None else stems[parent].end
        end = first if parent is None else shared_length(prompts, members)
        worth = (len(members) - 1) * (end - start) >= minimum
        ending = [i for i in members if len(prompts[i]) == end + 1]
        going_on = [i for i in members if len(prompts[i]) > end + 1]
        branches = [list(same) for _, same in groupby(going_on, key=lambda i: prompts[i][end])]
        alone = [branch[0] for branch in branches if len(branch) == 1]
        here = len(stems)
        if worth or parent is None:
            kept = end if worth else 0
            rows = tuple(sorted(ending + alone))
            stems.append(Stem(parent=parent, start=start, end=kept, rows=rows, sample=members[0]))
        else:  # dissolved: its rows and branches are its parent's
            here = parent
            rows = tuple(sorted((*stems[here].rows, *ending, *alone)))
            stems[here] = replace(stems[here], rows=rows)
        several = [branch for branch in branches if len(branch) > 1]
        # The longest prompt first: whether memory suffices shows at once.
        several.sort(key=lambda branch: max(len(prompts[i]) for i in branch))
        waiting.extend((branch, here) for branch in several)
    return stems


def shared_length(prompts: Sequence[Tokens], rows: Sequence[int]) -> int:
    """How many leading tokens the prompts `rows` share, at least one token of each left over."""
    if len(rows) < 2:
        return 0
    members = [prompts[i] for i in rows]
    low, high = min(members), max(members)  # the extremes in order differ first
    limit = min(map(len, members)) - 1
    return next((i for i in range(limit) if low[i] != high[i]), max(limit, 0))
