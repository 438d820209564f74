"""Triples as samples: a component to be judged, after the prompt that it belongs to."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.evidence.measure import EvidenceStudy
from trace.benchmarks.evidence.names import CONDITION_OF
from trace.benchmarks.evidence.taxonomy import ATTACKS, TAXONOMY, marked_class
from trace.benchmarks.evidence.triple import Component, Triple
from trace.benchmarks.released_files import data_files, read_file
from trace.benchmarks.strata import limited
from trace.errors import DataError
from trace.judging.labels import LabelSet, label_set
from trace.judging.taxonomy import Category
from trace.records import Gold, Sample, united
from trace.report.grid import many, one_line
from trace.stats.token_f1 import tokens

BUNDLED = Path(__file__).parent / "data" / "triples.jsonl"
TERMS = "CC BY-NC-SA 4.0, for safety-evaluation research only"
UNLISTED = "Unlisted"
"""The class of an unsafe component whose prompt has no category."""

_CLASSES = label_set("class", TAXONOMY)
_NO_ATTACK = Category(name="None", definition="No attack.")
_ATTACKS = LabelSet.of((_NO_ATTACK, *ATTACKS), _NO_ATTACK)


def load(settings: config.Evidence, *, part: Component, limit: int | None, seed: int) -> Dataset:
    """One component of every triple, in the order of the file.

    An unsafe component has the category of its prompt as its class. Where annotators gave a new
    category that is the class, and `UNLISTED` where they gave none (an unsafe answer to a safe
    prompt): neither is in the taxonomy. The triples of one prompt are a cluster. With the part
    `prompt` they ask the same question, each with its own gold label, which annotators gave seeing
    the whole triple.

    Args:
        settings: where the triples are; the bundled ones without a path.
        part: the component that is judged.
        limit: samples a stratum (gold label and language); all when None.
        seed: chooses the samples when `limit` does.

    Raises:
        DataError: a file is missing, empty or not what a frozen set is; with the line.
    """
    triples, fingerprint = read(None if settings.path is None else Path(settings.path).expanduser())
    samples = [sample_of(triple, part) for triple in triples.values()]
    licences = sorted({str(t.provenance["licence"]) for t in triples.values()
                       if t.provenance.get("licence")})  # fmt: skip
    return Dataset(
        samples=limited(samples, limit, seed, _stratum),
        taxonomy=TAXONOMY,
        fingerprint=fingerprint,
        licence=TERMS + (f"; sources: {'; '.join(licences)}" if licences else ""),
        notes=_notes(samples, part),
        rule_judges={"marked_words": lambda sample: marked_class(str(sample.view[part]))},
        study=EvidenceStudy(part),
    )


def read(path: Path | None) -> tuple[dict[str, Triple], dict[str, str]]:
    """The triples of a set by their id, and the sha256 of each of its files.

    Args:
        path: a frozen set or its folder; the bundled triples without one.

    Raises:
        DataError: a file is missing, empty or not what a frozen set is; with the line.
    """
    triples: dict[str, Triple] = {}
    fingerprint: dict[str, str] = {}
    for file in [BUNDLED] if path is None else data_files(path):
        raws, fingerprint[file.name] = read_file(file)
        for raw in raws:
            triple = Triple.from_json(raw.value, raw.place)
            if triple.id in triples:
                raise DataError(
                    f"{raw.place}: the same texts of the same respondent again (id {triple.id}). "
                    "Remove one of the two lines."
                )
            triples[triple.id] = triple
    return triples, fingerprint


def sample_of(triple: Triple, part: Component) -> Sample:
    """The sample that asks about one component of a triple.

    Its category and attack are spelled as the taxonomy does, which breakdowns go by, and None for
    `None`. Evidence that overlaps is one piece, so that TokenF1 wants no word twice.
    """
    label, category = triple.labels[part], _known(_CLASSES, triple.category)
    class_ = TAXONOMY.benign.name if label.safety == "safe" else category or UNLISTED
    listed = class_ in _CLASSES.labels
    return Sample(
        id=triple.id,
        gold=Gold(
            label=label.safety,
            domain=TAXONOMY.domain_of(class_) if listed else None,
            class_=class_,
        ),
        view={name: triple.text(name) for name in dict.fromkeys(("prompt", part))},
        cluster=triple.prompt_id,
        meta={
            "prompt_id": triple.prompt_id,
            "language": triple.language,
            "category": category,
            "attack": _known(_ATTACKS, triple.attack),
            "respondent": triple.respondent.name,
            "family": triple.respondent.family,
            "abliterated": triple.respondent.abliterated,
            "source": triple.provenance.get("source"),
            "chars": len(triple.text(part)),
            "evidence": [span.text for span in united(label.evidence, triple.text(part))],
        },
    )


def _known(names: LabelSet, name: str | None) -> str | None:
    """A name as the taxonomy spells it, a new one as it is; None for the one that means none."""
    read = names.read(name or "")
    return None if read == names.negative else read or name


def _stratum(sample: Sample) -> str:
    return f"{sample.gold.label}, {sample.meta['language']}"


def _notes(samples: Sequence[Sample], part: Component) -> tuple[str, ...]:
    gold = Counter(sample.gold.label for sample in samples)
    unlisted = Counter(s.gold.class_ for s in samples if s.gold.class_ not in _CLASSES.labels)
    labels: dict[str, set[str | None]] = {}
    for sample in samples:
        labels.setdefault(sample.cluster, set()).add(sample.gold.label)
    at_odds = sum(len(given) > 1 for given in labels.values())
    notes = [
        f"evidence, {CONDITION_OF[part]}: {many(len(samples), 'triple')} of "
        f"{many(len(labels), 'prompt')}, {gold['unsafe']} unsafe and {gold['safe']} safe."
    ]
    if unlisted:
        names = ", ".join(f"{n} {one_line(str(name))}" for name, n in sorted(unlisted.items()))
        notes.append(f"Unsafe, and in no category of the taxonomy: {names}.")
    if wordless := sum(s.gold.label == "unsafe" and not _has_words(s) for s in samples):
        notes.append(f"{wordless} unsafe without evidence, which TokenF1 leaves out.")
    if part == "prompt" and at_odds:
        notes.append(
            f"{many(at_odds, 'prompt')} with safe and unsafe gold labels in different triples: "
            "the commoner one counts for the distinct prompt, and a tie is left out there."
        )
    return tuple(notes)


def _has_words(sample: Sample) -> bool:
    return any(tokens(text, sample.meta["language"]) for text in sample.meta["evidence"])
