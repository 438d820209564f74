"""The spot check as a form: does a label stand, the original beside the record?"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from difflib import unified_diff
from functools import partial
from pathlib import Path

from trace import config
from trace.annotation.decide import Decision
from trace.annotation.form import Form, Option, Passage, Question
from trace.annotation.item import Answer, Item
from trace.annotation.label import silence
from trace.annotation.study import HumanStudy, Merged
from trace.benchmarks.tracesafe.audit import reviews, spotcheck
from trace.benchmarks.tracesafe.audit.collection import cluster_of, given
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.samples import LICENCE
from trace.benchmarks.tracesafe.spotcheck_page import compared
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.errors import ConfigError, DataError
from trace.records import digest

NAME = "spotcheck"
QUESTION = "verdict"
_DEFINITIONS = {c.name: c.definition for c in (TAXONOMY.benign, *TAXONOMY.classes)}
_HINTS = {
    "agree": "What was changed is what the class describes, and the rest of the trajectory does "
    "not contradict it; a benign record shows no risk.",
    "disagree": "The class does not describe it, or another one does. Say in the comment why.",
    "unsure": "What is shown does not tell. Say in the comment what is missing.",
}
FORM = Form(
    study="tracesafe",
    name=NAME,
    title="Spot check of a label",
    language="en",
    passages=(
        Passage(name="class", title="The class, and what it means"),
        Passage(name="original", title="The original"),
        Passage(name="changed", title="The record, as it was changed"),
        Passage(
            name="difference",
            title="What differs: lines taken away (-) and added (+)",
            questions=(
                Question(
                    name=QUESTION,
                    title="Does the label stand: is this record one of that class?",
                    options=tuple(
                        Option(value=verdict, shown=verdict.capitalize(), hint=_HINTS[verdict])
                        for verdict in reviews.VERDICTS
                    ),
                ),
            ),
        ),
    ),
    taxonomy=digest(sorted(_DEFINITIONS.items())),
)


def study(settings: config.TraceSafe, *, seed: int) -> HumanStudy:
    """The records of a set that people spot-check: ten a class, whatever the seed.

    Raises:
        ConfigError: no set is given.
        DataError: it cannot be read.
    """
    if settings.path is None:
        raise ConfigError(
            "benchmark.path: no value. People check the labels of a set that was built: "
            "benchmark.path=outputs/runs/tracesafe/build/HASH."
        )
    path = Path(settings.path).expanduser()
    found = given(path, limit=None, seed=seed)
    items = tuple(item(record) for record in spotcheck.chosen(found.records))
    return HumanStudy(
        name="tracesafe",
        forms={NAME: FORM},
        items=items,
        fingerprint=found.fingerprint,
        merge=partial(merged, frozenset(one.id for one in items), path),
        terms=LICENCE,
        notes=found.notes,
    )


def item(record: MutationRecord) -> Item:
    """A record beside its original. The class is shown: whether it stands is the question."""
    name = record.class_.name
    pairs = list(compared(record))
    return Item(
        id=record.id,
        form=NAME,
        texts={
            "class": f"{name}: {_DEFINITIONS[name]}",
            "original": _listed((what, old) for what, old, _ in pairs),
            "changed": _listed((what, new) for what, _, new in pairs),
            "difference": _difference(pairs) or "(nothing)",
        },
        labels={},  # that it stands is what the set says of every record
        stratum=name,
        cluster=cluster_of(record),
    )


def merged(
    known: frozenset[str], path: Path, answers: Sequence[Answer], decisions: Sequence[Decision]
) -> Merged:
    """spotcheck.csv, which `task=audit stage=spotcheck` reads: a row a verdict, by pseudonym.

    Verdicts are not united: the audit itself counts records on which reviewers differ. Those of a
    second pass stand beside the others; what it settled is in decisions.jsonl.

    Raises:
        DataError: an answer is about no record of the set.
    """
    if unknown := {answer.item for answer in answers} - known:
        raise DataError(
            f"benchmark.path: {len(unknown)} of the items are no records of this set, "
            f"{min(unknown)} for one. Give the set that was exported."
        )
    rows = [
        (answer.item, answer.values[QUESTION], answer.annotator, answer.comment)
        for answer in answers
        if silence(answer, QUESTION) is None
    ]
    return Merged(
        files={reviews.FILE: [_row(row) for row in (reviews.COLUMNS, *rows)]},
        counts={"verdicts": len(rows)},
        notes=(
            f"Copy {reviews.FILE} into {path if path.is_dir() else path.parent}, or add its rows "
            f"to the one there; then type task=audit stage=spotcheck benchmark.path={path}",
        ),
    )


def _listed(pieces: Iterable[tuple[str, str]]) -> str:
    return "\n\n".join(f"[{what}]\n{text or '(not there)'}" for what, text in pieces)


def _difference(pairs: Iterable[tuple[str, str, str]]) -> str:
    """The lines that only one side has, below the piece in which they stand."""
    found = []
    for what, old, new in pairs:
        lines = list(unified_diff(old.splitlines(), new.splitlines(), n=0, lineterm=""))[2:]
        if changes := [line for line in lines if not line.startswith("@@")]:
            found.append("\n".join([f"[{what}]", *changes]))
    return "\n\n".join(found)


def _row(cells: Sequence[str]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="").writerow(cells)
    return buffer.getvalue()
