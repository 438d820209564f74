"""The part of a configuration that can change a result."""

from __future__ import annotations

import dataclasses
from typing import Any

from trace.config.benchmarks import MODEL_SLOTS
from trace.config.root import Root

NO_EFFECT_ON_RESULT = (
    "tracking",
    "annotate",  # task=annotate alone reads it, and task=compare the next
    "probe",  # task=probe and task=steer add what they read of these
    "steering",
    "trainer",
    "judgements",
    "output_dir",
    "dry_run",
    "scoring.max_unscored",
    "benchmark.path",  # the data's own hash stands for it
    "benchmark.corpus",
    "benchmark.mirage",
    "benchmark.rubrics",
    "benchmark.responses",  # task=build alone reads it, and the next two
    "benchmark.edited",
    "benchmark.builder",
    "judges.exclusions",  # the hash of the file stands for it, and for the next two
    "scoring.labelled",
    "model.replies",
    "model.id",  # the identity of the model stands for it, and for the next
    "model.base_url",
    "model.api_key_env",
    "model.price",
    "model.terms_confirmed",
    "model.allow_abliterated",
    "model.engine.device",
    "model.engine.device_map",
    "model.engine.prefill_tokens",
    "model.engine.decode_rows",
    "model.engine.tensor_parallel",
    "model.engine.pipeline_parallel",
    "model.engine.data_parallel",
    "model.engine.memory",
    "model.engine.cpu_cache_gib",
    "model.engine.max_rows",
    "model.engine.random_weights",  # the identity tells
    "model.engine.concurrency",
    "model.engine.timeout",
    "model.engine.attempts",
    "model.engine.max_cost_usd",
    "model.engine.max_requests",
)
"""Keys that the hash of a run leaves out."""


def plain(settings: Any) -> dict[str, Any]:
    """A typed configuration as plain dictionaries and lists."""
    return dataclasses.asdict(settings)


def of_result(settings: Root) -> dict[str, Any]:
    """The part of a configuration that can change what a run finds."""
    tree = plain(settings)
    models = [tree["model"]]
    if settings.judges is None:
        del tree["judges"]
    else:
        models += tree["judges"]["models"].values()
        if not settings.benchmark.asks_respondent:
            del tree["model"]  # a panel judges instead
    for slot in MODEL_SLOTS:
        *groups, name = slot.split(".")
        at = tree
        for group in groups:
            at = at.get(group) or {}
        if at.get(name) is not None:
            models.append(at[name])
    for key in NO_EFFECT_ON_RESULT:
        root, _, rest = key.partition(".")
        for node in models if root == "model" else [tree] if root in tree else []:
            *groups, name = (rest if root == "model" else key).split(".")
            for group in groups:
                node = node[group]
            node.pop(name, None)
    return tree
