"""What became of the work that annotators were given."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from trace.annotation.assign import Assignment
from trace.annotation.item import Answer, Lost


def workload(
    assignments: Sequence[Assignment], answers: Sequence[Answer], lost: Mapping[str, Lost]
) -> dict[str, dict[str, int]]:
    """Annotator -> how much was `given`, and what became of it.

    `given` is the sum of `done`, `skipped`, `draft` (half done), `not_begun`, `deleted` and
    `no_consent`. `twice` are further answers, `problems` the done ones of which something cannot be
    used.

    Args:
        assignments: who was given what.
        answers: those that were taken.
        lost: annotator -> what was not; nothing for those who are not in it.

    Raises:
        ValueError: more came back than was given.
    """
    given: Counter[str] = Counter()
    for assignment in assignments:
        given[assignment.annotator] += len(assignment.items)
    standing = Counter((a.annotator, a.standing) for a in answers)
    troubled = Counter(a.annotator for a in answers if a.standing == "done" and a.problems)
    return {
        who: _balanced(
            who,
            n,
            {
                "done": standing[who, "done"],
                "skipped": standing[who, "skipped"],
                "draft": standing[who, "draft"],
                "deleted": lost.get(who, Lost()).deleted,
                "no_consent": lost.get(who, Lost()).no_consent,
            },
        )
        | {"twice": lost.get(who, Lost()).twice, "problems": troubled[who]}
        for who, n in given.items()
    }


def _balanced(who: str, given: int, parts: Mapping[str, int]) -> dict[str, int]:
    left = given - sum(parts.values())
    if left < 0:
        raise ValueError(f"{who} was given {given}, and {dict(parts)} came back")
    return {"given": given, **parts, "not_begun": left}


def problems(answers: Sequence[Answer]) -> dict[str, dict[str, int]]:
    """Question or passage -> problem -> number of done answers that have it, by frequency."""
    counts = Counter(
        (where, what)
        for answer in answers
        if answer.standing == "done"
        for where, what in answer.problems.items()
    )
    found: dict[str, dict[str, int]] = {}
    for (where, what), n in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        found.setdefault(where, {})[what] = n
    return dict(sorted(found.items()))
