"""The Data2txt part of a released copy of RAGTruth as samples: the data, and a text about them."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import TypeVar

from trace import config
from trace.benchmarks.base import Dataset
from trace.benchmarks.ragtruth.taxonomy import RELEASED, TAXONOMY
from trace.benchmarks.released_files import RawRecord, read_file
from trace.benchmarks.strata import limited
from trace.errors import DataError
from trace.records import Gold, Json, Sample, digest

SOURCES, RESPONSES = "source_info.jsonl", "response.jsonl"
TASK_TYPE, SPLITS = "Data2txt", ("train", "test")
TASK_TYPES = (TASK_TYPE, "QA", "Summary")
LICENCE = "MIT (RAGTruth, arXiv 2401.00396)"

_KINDS: dict[type, str] = {str: "a text", dict: "an object", list: "a list"}
_CLASSES = (TAXONOMY.benign.name, *RELEASED.values())

T = TypeVar("T")


def load(settings: config.RagTruth, *, limit: int | None, seed: int) -> Dataset:
    """The good Data2txt answers of one split, by class and then id.

    An answer with a marked span is unsafe, whatever the span's notes (`due_to_null`,
    `implicit_true`) say: those stand in `meta`. Its class is that of its gravest span. The answers
    about one business are a cluster. Judges see the data and the text, not the prompt. Answers
    without a text are left out, like those of bad quality, and counted in the note.

    Args:
        settings: the folder and the split.
        limit: samples a class, faithful ones included; all when None.
        seed: chooses the samples when `limit` does.

    Raises:
        DataError: a file is missing or not as released; with the line and the field.
    """
    folder = Path(settings.path).expanduser()
    sources, of_sources = _records(folder, SOURCES)
    responses, of_responses = _records(folder, RESPONSES)
    businesses = _businesses(sources)
    samples: dict[str, Sample] = {}
    left_out: Counter[str] = Counter()
    for raw in responses:
        source = _about(raw, businesses)
        if source is None or _split(raw) != settings.split:
            continue
        quality = _field(raw, "quality", str)
        if quality != "good" or not _field(raw, "response", str).strip():
            left_out["empty" if quality == "good" else quality] += 1
            continue
        sample = _sample(raw, source)
        if sample.id in samples:
            raise DataError(
                f"{raw.place}: the same text by the same model about source_id "
                f"{sample.cluster} again. Remove one of the two lines."
            )
        samples[sample.id] = sample
    if not samples:
        raise DataError(
            f"{folder / RESPONSES}: holds no good {TASK_TYPE} answer of the split "
            f"{settings.split}. Try benchmark.split={_other(settings.split)}."
        )
    ordered = sorted(samples.values(), key=lambda s: (_CLASSES.index(_class_of(s)), s.id))
    return Dataset(
        samples=limited(ordered, limit, seed, _class_of),
        taxonomy=TAXONOMY,
        fingerprint={SOURCES: of_sources, RESPONSES: of_responses},
        licence=LICENCE,
        notes=(_note(ordered, left_out, settings.split),),
        capability="balanced_f1",
    )


def _records(folder: Path, name: str) -> tuple[list[RawRecord], str]:
    if not (folder / name).is_file():
        raise DataError(
            f"benchmark.path: {folder} has no {name}. Give the folder of RAGTruth's dataset, "
            f"which holds {SOURCES} and {RESPONSES}."
        )
    return read_file(folder / name)


def _businesses(sources: Sequence[RawRecord]) -> dict[str, RawRecord | None]:
    """Every source by its id; None for those of the other tasks."""
    found: dict[str, RawRecord | None] = {}
    for raw in sources:
        id_ = _field(raw, "source_id", str)
        if id_ in found:
            raise DataError(f"{raw.place}: source_id: {id_} stands twice. Remove one of the two.")
        wanted = _task_type(raw) == TASK_TYPE
        if wanted:
            _field(raw, "source_info", dict)
        found[id_] = raw if wanted else None
    if not any(found.values()):
        raise DataError(f"{sources[0].place}: neither this nor any other line has the task_type "
                        f"{TASK_TYPE}. Give the whole file.")  # fmt: skip
    return found


def _about(raw: RawRecord, businesses: Mapping[str, RawRecord | None]) -> RawRecord | None:
    id_ = _source_id(raw)
    if id_ not in businesses:
        raise DataError(
            f"{raw.place}: source_id: {id_} is not in {SOURCES}. Take both files from one release."
        )
    return businesses[id_]


def _sample(raw: RawRecord, source: RawRecord) -> Sample:
    id_, model = _source_id(raw), _field(raw, "model", str)
    data, text = source.value["source_info"], _field(raw, "response", str)
    spans = _spans(raw)
    kinds = {
        RELEASED[_chosen(span.get("label_type"), RELEASED, f"{raw.place}: labels: label_type")]
        for span in spans
    }
    class_ = min(kinds, key=_CLASSES.index, default=TAXONOMY.benign.name)
    return Sample(
        id=digest([data, model, text])[:16],
        gold=Gold(
            label="unsafe" if kinds else "safe", domain=TAXONOMY.domain_of(class_), class_=class_
        ),
        view={"data": data, "text": text},
        cluster=id_,
        meta={
            "response": raw.value.get("id"),
            "model": model,
            "temperature": raw.value.get("temperature"),
            "source": source.value.get("source"),
            "chars": len(text),
            "data_chars": len(json.dumps(data, ensure_ascii=False)),
            "spans": len(spans),
            "due_to_null": sum(span.get("due_to_null") is True for span in spans),
            "implicit_true": sum(span.get("implicit_true") is True for span in spans),
        },
    )


def _spans(raw: RawRecord) -> list[dict[str, Json]]:
    spans = _field(raw, "labels", list)
    if not all(isinstance(span, dict) for span in spans):
        raise DataError(f"{raw.place}: labels: each should be an object with a label_type.")
    return spans


def _task_type(raw: RawRecord) -> str:
    """As RAGTruth spells it, whatever the case in the file."""
    given = _field(raw, "task_type", str)
    spelled = {name.casefold(): name for name in TASK_TYPES}.get(given.casefold(), given)
    return _chosen(spelled, TASK_TYPES, f"{raw.place}: task_type")


def _split(raw: RawRecord) -> str:
    return _chosen(_field(raw, "split", str), SPLITS, f"{raw.place}: split")


def _source_id(raw: RawRecord) -> str:
    return _field(raw, "source_id", str)


def _field(raw: RawRecord, name: str, kind: type[T]) -> T:
    if name not in raw.value:
        raise DataError(f"{raw.place}: has no {name}. Give the file as RAGTruth releases it.")
    value = raw.value[name]
    if not isinstance(value, kind):
        raise DataError(f"{raw.place}: {name}: {value!r:.40} should be {_KINDS[kind]}.")
    return value


def _chosen(value: Json, choices: Collection[str], at: str) -> str:
    if not isinstance(value, str) or value not in choices:
        raise DataError(f"{at}: {value!r:.40} should be one of {', '.join(choices)}.")
    return value


def _class_of(sample: Sample) -> str:
    return sample.gold.class_ or TAXONOMY.benign.name


def _other(split: str) -> str:
    return next(name for name in SPLITS if name != split)


def _note(samples: Sequence[Sample], left_out: Counter[str], split: str) -> str:
    kinds = Counter(map(_class_of, samples))
    counts = ", ".join(f"{kinds[name]} {name}" for name in _CLASSES if kinds[name])
    without = ", ".join(f"{n} {quality}" for quality, n in sorted(left_out.items()))
    businesses = len({s.cluster for s in samples})
    return (
        f"RAGTruth {TASK_TYPE}, {split}: {len(samples)} answer{'s' * (len(samples) != 1)} about "
        f"{businesses} business{'es' * (businesses != 1)} ({counts})"
        + (f"; left out: {without}." if without else ".")
    )
