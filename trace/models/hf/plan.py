"""Which rows are computed together: made from the full list of requests, before any is answered."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from sys import maxsize

from trace import config
from trace.models.hf import batches
from trace.models.hf.answers import Row
from trace.models.hf.prefix_tree import Stem, Tokens, prefix_tree
from trace.records import Completion

RowGroup = list[list[Row]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Rows in the groups that are decoded together, and the beginnings that they share."""

    groups: list[RowGroup]
    stems: list[Stem]
    prompts: list[Tokens]

    def undone(self, done: Mapping[str, Completion]) -> list[RowGroup]:
        """The groups of which anything is missing: they are made whole again."""
        return [g for g in self.groups if any(row.key not in done for batch in g for row in batch)]


def alike(rows: Sequence[Row]) -> list[list[Row]]:
    """Rows that one plan can hold: of the same labels, and pushed at the same place."""
    found: dict[Hashable, list[Row]] = {}
    for row in rows:
        push = row.request.push
        place = None if push is None else (push.layer, push.tokens)
        found.setdefault((row.branches, place), []).append(row)
    return list(found.values())


def plan_of(rows: Sequence[Row], engine: config.HfEngine, min_saved: int) -> Plan:
    """Plans rows that are alike.

    The pushes of one prompt stay together, so that each stands beside the one at alpha = 0 in the
    same batch. Where all tokens are pushed, pushes share no beginning.

    Args:
        rows: at least one; each fits into the context.
        engine: says how many tokens and rows go together.
        min_saved: tokens that a shared beginning has to save.
    """
    prompts = [row.ids for row in rows]
    push = rows[0].request.push
    stems = prefix_tree(prompts, maxsize if push and push.tokens == "all" else min_saved)
    grids = _grids(rows)
    largest = max(map(len, grids.values()))
    planned: list[batches.Batch] = []
    at: dict[int, int] = {}
    for number, stem in enumerate(stems):
        firsts = [i for i in stem.rows if i in grids]
        lengths = [len(rows[i].ids) - stem.end for i in firsts]
        cut = batches.prefill_batches(lengths, engine.prefill_tokens // largest)
        planned += [[firsts[i] for i in batch] for batch in cut]
        at |= dict.fromkeys(stem.rows, number)
    if rows[0].branches:  # nothing is decoded: every batch can be logged by itself
        groups = [[batch] for batch in planned]
    else:
        groups = batches.decode_groups(planned, max(engine.decode_rows // largest, 1))
    if len(stems) == 1:  # else the order of the tree computes every beginning once
        groups = batches.from_both_ends(groups)
    return Plan(
        groups=[
            [[replace(rows[j], stem=at[j]) for i in batch for j in grids[i]] for batch in group]
            for group in groups
        ],
        stems=stems,
        prompts=prompts,
    )


def _grids(rows: Sequence[Row]) -> dict[int, list[int]]:
    """The first row of each prompt that is pushed -> all its rows; others stand alone."""
    by_prompt: dict[Hashable, list[int]] = {}
    for i, row in enumerate(rows):
        by_prompt.setdefault(row.ids if row.request.push else i, []).append(i)
    return {members[0]: members for members in by_prompt.values()}
