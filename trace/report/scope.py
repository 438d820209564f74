"""How far a result about activations reaches: were they those of the model that answered?"""

from __future__ import annotations

from collections.abc import Mapping

from trace.records import Json

_WORDS = {
    "engine": "engine",
    "source": "weights",
    "id": "served name",
    "revision": "revision",
    "dtype": "precision",
    "quantisation": "quantisation",
    "template": "chat template",
    "base_url": "address",
}
_SHOWN = 40
"""Characters of a value that are shown: a hash is told from another by fewer."""


def scope_of(answered: Mapping[str, Json], read: Mapping[str, Json]) -> str | None:
    """Why a result is only illustrative; None where one model answered and was read.

    Another engine, precision or quantisation computes other activations from the same weights, so
    what is found in them need not have been there when the answer was written.

    Args:
        answered: what identifies the model that wrote the answers (`Model.identity`).
        read: what identifies the model whose activations are read.
    """
    keys = [key for key in {**answered, **read} if answered.get(key) != read.get(key)]
    if not keys:
        return None
    told = [
        f"{_WORDS.get(key, key)} {_shown(answered.get(key))} for the answers, "
        f"{_shown(read.get(key))} for the activations"
        for key in sorted(keys, key=[*_WORDS, *keys].index)
    ]
    weights = ("source", "revision")
    same = all(answered.get(key) is not None and key not in keys for key in weights)
    why = (
        "the activations are of the same weights as the answers, run in another way"
        if same
        else "the activations are not known to be of the model that wrote the answers"
    )
    return f"{why} ({'; '.join(told)})"


def _shown(value: Json) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _SHOWN else f"{text[:12]}…"
