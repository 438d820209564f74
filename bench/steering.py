"""What a grid of alphas in one batch saves against one alpha and prompt at a time (SmolLM2)."""

from __future__ import annotations

import statistics
import tempfile
import time

import torch

from trace import config
from trace.interp.activations.layers import decoder_layers
from trace.interp.steering.direction import Direction
from trace.interp.steering.generate import steered
from trace.interp.steering.padded import opened
from trace.records import Push, Request, Sampling

PAIRS = 3
ALPHAS = (-6.0, -3.0, 0.0, 3.0, 6.0)
TOPICS = ("rain", "bread", "chess", "a bridge")
SETTINGS = config.Model(
    name="smollm2", asset="smollm2", reasoning="none", engine=config.HfEngine(dtype="float32")
)
TRAINER = config.Trainer(accelerator="cpu")


def requests(vector: Direction) -> list[Request]:
    """Each prompt at every alpha; 16 tokens are written."""
    return [
        Request(
            messages=({"role": "user", "content": f"Tell me something about {topic}."},),
            sampling=Sampling(max_new_tokens=16),
            push=Push(vector=vector.sha256, layer=vector.layer, alpha=alpha, tokens="all"),
        )
        for topic in TOPICS
        for alpha in ALPHAS
    ]


def timed(vector: Direction, portions: list[list[Request]]) -> tuple[float, list[str]]:
    """Wall time and texts when each portion is asked by itself."""
    texts: list[str] = []
    with tempfile.TemporaryDirectory() as folder:
        began = time.perf_counter()
        for portion in portions:
            made, _ = steered(SETTINGS, portion, [vector], trainer=TRAINER, output_dir=folder)
            texts += [one.text for one in made]
        return time.perf_counter() - began, texts


def main() -> None:
    """Interleaved pairs, after a warm-up; and whether the texts are the same."""
    model = opened(SETTINGS)
    layer = len(decoder_layers(model.model)) // 2
    drawn = torch.randn(model.text.config.hidden_size, generator=torch.Generator().manual_seed(0))
    vector = Direction(values=drawn, layer=layer, name="random", meta={})
    asked = requests(vector)
    single = [[request] for request in asked]
    timed(vector, single[:1])
    pairs = [(timed(vector, [asked]), timed(vector, single)) for _ in range(PAIRS)]
    together, apart = (
        statistics.median(side[0] for side in sides) for sides in zip(*pairs, strict=True)
    )
    same = sum(a == b for a, b in zip(pairs[0][0][1], pairs[0][1][1], strict=True))
    print(
        f"{len(TOPICS)} prompts at {len(ALPHAS)} alphas: {together:.1f} s in one batch, "
        f"{apart:.1f} s one at a time, ratio {apart / together:.2f}; {same} of {len(asked)} texts "
        "are the same"
    )


if __name__ == "__main__":
    main()
