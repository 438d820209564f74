"""What people said of the audit's documents, in the place of the auditor; and what that leaves."""

from __future__ import annotations

import hashlib
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trace.annotation.decide import Decision
from trace.benchmarks.rag_safety.builder.auditing import QUESTION, Answerability, Audited
from trace.benchmarks.rag_safety.builder.selection import Candidate
from trace.errors import DataError
from trace.records import Json
from trace.tracking.files import numbered_jsonl

FILE = "decisions.jsonl"
_KEY = "benchmark.builder.reviewed"


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviews:
    """What people decided, by the id of a pair; and the sha256 of the file."""

    decisions: Mapping[str, Decision] = field(default_factory=dict)
    fingerprint: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Reviewed:
    """A pair with what holds of it: what people decided, else what the auditor found."""

    audited: Audited
    human: Decision | None = None

    @property
    def answer(self) -> Answerability | None:
        """None while it is undecided."""
        if self.human is not None and self.human.label is not None:
            return self.human.label.value  # type: ignore[return-value]  # as it was read
        return self.audited.found.answer

    @property
    def by_people(self) -> bool:
        """Whether people decided it."""
        return self.human is not None and self.human.label is not None

    @property
    def fault(self) -> str | None:
        """Why its question is left out; None if the document is what it is meant to be."""
        pair = self.audited.pair
        if self.answer is None:
            return f"undecided about {_NAMES[pair.role]}"
        if self.answer == pair.due:
            return None
        said = "answers" if self.answer == "answered" else "does not answer"
        return f"{_NAMES[pair.role]} {said} it"

    def to_json(self) -> dict[str, Json]:
        """One line of reviewed.jsonl."""
        pair, human = self.audited.pair, self.human
        by = "people" if self.by_people else "auditor"
        return {
            "id": pair.id,
            "question_id": pair.question.id,
            "document_id": pair.document.id,
            "role": pair.role,
            "answerability": self.answer,
            "decided_by": None if self.answer is None else by,
            "auditor": self.audited.found.answer,
            **({"human": {"by": list(human.by), "at": human.at, "how": human.how}}
               if human is not None and self.by_people else {}),
        }  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """The questions whose documents are all what they are meant to be, and why others are not."""

    kept: tuple[Candidate, ...]
    left_out: Mapping[str, int]


_NAMES = {
    "oracle": "the oracle",
    "on_topic": "a document on the topic",
    "random": "a random document",
}


def read(path: Path) -> Reviews:
    """The decisions of an import of `annotate.form=rag_document`.

    Args:
        path: its decisions.jsonl, or its folder.

    Raises:
        DataError: it is no such file.
    """
    file = path / FILE if path.is_dir() else path
    decisions: dict[str, Decision] = {}
    for number, line in numbered_jsonl(file):
        try:
            one = Decision.from_json(line)
            right = isinstance(one.item, str)
            right &= one.label is None or one.label.value in ("answered", "not_answered")
        except (TypeError, KeyError, AttributeError, ValueError):
            right = False
        if not right or one.question != QUESTION:
            raise DataError(
                f"{_KEY}: {file}, line {number}: is no decision on whether a document answers. "
                f"Give the {FILE} that task=annotate annotate.form=rag_document wrote with "
                "annotate.action=import, or its folder."
            )
        known = decisions.setdefault(one.item, one)
        if known != one:
            raise DataError(
                f"{_KEY}: {file}, line {number}: {one.item} is decided otherwise in a line above. "
                "Give an import as it was written, or remove one of the lines."
            )
    if not decisions:
        raise DataError(f"{_KEY}: {file} holds no decision.")
    sha256 = hashlib.sha256(file.read_bytes()).hexdigest()
    return Reviews(decisions=decisions, fingerprint={f"reviewed/{file.name}": sha256})


def review(audited: Sequence[Audited], reviews: Reviews) -> list[Reviewed]:
    """Puts what people decided beside each pair.

    Raises:
        DataError: none of the decisions is about any of the pairs.
    """
    known = {one.pair.id for one in audited}
    if reviews.decisions and not known & reviews.decisions.keys():
        raise DataError(
            f"{_KEY}: none of its {len(reviews.decisions):,} decisions is about a document of this "
            "build. Give the import of this build's queue.jsonl or audit.jsonl."
        )
    return [Reviewed(audited=one, human=reviews.decisions.get(one.pair.id)) for one in audited]


def kept(candidates: Sequence[Candidate], reviewed: Sequence[Reviewed]) -> Kept:
    """The questions of which nothing is undecided or contradicts its place.

    A question is counted once: by what is wrong with the first of its documents that is not right.
    What contradicts counts before what is undecided.
    """
    faults: dict[str, list[str]] = defaultdict(list)
    for one in reviewed:
        if one.fault is not None:
            faults[one.audited.pair.question.id].append(one.fault)
    left_out: Counter[str] = Counter()
    for found in faults.values():
        left_out[min(found, key=lambda why: why.startswith("undecided"))] += 1
    return Kept(
        kept=tuple(one for one in candidates if one.id not in faults),
        left_out=dict(sorted(left_out.items())),
    )
