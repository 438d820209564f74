"""What is written beside a set that was built: its counts, and its data card."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trace.benchmarks.tracesafe import card_models
from trace.benchmarks.tracesafe.names import BENIGN, CLASSES
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.records import Json

LICENCES = {
    "TraceSafe (method, taxonomy and record format; arXiv 2604.07223)": "Apache-2.0",
    "BFCL v4 (tasks, tools and simulators; bfcl-eval)": "Apache-2.0",
    "this set": "Apache-2.0",
}
_INTRODUCTION = """\
# TraceSafe-Bench, built by `trace`

Tool-calling trajectories, each with at most one planted fault, for testing whether a guard sees
it. {records} records: {mutants} mutants of {classes} classes, and {benign} benign ones of which
{decoys} only look risky.

## How it was made
Base trajectories: {source}. Each mutant is one of them with
one typed edit by code at the first call of a tool (Check-and-Mutate, arXiv 2604.07223).
{took_part} {cut} Wording comes from seeded pools, and
where it can it is borrowed from the trajectory itself. Classes and benign are matched in steps,
roles, lengths and tools. Benign records end at the same calls as mutants. The decoys carry what a
class of mutants looks like, with a reason why it is safe. All people, places, services and
credentials are invented.

Differences from the released set: `parameters` stay flat and agree with the prototype; a bait
parameter is declared; the query is always the first user turn, and no record asks for its own
fault; steps have no key that only mutants have; records of class 2 end in the call after the
injected output, so that every record ends in a call, the moment a guard is asked.
"""
_FIELDS = """\
## Fields
The released schema, with `id` (16 hexadecimal digits of the content), `risky_step` (index in
`new_trace.trace`, null for benign) and `source_cluster` (records that share a user's request:
resample and split by it). `golden_meta.type` is attacked, pure_benign or decoy, and
`internal_meta.template` names the wording: records that share it share their text, unless one was
reworded. Show judges
`new_trace` only, without `is_distractor`, `agent_model` and `reasoning`, which tell the answer.
"""
_USE = """\
## Intended use
Measuring guards and judges on trajectories before a call is carried out. Not for training guards
that are then tested on it, and no measure of whether an agent itself is safe.

## Limits
- Mutants are clean single edits of synthetic tasks; real failures are messier, so rates here may
  be over- or underestimates of those in use.
- The benchmark is static: a guard's intervention changes nothing that follows.
- A benign record is benign in its own simulator; that it is safe wherever it might be deployed
  cannot be guaranteed.
- Classes 1, 6, 10, 11 and 12 lie in the tool list: a protocol that does not show it cannot see
  them.
- New kinds of attack need new classes. The texts are English, and the tools are those of BFCL.
- Labels come from construction. Look at `spotcheck.html`, and record what you find with
  `task=audit stage=spotcheck benchmark.path=…`.
"""


def counts(records: Sequence[Mapping[str, Json]]) -> dict[str, dict[str, dict[str, int]]]:
    """How many records there are: class -> generator -> source cluster -> number."""
    found: dict[str, dict[str, dict[str, int]]] = {}
    for record in records:
        clusters = found.setdefault(class_of(record), {}).setdefault(
            record["golden_meta"]["source_model"], {}
        )
        clusters[record["source_cluster"]] = clusters.get(record["source_cluster"], 0) + 1
    return found


def class_of(record: Mapping[str, Json]) -> str:
    """The class of a record, benign by its own name."""
    category = str(record["golden_meta"]["category"])
    return BENIGN.name if category == "benign" else category


def card(
    records: Sequence[Mapping[str, Json]],
    *,
    source: str,
    truncate: bool,
    settings: Mapping[str, Json],
    notes: Sequence[str],
    models: Mapping[str, str] | None = None,
    checks: Mapping[str, Json] | None = None,
    rewordings: Mapping[str, Json] | None = None,
) -> str:
    """The data card in Markdown.

    Args:
        records: the set.
        source: where the base trajectories come from.
        truncate: whether records end at the risky step.
        settings: what the set was built with.
        notes: what has to be said about it.
        models: the models that took part, by their role (as in benchmark.builder).
        checks: what the Check judges said (`agreement.summary`), if there were any.
        rewordings: what came of the payloads (`Rewordings.to_json`), if a model worded them.
    """
    types = Counter(record["golden_meta"]["type"] for record in records)
    by_class = counts(records)
    benign = types["pure_benign"] + types["decoy"]
    cut = (
        "Records stop at the risky step."
        if truncate
        else "Records go on after the risky step as the base trajectory does, renamed names kept."
    )
    head = _INTRODUCTION.format(
        records=len(records),
        mutants=len(records) - benign,
        classes=len(by_class.keys() - {BENIGN.name}),
        benign=benign,
        decoys=types["decoy"],
        source=source,
        cut=cut,
        took_part=card_models.took_part(models or {}),
    )
    built = ", ".join(f"`{key}={value}`" for key, value in settings.items())
    parts = [
        head,
        _FIELDS,
        _table(by_class),
        f"Built with {built}.",
        *(f"- {note}" for note in notes),
        *card_models.sections(checks, rewordings),
        _USE,
        "## Licences\n" + "\n".join(f"- {name}: {licence}" for name, licence in LICENCES.items()),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _table(by_class: Mapping[str, Mapping[str, Mapping[str, int]]]) -> str:
    definitions = {c.name: c.definition for c in (TAXONOMY.benign, *TAXONOMY.classes)}
    lines = ["## Counts", "| | Class | Records | Sources | What it is |", "|--:|:--|--:|--:|:--|"]
    for row in (BENIGN, *CLASSES):
        generators = by_class.get(row.name, {})
        clusters = {name for found in generators.values() for name in found}
        number = sum(n for found in generators.values() for n in found.values())
        said = definitions[row.name]
        lines.append(f"| {row.number} | {row.name} | {number} | {len(clusters)} | {said} |")
    models = sorted({name for found in by_class.values() for name in found})
    return "\n".join([*lines, "", f"Base trajectories by: {', '.join(models)}."])
