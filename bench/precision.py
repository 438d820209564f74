"""How many greedy texts change with the batch shape, in float32 and in bfloat16 (SmolLM2)."""

from __future__ import annotations

from trace import config
from trace.models.hf.engine import HfModel
from trace.records import Request, Sampling

SUBJECTS = ("rain", "bread", "a lighthouse", "the moon", "chess", "a train", "ink", "salt")
VERBS = ("Describe", "Praise", "Explain", "Write a short story about")


def texts(dtype: str, rows: int) -> list[str]:
    """The answers to 32 prompts with `rows` rows decoded together."""
    engine = config.HfEngine(dtype=dtype, decode_rows=rows, prefill_tokens=1 if rows == 1 else 2048)
    model = HfModel(config.Model(name="smollm2", asset="smollm2", reasoning="none", engine=engine))
    requests = [
        Request(
            messages=({"role": "user", "content": f"{verb} {subject}."},),
            sampling=Sampling(max_new_tokens=48),
        )
        for verb in VERBS
        for subject in SUBJECTS
    ]
    made = {c.key: c.text for batch in model.generate(requests, {}) for c in batch}
    return [made[request.key(model.identity)] for request in requests]


def main() -> None:
    """Compares batch 1 with batch 8, and each precision with float32."""
    exact = texts("float32", 1)
    for dtype in ("float32", "bfloat16"):
        one, eight = texts(dtype, 1), texts(dtype, 8)
        same = sum(a == b for a, b in zip(one, eight, strict=True))
        as_exact = sum(a == b for a, b in zip(exact, one, strict=True))
        print(
            f"{dtype}: {same} of {len(one)} texts are equal at batch 1 and 8, "
            f"{as_exact} equal float32 at batch 1"
        )


if __name__ == "__main__":
    main()
