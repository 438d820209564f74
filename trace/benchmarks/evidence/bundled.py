"""The prompts of the bundled triples: what the build runs on without any source."""

from __future__ import annotations

from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.evidence.prompts import Prompt
from trace.benchmarks.evidence.triple import Triple

PATH = Path(__file__).parent / "data" / "triples.jsonl"
SOURCE = "bundled"

_OF_THE_TRIPLE = ("source", "licence", "note")


def prompts(path: Path = PATH) -> tuple[Prompt, ...]:
    """The distinct prompts, in the order of the file.

    Of a triple's labels they keep the category and the attack, which a source would give too.

    Args:
        path: triples, each with its licence in `provenance`.

    Raises:
        DataError: a line is no triple.
    """
    found: dict[str, Prompt] = {}
    with path.open("rb") as stream:
        for at, line in lines.objects(stream, str(path)):
            triple = Triple.from_json(line, at)
            found.setdefault(
                triple.prompt,
                Prompt(
                    text=triple.prompt,
                    language=triple.language,
                    category=triple.category,
                    attack=triple.attack,
                    source=SOURCE,
                    licence=str(triple.provenance["licence"]),
                    provenance={
                        k: v for k, v in triple.provenance.items() if k not in _OF_THE_TRIPLE
                    },
                ),
            )
    return tuple(found.values())
