"""Shortcut probe 1: can the shape of a record, without a word of it, give its class away?"""

from __future__ import annotations

from collections import Counter

from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_extraction import DictVectorizer
from sklearn.pipeline import Pipeline, make_pipeline

from trace.benchmarks.tracesafe.audit.call_doubts import keys_of
from trace.benchmarks.tracesafe.audit.lengths import MEASURES
from trace.benchmarks.tracesafe.trajectory import Trajectory

_LAST = 3


def features(trajectory: Trajectory) -> dict[str, float | str]:
    """Roles, the last three of them, keys of steps and tools, lengths, number of tools.

    The keys are those of the whole trace object, which the released code shows to guards; what
    steps and tools say is not looked at.
    """
    steps = trajectory.steps
    roles = [step.role for step in steps]
    found: dict[str, float | str] = {
        **{f"role {role}": n for role, n in Counter(roles).items()},
        **{f"keys {step_keys}": n for step_keys, n in _keys(trajectory).items()},
        **{name: measure(trajectory) for name, measure in MEASURES.items()},
        "last roles": " ".join(roles[-_LAST:]),
        "query chars": len(trajectory.query),
    }
    found |= {f"last role {i}": role for i, role in enumerate(roles[: -_LAST - 1 : -1])}
    return found


def model(seed: int) -> Pipeline:
    """A forest, since a shape is a threshold or a combination, not a weighted sum."""
    return make_pipeline(
        DictVectorizer(sparse=False),
        RandomForestClassifier(
            n_estimators=50, min_samples_leaf=2, class_weight="balanced", random_state=seed
        ),
    )


def _keys(trajectory: Trajectory) -> Counter[str]:
    shapes = [f"{step.role} {' '.join(sorted(keys_of(step)))}" for step in trajectory.steps]
    shapes += [f"tool list {' '.join(sorted(tool.to_json()))}" for tool in trajectory.tools]
    return Counter(shapes)
