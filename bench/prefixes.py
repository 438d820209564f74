"""What sharing beginnings saves: conversations asked several questions each (SmolLM2)."""

from __future__ import annotations

import statistics
import time

from trace import config
from trace.models.hf import engine
from trace.models.hf.engine import HfModel
from trace.records import Request, Sampling

PAIRS = 3
QUESTIONS = ("Who was there?", "Where was it?", "When did it end?", "Why did they stay?")
RUBRIC = "You read a story with care and answer in one short sentence. " * 6


def requests() -> list[Request]:
    """Four conversations of about 600 tokens, four questions each."""
    return [
        Request(
            messages=(
                {"role": "system", "content": RUBRIC},
                {"role": "user", "content": f"Story {i}. {'It rained all day long. ' * 90}\n{q}"},
            ),
            sampling=Sampling(max_new_tokens=8),
        )
        for i in range(4)
        for q in QUESTIONS
    ]


def seconds(model: HfModel, minimum: int) -> float:
    """Wall time with a beginning shared when it saves `minimum` tokens."""
    engine.MIN_SAVED = minimum
    began = time.perf_counter()
    for _ in model.generate(requests(), {}):
        pass
    return time.perf_counter() - began


def main() -> None:
    """Interleaved pairs with and without the tree, after a warm-up."""
    model = HfModel(
        config.Model(name="smollm2", asset="smollm2", reasoning="none", engine=config.HfEngine())
    )
    usual = engine.MIN_SAVED
    seconds(model, usual)
    pairs = [(seconds(model, usual), seconds(model, 10**9)) for _ in range(PAIRS)]
    shared, apart = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"16 prompts in 4 conversations: {shared:.1f} s with shared beginnings, {apart:.1f} s "
        f"without, ratio {shared / apart:.2f}"
    )


if __name__ == "__main__":
    main()
