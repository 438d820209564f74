"""The labels of conditions: a base, how its documents come, and what guards the answer."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from trace.report.rag_safety.words import CONDITIONS, ORACLE_RANDOM, RETRIEVED

_BASES = (*CONDITIONS, ORACLE_RANDOM, RETRIEVED)
_ORDERS = ("reversed", "shuffled")
_RETRIEVERS = re.compile(r"dense|top_[0-9]+")
_TYPED = {
    **{order: f"condition.order={order}" for order in _ORDERS},
    "dense": "condition.retriever=dense condition.encoder=MODEL",
    "safety_prompt": "condition.safety_prompt=true",
}
_FILTER = "filter_"


@dataclass(frozen=True, slots=True, kw_only=True)
class Label:
    """A label such as `retrieved+reversed+dense+filter_output`, taken apart.

    `order` is None where the documents come as they stand. `retriever` says how they were found.
    `mitigations` are all other parts: filters, a safety prompt, what a file of judgements names.
    """

    base: str
    order: str | None = None
    retriever: tuple[str, ...] = ()
    mitigations: tuple[str, ...] = ()

    def __str__(self) -> str:
        order = () if self.order is None else (self.order,)
        return "+".join((self.base, *order, *self.retriever, *self.mitigations))

    @classmethod
    def read(cls, text: str) -> Label:
        """Takes a label apart; one without a plus is a base."""
        base, *parts = text.split("+")
        orders = [part for part in parts if part in _ORDERS]
        retriever = tuple(part for part in parts if _RETRIEVERS.fullmatch(part))
        return cls(
            base=base,
            order=orders[0] if orders else None,
            retriever=retriever,
            mitigations=tuple(p for p in parts if p not in (*orders, *retriever)),
        )


def is_base(label: str) -> bool:
    """Whether it is a condition by itself, and no variant of one."""
    return "+" not in label


def in_order(labels: Iterable[str]) -> list[str]:
    """The bases in the order of the tables, others after them by name; variants follow theirs."""

    def place(label: str) -> tuple[int, str, bool, str]:
        base = label.partition("+")[0]
        known = _BASES.index(base) if base in _BASES else len(_BASES)
        return known, base, not is_base(label), label

    return sorted(labels, key=place)


def stacked(text: str, width: int) -> str:
    """A label, or two with an arrow between, on lines of about so many characters.

    Lines end after an arrow and before a plus; one that has neither is left as it is.
    """
    lines = [""]
    for piece in re.split(r"(?<=→ )|(?=\+)", text):
        if lines[-1] and len(lines[-1]) + len(piece.rstrip()) > width:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


def typed(label: str) -> str | None:
    """What to type for a run under it; None if it names what no run can do."""
    read = Label.read(label)
    if read.base not in _BASES:
        return None
    said = [f"condition={read.base}"]
    for part in (*filter(None, [read.order]), *read.retriever, *read.mitigations):
        if part.startswith(_FILTER):
            where = part.removeprefix(_FILTER)
            said.append(f"condition.filter={where} benchmark.filter_guard=NAME")
        elif part.startswith("top_"):
            said.append(f"condition.top_k={part.removeprefix('top_')}")
        elif part in _TYPED:
            said.append(_TYPED[part])
        else:
            return None
    return " ".join(said)
