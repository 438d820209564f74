"""A guard with its runs, one a component of a triple."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from trace.report.compare.judged import How
from trace.report.detection import measure_detection
from trace.report.entry import Metric, entry, from_rate
from trace.report.runs import Observation, Run
from trace.stats.rates import rate

BENCHMARK = "evidence"
COMPONENTS = ("prompt", "trace", "response")
"""The conditions in the order of the pipeline; others follow by name."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Guard:
    """A judge under one protocol.

    `runs` maps a component to the run on it, and `detected` to its numbers; a component that it was
    not run on is in neither.
    """

    name: str
    runs: Mapping[str, Run]
    detected: Mapping[str, Mapping[str, Metric]]

    @property
    def run(self) -> Run:
        """One of its runs: what is said of the model is the same in all."""
        return next(iter(self.runs.values()))


def guards_of(runs: Iterable[Run], how: How) -> list[Guard]:
    """The runs by guard, those of a family together and by size.

    A name that was asked under several protocols has them behind it.
    """
    groups: dict[tuple[str, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.name, run.protocol), []).append(run)
    times = Counter(name for name, _ in groups)
    found = []
    for (name, protocol), own in groups.items():
        by_component = {run.condition: run for run in own}
        order = {component: by_component[component] for component in _ordered(by_component)}
        found.append(
            Guard(
                name=f"{name}, {protocol}" if times[name] > 1 else name,
                runs=order,
                detected={component: detect(run, how) for component, run in order.items()},
            )
        )
    return sorted(found, key=_place)


def _place(guard: Guard) -> tuple[str, float, str]:
    run = guard.run
    return ((run.family or run.model).casefold(), run.parameters or 0.0, guard.name)


def _ordered(components: Iterable[str]) -> list[str]:
    last = len(COMPONENTS)
    return sorted(components, key=lambda c: (COMPONENTS.index(c) if c in COMPONENTS else last, c))


def components_of(guards: Iterable[Guard]) -> list[str]:
    """The components that any guard was run on, in the order of the pipeline."""
    return _ordered({component for guard in guards for component in guard.runs})


def by_component(
    guards: Sequence[Guard], value: Callable[[Guard, str], T | None]
) -> dict[str, dict[str, T]]:
    """Component -> guard -> `value`; neither what is None nor a component without any."""
    found: dict[str, dict[str, T]] = {}
    for component in components_of(guards):
        cells = {g.name: value(g, component) for g in guards if component in g.runs}
        if defined := {name: cell for name, cell in cells.items() if cell is not None}:
            found[component] = defined
    return found


def names_in(cells: Mapping[str, Mapping[str, object]]) -> list[str]:
    """The guards of any component, in the order of the fullest one."""
    fullest_first = sorted(cells.values(), key=len, reverse=True)
    return list(dict.fromkeys(name for of in fullest_first for name in of))


def detect(
    run: Run, how: How, keep: Callable[[Observation], bool] = lambda _: True
) -> dict[str, Metric]:
    """FPR, FNR, precision, recall, F1 and coverage over the samples that are kept."""
    judged = [o.judged() for o in run.once if keep(o)]
    found = measure_detection(
        judged, run.negative, unscored=how.unscored, draws=how.draws, seed=how.seed
    )
    ok = sum(j.ok for j in judged)
    coverage = rate(ok, len(judged) - ok, 0, unscored_as=how.unscored)
    return dict(found) | {
        "coverage": from_rate(coverage) | {"n_unscored": len(judged) - ok, "bounds": None}
    }


def own_metric(run: Run, name: str) -> Metric:
    """A metric as the run wrote it."""
    reason = f"the run wrote no {name}: run it anew"
    return run.metrics.get(name) or entry(None, n=0, n_unscored=0, reason=reason)


def without(guards: Iterable[Guard], why: Callable[[Guard, str], str | None]) -> tuple[str, ...]:
    """A line a reason: which guards a section leaves out, and of which component.

    Args:
        guards: those that it was given.
        why: the reason of a guard and a component; None if it is in.
    """
    reasons: dict[str, dict[str, list[str]]] = {}
    for guard in guards:
        for component in guard.runs:
            if (reason := why(guard, component)) is not None:
                reasons.setdefault(reason, {}).setdefault(guard.name, []).append(component)
    return tuple(
        "; ".join(f"{name} ({', '.join(parts)})" for name, parts in names.items()) + f": {reason}"
        for reason, names in reasons.items()
    )
