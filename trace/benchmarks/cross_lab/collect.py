"""Responses to the development items, gathered from finished runs: labels are made from them."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from trace.benchmarks.cross_lab.items import Item, ItemSet
from trace.benchmarks.cross_lab.masking import masked
from trace.benchmarks.responses import unjudged
from trace.benchmarks.strata import limited
from trace.errors import ConfigError, DataError
from trace.records import Completion, Json, digest
from trace.report.gather import find
from trace.report.grid import Grid, many
from trace.report.run_folder import AGAIN, config_of, finished
from trace.tracking.files import read_jsonl

EXAMPLE = "benchmark.responses='outputs/runs/cross_lab/**'"


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """A response to a development item; `text` is without names, and `masked` are those."""

    item: str
    category: str
    condition: str
    respondent: str
    epoch: int
    text: str
    masked: tuple[str, ...]
    key: str

    def to_json(self) -> dict[str, Json]:
        """One line of responses.jsonl."""
        return asdict(self) | {"masked": list(self.masked)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """Responses in the order of their items; `runs` are the hashes of those that they are from.

    `prompts` maps (item, condition) to what was asked.
    """

    responses: tuple[Response, ...]
    prompts: Mapping[tuple[str, str], str]
    runs: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def hash(self) -> str:
        """Identifies the responses."""
        return digest([one.to_json() for one in self.responses])

    @property
    def respondents(self) -> tuple[str, ...]:
        """Who gave them, by name."""
        return tuple(sorted({one.respondent for one in self.responses}))

    def of(self, category: str) -> list[Response]:
        """Those of a category."""
        return [one for one in self.responses if one.category == category]

    def counts(self) -> dict[str, dict[str, dict[str, int]]]:
        """Category -> condition -> respondent -> responses; 0 where there are none."""
        found = Counter((one.category, one.condition, one.respondent) for one in self.responses)
        cells = dict.fromkeys((category, condition) for category, condition, _ in found)
        made: dict[str, dict[str, dict[str, int]]] = defaultdict(dict)
        for category, condition in cells:
            made[category][condition] = {
                name: found[category, condition, name] for name in self.respondents
            }
        return dict(made)

    def grid(self) -> Grid:
        """The counts as a table, a respondent a row: with many of them it grows downwards."""
        grid = Grid(
            title="Responses to development items",
            header=["Category", "Condition", "Respondent", "Responses"],
        )
        for category, conditions in self.counts().items():
            for condition, by_name in conditions.items():
                for name, n in by_name.items():
                    grid.rows.append([(category,), (condition,), (name,), (f"{n:,}",)])
            grid.ends.append(len(grid.rows))
        return grid


def collect(patterns: str, items: ItemSet, *, limit: int | None, seed: int) -> Collected:
    """The responses of all finished runs that match, to development items alone.

    A held-out response is not looked at: what labels are made from cannot test them.

    Args:
        patterns: globs of run directories of this benchmark, separated by spaces.
        items: which the runs must have been asked.
        limit: development items a category, drawn by the seed; all when None.
        seed: draws them.

    Raises:
        ConfigError: the patterns cannot be read.
        DataError: nothing matches, a run is damaged or was asked other items, or two runs have
            different answers of one respondent to the same question.
    """
    split = [item for item in items.items if item.split == "development"]
    drawn = limited(split, limit, seed, lambda item: item.category)
    wanted = {item.id: item for item in drawn}
    folders, notes = _runs(patterns)
    names: set[str] = set()
    digests: list[str] = []
    for folder, settings, manifest in folders:
        _check_items(folder, manifest, items)
        judges = (settings.get("judges") or {}).get("models", {}).values()
        names |= {settings["model"]["name"], *(judge["name"] for judge in judges)}
        digests.append(manifest["run"])
    taken: dict[tuple[str, str, str, int], tuple[Response, Path]] = {}
    for folder, settings, _ in folders:
        respondent = settings["model"]["name"]
        for one in _responses(folder, respondent, wanted, sorted(names)):
            key = (one.item, one.condition, one.respondent, one.epoch)
            first, where = taken.setdefault(key, (one, folder))
            if first.key != one.key:
                raise DataError(
                    f"{folder} and {where}: both hold an answer of {respondent} to {one.item} "
                    f"({one.condition}), and not the same. Narrow benchmark.responses to one."
                )
    kept = [one for one, _ in taken.values() if one.text.strip()]
    empty = Counter(one.respondent for one, _ in taken.values() if not one.text.strip())
    places = {id_: place for place, id_ in enumerate(wanted)}
    kept.sort(key=lambda one: (places[one.item], one.condition, one.respondent, one.epoch))
    if not kept:
        raise DataError(
            f"benchmark.responses: the runs that match {patterns} hold no response to a "
            "development item. Labels are made from these: run some without limit first."
        )
    notes += [
        f"{name}: {many(n, 'answer')} left out that say nothing." for name, n in empty.items()
    ]
    return Collected(
        responses=tuple(kept),
        prompts={
            (item.id, wording): item.prompt(wording)
            for item in drawn
            for wording in ("base", "steered")
        },
        runs=tuple(sorted(set(digests))),
        notes=(*notes, *_one_sided(kept)),
    )


def _runs(patterns: str) -> tuple[list[tuple[Path, dict[str, Any], dict[str, Any]]], list[str]]:
    """The finished runs of the main arm with their configuration and manifest; what to say."""
    try:
        folders = find(patterns)
    except ConfigError:
        raise ConfigError(
            f"benchmark.responses: {patterns!r} is no pattern. Try {EXAMPLE}."
        ) from None
    found, notes, others = [], [], 0
    for folder in folders:
        if folder.parent.name == "build":  # what this task wrote
            continue
        if not finished(folder):
            notes.append(f"not finished, left out: {folder}")
            continue
        settings = config_of(folder)
        try:
            study = (settings["task"]["name"], settings["benchmark"]["name"])
            if study == ("evaluate", "cross_lab") and settings["benchmark"]["arm"] == "main":
                found.append(
                    (folder, settings, json.loads((folder / "manifest.json").read_bytes()))
                )
            else:
                others += 1
        except (KeyError, TypeError) as error:
            raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None
    if others:
        notes.append(f"{many(others, 'run')} of other studies or arms left out.")
    if not found:
        told = f" {'; '.join(notes)}." if notes else ""
        raise DataError(
            f"benchmark.responses: no finished run of cross_lab matches {patterns}.{told} "
            f"Try {EXAMPLE}."
        )
    return found, notes


def _check_items(folder: Path, manifest: Mapping[str, Any], items: ItemSet) -> None:
    for name, sha256 in items.fingerprint.items():
        if manifest.get("data", {}).get(name) != sha256:
            raise DataError(
                f"{folder}: was not asked the items of this {name}. Narrow benchmark.responses, or "
                "give the items that its runs were asked: benchmark.path=FILE."
            )


def _responses(
    folder: Path, respondent: str, wanted: Mapping[str, Item], names: Sequence[str]
) -> Iterator[Response]:
    """The responses of a run to the items wanted; the text of one that says nothing is empty."""
    for line in read_jsonl(folder / "records.jsonl"):
        try:
            if (item := wanted.get(line["id"])) is None:
                continue
            made = Completion.from_json(line["response"])
            shown = masked("" if unjudged(made) else made.text, names)
            yield Response(
                item=item.id,
                category=item.category,
                condition=line["condition"],
                respondent=respondent,
                epoch=line["epoch"],
                text=shown.text,
                masked=shown.found,
                key=made.key,
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None


def _one_sided(responses: Sequence[Response]) -> Iterator[str]:
    """Names who answered in one condition alone: labels would come from half of what they do."""
    asked: dict[str, dict[str, set[str]]] = defaultdict(lambda: defaultdict(set))
    for one in responses:
        asked[one.respondent][one.item].add(one.condition)
    for name, items in sorted(asked.items()):
        if lone := sum(len(conditions) == 1 for conditions in items.values()):
            yield f"{name}: {many(lone, 'development item')} answered in one condition only."
