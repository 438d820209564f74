"""Our vLLM engine against calling vLLM directly: the ratio of medians within one run."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable

from trace import config
from trace.models.vllm import load
from trace.models.vllm.engine import VllmModel
from trace.records import Request, Sampling

PROMPTS = 200
NEW_TOKENS = 16
PAIRS = 5


def seconds(work: Callable[[], int], model: VllmModel) -> float:
    """Wall time of answering every prompt, with nothing cached before."""
    model.llm.reset_prefix_cache()
    began = time.perf_counter()
    assert work() == PROMPTS
    return time.perf_counter() - began


def main() -> None:
    """Interleaved pairs on the same loaded model, so that a busy moment hits both."""
    if not load.installed():
        print("vllm: not in this environment, left out (make vllm-env)")
        return
    engine = config.VllmEngine(cpu_cache_gib=1)
    model = VllmModel(config.Model(name="smollm2", asset="smollm2", reasoning="none", context=2048,
                                   engine=engine))  # fmt: skip
    requests = [
        Request(
            messages=({"role": "user", "content": f"Name {n} things that are found at sea."},),
            sampling=Sampling(max_new_tokens=NEW_TOKENS),
        )
        for n in range(PROMPTS)
    ]

    def ours() -> int:
        return sum(map(len, model.generate(requests, {})))

    def direct() -> int:
        from vllm import SamplingParams

        params = SamplingParams(temperature=0, max_tokens=NEW_TOKENS)
        return len(model.llm.chat([list(r.messages) for r in requests], params, use_tqdm=False))

    ours(), direct()  # what is compiled at first use
    pairs = [(seconds(ours, model), seconds(direct, model)) for _ in range(PAIRS)]
    a, b = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"vllm, {PROMPTS} requests: ours {a:.2f} s, vLLM's chat {b:.2f} s, ratio {a / b:.3f}")


if __name__ == "__main__":
    main()
