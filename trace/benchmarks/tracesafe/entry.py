"""One record of our own set, in the released schema with three keys more."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from trace.benchmarks.tracesafe.difference import difference
from trace.benchmarks.tracesafe.matching import Place
from trace.benchmarks.tracesafe.mutators.base import Mutation
from trace.benchmarks.tracesafe.names import BENIGN, DOMAINS, resolve
from trace.benchmarks.tracesafe.released import DECOY, record_id
from trace.benchmarks.tracesafe.trajectory import Trajectory
from trace.records import Json

_RELEASED_DOMAIN = {domain.name: domain.released for domain in DOMAINS} | {BENIGN.domain: "BENIGN"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Draft:
    """A record before it is written: a mutant, a decoy, or without a `mutation` plain benign.

    `name` is that of the class, of the kind of decoy, or of benign.
    """

    place: Place
    name: str
    original: Trajectory
    mutation: Mutation | None = None
    decoy: bool = False


def entry(draft: Draft) -> dict[str, Json]:
    """The record."""
    mutation = draft.mutation
    if mutation is None:
        return _entry(draft, BENIGN.name, type_="pure_benign")
    if draft.decoy:
        meta = {"decoy": draft.name, **mutation.internal_meta}
        return _entry(draft, BENIGN.name, internal_meta=meta, type_=DECOY)
    return _entry(
        draft,
        draft.name,
        risky_step=mutation.risky_step,
        internal_meta={**mutation.internal_meta, "template": mutation.template},
        type_="attacked",
    )


def _entry(
    draft: Draft,
    class_name: str,
    *,
    type_: str,
    risky_step: int | None = None,
    internal_meta: Mapping[str, Json] | None = None,
) -> dict[str, Json]:
    class_ = resolve(class_name)
    assert class_ is not None
    benign, place, mutation = class_ is BENIGN, draft.place, draft.mutation
    new = mutation.trajectory if mutation else draft.original
    target = next(c.name for c in place.base.trajectory.calls if c.index == place.index)
    before, after = draft.original.to_json(), new.to_json()
    return {
        "id": record_id(new.agent_model, class_name, target, new),
        "mutation_category": _RELEASED_DOMAIN[class_.domain],
        "original_trace": before,
        "new_trace": after,
        "difference": difference(before, after),
        "mutation_metadata": {
            "mutator_name": "benign" if benign else class_name,
            "target_tool": target,
            "rationale": mutation.rationale if mutation else "",
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
