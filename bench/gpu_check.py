"""What has to hold on a CUDA machine, in under eight minutes: `make gpu-check`.

Without a GPU it says so and ends well; `--device cpu` runs the same checks on the CPU. The weights
are random, so nothing is fetched; `--weights FOLDER` takes real ones.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import torch
from tokenizers import Tokenizer, models, pre_tokenizers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

from trace import config
from trace.interp.activations.capture import captured
from trace.interp.probes.newton import logistic
from trace.interp.steering.push import pushed
from trace.models.hf.engine import HfModel
from trace.models.open import make
from trace.records import Completion, Request, Sampling

WORDS = (
    *("rain", "bread", "moon", "chess", "train", "ink", "salt", "bridge", "snow", "sea", "lamp"),
    *("road", "bird", "stone", "cloud", "key", "Safe", "Unsafe", ":", "."),
)
TEMPLATE = "{% for m in messages %}{{ m.content }} {% endfor %}: "
CONTEXT = 2048


def tiny(folder: Path) -> Path:
    """A random Llama of 60 million parameters that knows twenty words."""
    vocabulary = {word: i for i, word in enumerate(["<s>", "</s>", "<unk>", *WORDS])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="<unk>"))
    tokenizer.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>", unk_token="<unk>"
    )
    fast.chat_template = TEMPLATE
    fast.save_pretrained(folder)
    torch.manual_seed(0)
    LlamaForCausalLM(
        LlamaConfig(
            vocab_size=len(vocabulary), hidden_size=768, intermediate_size=2048,
            num_hidden_layers=8, num_attention_heads=12, num_key_value_heads=4,
            max_position_embeddings=CONTEXT, bos_token_id=0, eos_token_id=1,
        )
    ).save_pretrained(folder)  # fmt: skip
    return folder


def requests(count: int) -> list[Request]:
    """Prompts of 10 to 300 words, three to a beginning."""
    made = []
    for i in range(count):
        words = [WORDS[(i // 3 * 7 + j * j) % 16] for j in range(10 + 290 * (i // 3) // count * 3)]
        text = " ".join([*words, WORDS[i % 16]])
        made.append(
            Request(
                messages=({"role": "user", "content": text},), sampling=Sampling(max_new_tokens=24)
            )
        )
    return made


class Check:
    """The checks, each a method that raises what is wrong."""

    def __init__(self, folder: Path, device: str) -> None:
        self.folder, self.device = folder, device

    def model(self, **options: object) -> HfModel:
        """The weights under other options of the engine."""
        chosen = {"device": self.device, **options}
        engine = config.HfEngine(**chosen)  # type: ignore[arg-type]
        return HfModel(config.Model(name="check", id=str(self.folder), reasoning="none",
                                    engine=engine))  # fmt: skip

    @staticmethod
    def answers(model: HfModel, asked: list[Request]) -> dict[str, Completion]:
        """Every completion by its key; each request once."""
        made = [c for batch in model.generate(asked, {}) for c in batch]
        assert len(made) == len({c.key for c in made}) == len(asked), "a request got lost"
        assert all(c.finish in ("stop", "length") for c in made), {c.error for c in made}
        return {c.key: c for c in made}

    def batches_and_prefixes(self) -> str:
        """In float32 a text does not depend on what is computed beside it."""
        asked = requests(48)
        together = self.answers(self.model(dtype="float32"), asked)
        alone = self.answers(self.model(dtype="float32", decode_rows=1, prefill_tokens=1), asked)
        same = sum(together[k].text == alone[k].text for k in together)
        assert same >= 47, f"{same} of 48 texts equal"  # one tie in a million logits may break
        return f"{same} of 48 float32 texts equal at 32 rows and at 1"

    def bfloat16(self) -> str:
        """It writes, and every score is a finite number."""
        model = self.model(dtype="bfloat16")
        began = time.monotonic()
        made = self.answers(model, requests(192))
        seconds = time.monotonic() - began
        tokens = sum(c.completion_tokens + c.prompt_tokens for c in made.values())
        return f"192 bfloat16 answers, {tokens / seconds:,.0f} tokens a second"

    def scores(self) -> str:
        """The likelihood of labels equals that of a forward a label."""
        model = self.model(dtype="float32")
        worst = 0.0
        for asked in requests(6):
            labelled = Request(messages=asked.messages, labels=("Safe .", "Unsafe : ."))
            (made,) = [c for batch in model.generate([labelled], {}) for c in batch]
            text = asked.messages[0]["content"] + " : "
            for label, score in (made.scores or {}).items():
                ids = model.text.tokenizer(f"{text}{label}")["input_ids"]
                n = score.tokens
                with torch.inference_mode():
                    logits = model.model(torch.tensor([ids], device=model.model.device)).logits
                logprobs = torch.log_softmax(logits[0, -n - 1 : -1].float(), -1)
                plain = logprobs[range(n), ids[-n:]].sum().item()
                worst = max(worst, abs(plain - score.logprob))
        assert worst < 1e-2, f"they differ by {worst:.4f} nats"
        return f"scores within {worst:.1e} nats of a forward a label"

    def hooks(self) -> str:
        """The stream is read behind every layer; a push arrives, and one of zero changes no bit."""
        model = self.model(dtype="bfloat16").model
        ids = torch.arange(3, 19, device=model.device)[None]
        layers = range(model.config.num_hidden_layers)
        vector = torch.ones(model.config.hidden_size)

        def run(alpha: float) -> tuple[torch.Tensor, dict[int, torch.Tensor]]:
            with (
                torch.inference_mode(),
                pushed(model, 0, vector, [alpha], "all"),
                captured(model, layers, lambda stream: stream.float().cpu()) as seen,
            ):
                logits: torch.Tensor = model(ids).logits
            return logits, seen

        with torch.inference_mode():
            before = model(ids).logits
        (still, base), (_, moved) = run(0.0), run(64.0)
        assert torch.equal(before, still), "a push of zero changed the logits"
        arrived = (moved[0] - base[0] - 64).abs().max().item()
        assert arrived <= 0.5, f"the push arrived {arrived} off"  # bfloat16 has steps of .5 at 64
        return f"{len(base)} layers read, a push arrives, logits bit-equal without one"

    def probes(self) -> str:
        """Probes are solved on the device as on the CPU."""
        draw = torch.Generator().manual_seed(0)
        x = torch.randn(80, 60, generator=draw, dtype=torch.float64)
        y = torch.randint(0, 2, (4, 80), generator=draw).bool()
        y[:, :2] = torch.tensor([True, False])
        c = torch.full((4,), 0.1, dtype=torch.float64)
        here, there = (
            logistic(x.to(device), y.to(device), c.to(device), memory_gib=0.1)
            for device in (self.device, "cpu")
        )
        worst = (here.cpu() - there).abs().max().item()
        assert worst < 1e-8, f"they differ by {worst:.1e}"
        return f"probes within {worst:.0e} of the CPU's"

    def out_of_memory(self) -> str:
        """A batch that does not fit is halved until it does, and nothing is lost."""
        if self.device == "cpu":
            return "left out on a CPU"
        torch.cuda.empty_cache()
        model = self.model(dtype="float32", prefill_tokens=10**6, decode_rows=192)
        assert model.model is not None
        share = (torch.cuda.memory_allocated() + 600 * 2**20) / torch.cuda.mem_get_info()[1]
        torch.cuda.set_per_process_memory_fraction(min(1.0, share))
        try:
            made = self.answers(model, requests(192))
        finally:
            torch.cuda.set_per_process_memory_fraction(1.0)
        return f"192 answers in batches of {min(c.batch_rows for c in made.values())} rows or more"

    def quantised(self) -> str:
        """Four bits, if bitsandbytes is here."""
        if importlib.util.find_spec("bitsandbytes") is None:
            return "left out: bitsandbytes is not installed"
        model = self.model(quantisation="nf4")
        self.answers(model, requests(8))
        return f"nf4: {model.model.get_memory_footprint() / 2**20:.0f} MiB"

    def several_gpus(self) -> str:
        """Layers spread by a device map give the texts of one GPU."""
        if torch.cuda.device_count() < 2:
            return "left out: there is one device"
        asked = requests(24)
        spread = self.answers(self.model(dtype="float32", device="auto", device_map="balanced"),
                              asked)  # fmt: skip
        whole = self.answers(self.model(dtype="float32"), asked)
        same = sum(spread[k].text == whole[k].text for k in whole)
        assert same >= 23, f"{same} of 24 texts equal"
        return f"{same} of 24 texts equal over {torch.cuda.device_count()} GPUs"

    def vllm(self) -> str:
        """The engine vllm in this process answers every request, mostly as transformers does."""
        if importlib.util.find_spec("vllm") is None:
            return "left out: vllm is not installed"
        asked = requests(48)
        engine = config.VllmEngine(memory=0.5, eager=True)
        model = make(engine, config.Model(name="check", id=str(self.folder), reasoning="none",
                                          engine=engine))  # fmt: skip
        made = {c.key: c for batch in model.generate(asked, {}) for c in batch}
        assert len(made) == len(asked), "a request got lost"
        texts = self.answers(self.model(), asked)
        hf = self.model()
        same = sum(
            made[r.key(model.identity)].text == texts[r.key(hf.identity)].text for r in asked
        )
        return f"{len(made)} answers, {same} equal to those of transformers in bfloat16"

    def all(self) -> list[Callable[[], str]]:
        """In the order of the report."""
        return [self.batches_and_prefixes, self.bfloat16, self.scores, self.hooks, self.probes,
                self.quantised, self.several_gpus, self.out_of_memory, self.vllm]  # fmt: skip


def main() -> int:
    """Runs every check and says what came of it; 1 if one failed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--weights", type=Path)
    given = parser.parse_args()
    if given.device == "cuda" and not torch.cuda.is_available():
        print("gpu-check: no CUDA device here, nothing was checked")
        return 0
    if given.device == "cuda":
        print(f"gpu-check: {torch.cuda.device_count()} × {torch.cuda.get_device_name()}")
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        check = Check(given.weights or tiny(Path(name)), given.device)
        for one in check.all():
            began = time.monotonic()
            try:
                said, mark = one(), "ok"
            except Exception as error:  # the other checks still tell something
                said, mark = f"{type(error).__name__}: {error}", "FAILED"
                failed = 1
            print(f"{mark:6} {one.__name__}: {said} ({time.monotonic() - began:.0f} s)", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
