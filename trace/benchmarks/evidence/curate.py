"""The prompts of a build: drawn from the user's sources, or the bundled ones."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from trace import config
from trace.benchmarks.evidence import bundled, seval, wildchat
from trace.benchmarks.evidence.near_duplicates import THRESHOLD
from trace.benchmarks.evidence.prompts import Group, Prompt
from trace.benchmarks.evidence.sampling import Count, sample, whole
from trace.errors import DataError
from trace.records import digest
from trace.report.grid import Grid


@dataclass(frozen=True, slots=True, kw_only=True)
class Curated:
    """The prompts, and what became of every group of their sources.

    `fingerprint` maps the name of a file to its sha256. `notes` are said to the user and stand on
    the card.
    """

    prompts: tuple[Prompt, ...]
    counts: Mapping[Group, Count]
    fingerprint: Mapping[str, str]
    notes: tuple[str, ...]

    def grid(self) -> Grid:
        """The counts of every group."""
        grid = Grid(
            title="Prompts",
            header=["Category", "Language", "Found", "Distinct", "Passed over", "Drawn"],
        )
        for (category, language), n in self.counts.items():
            numbers = (n.found, n.distinct, n.near_duplicates, n.drawn)
            grid.rows.append([(category,), (language,), *((f"{one:,}",) for one in numbers)])
        return grid


def curate(builder: config.EvidenceBuilder, *, limit: int | None, seed: int) -> Curated:
    """Draws the builder's share of its sources; without any, all bundled prompts are taken.

    Args:
        builder: names the sources and the share.
        limit: at most so many safe and so many unsafe prompts of each language, out of those
            drawn; None for all.
        seed: decides which.

    Raises:
        DataError: a source cannot be read, or has no prompt that can be taken.
    """
    if builder.s_eval is None and builder.wildchat is None:
        made = whole(bundled.prompts())
        paths = [bundled.PATH]
        notes = ["No source was given: the prompts are the bundled ones, all of them."]
    else:
        unsafe, safe = _files(builder)
        records: Counter[str] = Counter()
        chats: Counter[str] = Counter()
        read = chain(
            chain.from_iterable(seval.read(file, records) for file in unsafe),
            chain.from_iterable(wildchat.read(path, chats) for path in safe),
        )
        made = sample(read, share=builder.share, seed=seed)
        paths = [*(file.path for file in unsafe), *safe]
        if safe and not any(not p.category for p in made.prompts):
            raise DataError(
                f"benchmark.builder.wildchat: {builder.wildchat} has no prompt in English or "
                f"Chinese that its labels call safe ({_listed(chats)})."
            )
        notes = [
            *_of_s_eval(unsafe, records),
            *_of_wildchat(safe, chats),
            *(_of_categories(made.counts) if unsafe else ()),
            *_of_drawing(made.counts, builder.share),
        ]
    return Curated(
        prompts=_limited(made.prompts, limit, seed),
        counts=made.counts,
        fingerprint={path.name: _sha256(path) for path in paths},
        notes=tuple(notes),
    )


def _files(
    builder: config.EvidenceBuilder,
) -> tuple[tuple[seval.SEvalFile, ...], tuple[Path, ...]]:
    s_eval, chats = builder.s_eval, builder.wildchat
    try:
        return (
            () if s_eval is None else seval.files(Path(s_eval).expanduser()),
            () if chats is None else wildchat.files(Path(chats).expanduser()),
        )
    except OSError as error:
        raise DataError(f"{error.filename}: cannot be read ({error.strerror}).") from error


def _of_s_eval(files: Sequence[seval.SEvalFile], passed_over: Mapping[str, int]) -> Iterator[str]:
    if not files:
        yield "No S-Eval was given (benchmark.builder.s_eval): no prompt is meant to be unsafe."
    elif absent := seval.absent(files):
        yield f"S-Eval was given without {', '.join(absent)}."
    if passed_over:
        yield f"Of S-Eval's records were passed over: {_listed(passed_over)}."


def _of_wildchat(files: Sequence[Path], passed_over: Mapping[str, int]) -> Iterator[str]:
    if not files:
        yield "No WildChat was given (benchmark.builder.wildchat): no prompt is meant to be safe."
    elif passed_over:
        yield f"Of WildChat's conversations were passed over: {_listed(passed_over)}."


def _of_categories(counts: Mapping[Group, Count]) -> Iterator[str]:
    if missing := seval.missing_categories(counts):
        yield (
            f"S-Eval was given without any prompt of {', '.join(missing)}; its release has eight "
            "of the nine categories."
        )


def _of_drawing(counts: Mapping[Group, Count], share: float) -> Iterator[str]:
    yield (
        f"{100 * share:g}% of each group of category and language was drawn, and prompts passed "
        f"over whose character n-grams are to {float(THRESHOLD):.0%} or more (Jaccard) those of "
        "one drawn before, in the same language and attack: "
        f"{sum(n.near_duplicates for n in counts.values()):,} of them."
    )
    for (category, language), n in counts.items():
        if n.drawn < n.due:
            yield (
                f"{category} in {language}: {n.drawn:,} prompts instead of {n.due:,}; all others "
                "that could be drawn nearly repeat them."
            )


def _limited(prompts: Sequence[Prompt], limit: int | None, seed: int) -> tuple[Prompt, ...]:
    """As `strata.limited` does for samples: a larger limit only adds."""
    strata: dict[tuple[bool, str], list[str]] = {}
    for prompt in prompts:
        strata.setdefault((prompt.category is None, prompt.language), []).append(prompt.id)
    kept = {
        id_
        for ids in strata.values()
        for id_ in sorted(ids, key=lambda id_: digest([seed, "limit", id_]))[:limit]
    }
    return tuple(prompt for prompt in prompts if prompt.id in kept)


def _listed(passed_over: Mapping[str, int]) -> str:
    counts = sorted(passed_over.items(), key=lambda item: (-item[1], item[0]))
    return ", ".join(f"{number:,} {reason}" for reason, number in counts) or "it has none"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
