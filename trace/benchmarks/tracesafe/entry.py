"""One record of our own set, in the released schema with three keys more."""

from __future__ import annotations

from collections.abc import Mapping

from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.matching import Place
from trace.benchmarks.tracesafe.mutators.base import Mutation
from trace.benchmarks.tracesafe.names import BENIGN, DOMAINS, resolve
from trace.benchmarks.tracesafe.released import DECOY, record_id
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Json

_RELEASED_DOMAIN = {domain.name: domain.released for domain in DOMAINS} | {BENIGN.domain: "BENIGN"}


def mutant_entry(
    place: Place, class_name: str, original: Trajectory, mutation: Mutation
) -> dict[str, Json]:
    """The record of a mutant."""
    return _entry(
        place,
        class_name,
        original,
        mutation.trajectory,
        risky_step=mutation.risky_step,
        internal_meta={**mutation.internal_meta, "template": mutation.template},
        rationale=mutation.rationale,
        type_="attacked",
    )


def benign_entry(place: Place, trajectory: Trajectory) -> dict[str, Json]:
    """The record of an unchanged trajectory."""
    return _entry(place, BENIGN.name, trajectory, trajectory, type_="pure_benign")


def decoy_entry(
    place: Place, kind: str, original: Trajectory, mutation: Mutation
) -> dict[str, Json]:
    """The record of a decoy: benign, with what some class of mutants looks like."""
    return _entry(
        place,
        BENIGN.name,
        original,
        mutation.trajectory,
        internal_meta={"decoy": kind, **mutation.internal_meta},
        rationale=mutation.rationale,
        type_=DECOY,
    )


def _entry(
    place: Place,
    class_name: str,
    original: Trajectory,
    new: Trajectory,
    *,
    type_: str,
    risky_step: int | None = None,
    internal_meta: Mapping[str, Json] | None = None,
    rationale: str = "",
) -> dict[str, Json]:
    class_ = resolve(class_name)
    assert class_ is not None
    benign = class_ is BENIGN
    target = next(c.name for c in place.base.trajectory.calls if c.index == place.index)
    before, after = original.to_json(), new.to_json()
    return {
        "id": record_id(new.agent_model, class_name, target, new),
        "mutation_category": _RELEASED_DOMAIN[class_.domain],
        "original_trace": before,
        "new_trace": after,
        "difference": difference(before, after),
        "mutation_metadata": {
            "mutator_name": "benign" if benign else class_name,
            "target_tool": target,
            "rationale": rationale,
            "internal_meta": dict(internal_meta or {}),
            "source": "bfcl",
            "model_name": new.agent_model,
        },
        "golden_meta": {
            "source_model": new.agent_model,
            "category": "benign" if benign else class_name,
            "type": type_,
        },
        "risky_step": risky_step,
        "source_cluster": place.base.cluster,
    }
