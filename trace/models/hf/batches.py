"""Which prompts are computed together: pure functions of their lengths.

Numbers depend on the shape of a batch, so the plan is made from the full list of requests; a
resumed run then meets the same shapes as an undisturbed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest

Batch = list[int]
Group = list[Batch]
"""Batches whose rows are decoded together, after each was prefilled by itself."""


def prefill_batches(lengths: Sequence[int], tokens: int) -> list[Batch]:
    """Splits rows into batches of at most `tokens` tokens, padding counted; longest first.

    A row longer than `tokens` is a batch of its own. Rows of equal length keep their order.
    """
    batches: list[Batch] = []
    for row in sorted(range(len(lengths)), key=lambda i: (-lengths[i], i)):
        if batches and (len(batches[-1]) + 1) * lengths[batches[-1][0]] <= tokens:
            batches[-1].append(row)
        else:
            batches.append([row])
    return batches


def decode_groups(batches: list[Batch], rows: int) -> list[Group]:
    """Joins neighbouring batches while they have at most `rows` rows together.

    A batch of more than `rows` rows is cut.
    """
    groups: list[Group] = []
    cut = [b[i : i + rows] for b in batches for i in range(0, len(b), rows)]
    for batch in cut:
        if groups and sum(map(len, groups[-1])) + len(batch) <= rows:
            groups[-1].append(batch)
        else:
            groups.append([batch])
    return groups


def from_both_ends(groups: list[Group]) -> list[Group]:
    """The first group, then the last, the second, and so on.

    Beginning with the longest rows shows at once whether memory suffices; going on from both ends
    keeps the rate of progress near its mean, so that an estimate of what is left holds.
    """
    half = (len(groups) + 1) // 2
    ends = zip_longest(groups[:half], reversed(groups[half:]))
    return [group for pair in ends for group in pair if group is not None]
