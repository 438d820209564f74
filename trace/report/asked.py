"""How a finished run asked, from its configuration: what has to be the same to be compared."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trace.records import Json, canonical

_USUAL = {
    ("condition", "name"): "plain",
    ("benchmark", "view"): "clean",
    ("protocol", "answer"): "generate",
    ("scoring", "parser"): "strict",
    ("protocol", "variant"): "plain",
}
"""What is usual; a name stands for itself, another value beside its key."""

_PLAIN: Mapping[str, Json] = {"reason_first": False, "examples": 0, "tokens": None}
"""What the plain condition does."""

_PART = "part"
"""A condition with this key says what is judged, and not how."""


def component(config: Mapping[str, Any]) -> str:
    """The name of the condition if it picks what is judged; empty if not."""
    condition = config["condition"]
    return "" if condition.get(_PART) is None else str(condition["name"])


def unusual(config: Mapping[str, Any]) -> Iterator[str]:
    """What differs from the usual way of asking, in words that stand behind a judge's name."""
    picks = bool(component(config))
    for (group, key), usual in _USUAL.items():
        value = config[group].get(key, usual)
        if value != usual and not (picks and group == "condition"):
            yield str(value) if key in ("name", "variant") else f"{value} {key}"
    if picks or config["condition"]["name"] == "plain":  # whatever it is called
        for key, usual in _PLAIN.items():
            value = config["condition"].get(key, usual)
            if value != usual:
                yield key if value is True else f"{value} {key}"


def settings(config: Mapping[str, Any]) -> dict[str, str]:
    """What no name tells. Of the sampling, that which counts: no seed says how is drawn."""
    does = config["condition"]
    condition = {key: does.get(key, usual) for key, usual in _PLAIN.items()}
    condition |= {_PART: does[_PART]} if component(config) else {}
    if config["protocol"]["answer"] == "score":  # nothing is written
        sampling, normalise = {}, config["protocol"].get("normalise")
    else:
        drawn = config["sampling"]
        keys = ("temperature", "max_new_tokens", *(["top_p"] if drawn["temperature"] else []))
        sampling, normalise = {key: drawn[key] for key in keys}, None
    values = {"condition": condition, "sampling": sampling, "normalise": normalise}
    return {what: canonical(value) for what, value in values.items()}


def weights(model: Mapping[str, Any], manifest: Mapping[str, Any]) -> str:
    """The source and revision of the weights; the id under which a server knows them."""
    identity = manifest.get("model") or {}
    source = identity.get("source") or model.get("id") or ""
    return canonical([source, identity.get("revision")])
