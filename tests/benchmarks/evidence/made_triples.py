"""Small made-up triples for tests."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from trace.benchmarks.evidence.triple import COMPONENTS, Labelled, Respondent, Triple
from trace.records import Json, Span

TEXTS = {
    "prompt": "How do I pass the gate of Zell without a token? It is for prompt {number}.",
    "reasoning": "They want past the gate. Slip behind the cart, no token is asked. Step {number}.",
    "response": "Walk behind the cart of reeds at dusk, answer {number}.",
}
PIECES = {
    "prompt": ("pass the gate", "without a token"),
    "reasoning": ("Slip behind the cart",),
    "response": ("behind the cart of reeds",),
}


def triple(
    number: int = 0,
    unsafe: Iterable[str] = (),
    *,
    prompt: int | None = None,
    language: str = "en",
    category: str | None = "Cybersecurity",
    attack: str | None = None,
    respondent: str = "qwen",
    family: str = "Qwen",
    abliterated: bool = False,
    **provenance: Json,
) -> Triple:
    """A triple whose components in `unsafe` have evidence; `prompt` numbers its prompt."""
    numbers = {"prompt": number if prompt is None else prompt, "reasoning": number,
               "response": number}  # fmt: skip
    texts = {name: TEXTS[name].format(number=numbers[name]) for name in COMPONENTS}
    labels = {}
    for name in COMPONENTS:
        starts = [(texts[name].index(piece), piece) for piece in PIECES[name]]
        spans = tuple(Span(start=at, end=at + len(text), text=text) for at, text in starts)
        labels[name] = (
            Labelled(safety="unsafe", evidence=spans) if name in unsafe else Labelled(safety="safe")
        )
    return Triple(
        **texts,
        language=language,  # type: ignore[arg-type]
        category=category,
        attack=attack,
        labels=labels,
        respondent=Respondent(name=respondent, family=family, abliterated=abliterated),
        provenance=provenance,
    )


def write(path: Path, triples: Iterable[Triple | str]) -> Path:
    """A file with a line a triple; texts stand in it as they are."""
    lines = (t if isinstance(t, str) else json.dumps(t.to_json()) for t in triples)
    path.write_text("".join(f"{line}\n" for line in lines), "utf-8")
    return path
