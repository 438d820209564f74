"""What a condition does to the samples of any benchmark: solved examples, or a haystack around."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import replace

from trace import config
from trace.benchmarks.base import Dataset
from trace.errors import ConfigError
from trace.records import Json, Sample

LabelOf = Callable[[Sample], str]
TokensOf = Callable[[str], int]


def apply(
    condition: config.Condition,
    dataset: Dataset,
    *,
    label_of: LabelOf,
    tokens_of: TokensOf,
    seed: int,
) -> Dataset:
    """The dataset under a condition. Ids, gold labels and clusters stay.

    Args:
        condition: what is done.
        dataset: the samples; examples and filler are taken from among them.
        label_of: the right label of a sample, shown with an example.
        tokens_of: how many tokens a text has for the model that is asked.
        seed: chooses examples and filler.

    Raises:
        ConfigError: the samples do not suffice, or their view has no trajectory to add to.
    """
    samples: Sequence[Sample] = dataset.samples
    notes = dataset.notes
    if condition.examples:
        samples = with_examples(samples, condition.examples, label_of, seed)
    if condition.tokens is not None:
        samples = [
            in_haystack(s, dataset.samples, condition.tokens, tokens_of, seed) for s in samples
        ]
        short = sum(s.meta["haystack_tokens"] < 0.9 * condition.tokens for s in samples)
        if short:
            notes = (
                *notes,
                f"{short} of {len(samples)} samples stay under 90% of {condition.tokens} tokens: "
                "the benign samples of other sources do not suffice. A larger limit helps.",
            )
    return replace(dataset, samples=tuple(samples), notes=notes)


def with_examples(
    samples: Sequence[Sample], count: int, label_of: LabelOf, seed: int
) -> list[Sample]:
    """Puts `count` solved examples in front of each sample, half of them (or one less) benign.

    All samples see the same examples, so that their prompt begins alike, but those that share a
    source with one of them, which see a second set.
    """
    shuffled = random.Random(seed).sample(list(samples), len(samples))
    first = _examples(shuffled, count, set())
    second = _examples(shuffled, count, {s.cluster for s in first})
    clusters = {s.cluster for s in first}

    def shown(sample: Sample) -> list[Json]:
        chosen = second if sample.cluster in clusters else first
        return [{**example.view, "verdict": label_of(example)} for example in chosen]

    return [replace(s, view={"solved_examples": shown(s), **s.view}) for s in samples]


def _examples(shuffled: Sequence[Sample], count: int, taken: set[str]) -> list[Sample]:
    wanted = {"safe": count // 2, "unsafe": count - count // 2}
    chosen: list[Sample] = []
    used = set(taken)
    for sample in shuffled:
        kind = sample.gold.label
        if kind is not None and wanted[kind] and sample.cluster not in used:
            wanted[kind] -= 1
            used.add(sample.cluster)
            chosen.append(sample)
    if any(wanted.values()):
        raise ConfigError(
            f"condition.examples={count}: too few sources among {len(shuffled)} samples for two "
            "sets of examples. Raise limit, or leave it out."
        )
    return chosen


def in_haystack(
    sample: Sample, pool: Sequence[Sample], tokens: int, tokens_of: TokensOf, seed: int
) -> Sample:
    """Puts a sample's steps in the middle of benign steps of other sources.

    Whole trajectories are added in turn before and after, with their tools, while the view stays
    within `tokens`; `meta["haystack_tokens"]` says what came of it.
    """
    if "trajectory" not in sample.view or "tools" not in sample.view:
        raise ConfigError(
            "condition.tokens: the samples' view has no trajectory and tools to add to. "
            "Use benchmark.view=clean."
        )
    chance = random.Random(f"{seed}:{sample.id}")
    benign = [s for s in pool if s.gold.label == "safe" and s.cluster != sample.cluster]
    before: list[Json] = []
    after: list[Json] = []
    tools = list(sample.view["tools"])
    names = {tool["name"] for tool in tools}
    total = tokens_of(_text(dict(sample.view)))
    for filler in chance.sample(benign, len(benign)):
        steps = list(filler.view["trajectory"])
        new = [tool for tool in filler.view["tools"] if tool["name"] not in names]
        size = tokens_of(_text([steps, new]))
        if total + size > tokens:
            continue
        total += size
        tools += new
        names |= {tool["name"] for tool in new}
        if len(before) <= len(after):
            before = [*steps, *before]
        else:
            after += steps
    view = {
        **sample.view,
        "tools": tools,
        "trajectory": [*before, *sample.view["trajectory"], *after],
    }
    return replace(sample, view=view, meta={**sample.meta, "haystack_tokens": total})


def _text(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False)
