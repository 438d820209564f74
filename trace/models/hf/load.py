"""Where a model's weights come from, what identifies them, and how they are loaded."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from trace import assets, config
from trace.errors import ConfigError
from trace.records import Json

DESCRIPTION_FILES = ["*.json", "*.jinja", "tokenizer*", "*.model", "*.txt"]
SAMPLE_BYTES = 1 << 20


@dataclass(frozen=True)
class Source:
    """A model's files: a pinned package, a local folder, or a repository on the hub."""

    settings: config.Model

    @property
    def _local(self) -> Path | None:
        path = Path(self.settings.id or "")
        return path if self.settings.id and path.is_dir() else None

    @cached_property
    def folder(self) -> Path:
        """A folder that holds at least the config, the tokenizer and the chat template."""
        if self.settings.asset:
            from trace.models.hf.gguf import safetensors_folder

            return safetensors_folder(self.settings.asset)
        if self._local:
            return self._local
        with _hub_errors(self.settings):
            from huggingface_hub import snapshot_download

            return Path(
                snapshot_download(
                    str(self.settings.id),
                    revision=self.settings.revision,
                    allow_patterns=DESCRIPTION_FILES,
                )
            )

    def identity(self) -> dict[str, Json]:
        """What tells these weights and this chat template from others, without loading them."""
        if self.settings.asset:
            from trace.models.hf.gguf import CONVERSION

            return {
                "source": self.settings.asset,
                "revision": assets.fingerprint(self.settings.asset),
                "conversion": CONVERSION,
            }
        files = sorted(p for p in self.folder.iterdir() if p.is_file())
        template = hashlib.sha256()
        for path in files:
            if path.suffix == ".jinja" or path.name.startswith("tokenizer"):
                template.update(path.name.encode() + path.read_bytes())
        return {
            "source": self.settings.id,
            "revision": _sampled_hash(files) if self._local else self.folder.name,
            "template": template.hexdigest(),
        }

    def load_weights(self, **options: Any) -> Any:
        """The model, as transformers' `AutoModelForCausalLM` makes it. Only safetensors."""
        from transformers import AutoModelForCausalLM

        hub = not self.settings.asset and self._local is None
        with _hub_errors(self.settings):
            return AutoModelForCausalLM.from_pretrained(
                self.settings.id if hub else self.folder,
                revision=self.folder.name if hub else None,
                use_safetensors=True,
                trust_remote_code=False,
                **options,
            )


def _sampled_hash(files: list[Path]) -> str:
    """A sha256 over small files whole, and over the size and both ends of large ones."""
    out = hashlib.sha256()
    for path in files:
        size = path.stat().st_size
        out.update(f"{path.name}:{size}:".encode())
        with path.open("rb") as file:
            out.update(file.read(SAMPLE_BYTES))
            if size > SAMPLE_BYTES:
                file.seek(max(SAMPLE_BYTES, size - SAMPLE_BYTES))
                out.update(file.read(SAMPLE_BYTES))
    return out.hexdigest()


@contextmanager
def _hub_errors(settings: config.Model) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError) as error:  # what transformers and the hub client raise for both
        gate = (
            " It is gated: accept its licence on the hub, set HF_TOKEN." if settings.gated else ""
        )
        what = str(error).strip().splitlines()[0]
        raise ConfigError(
            f"model.id={settings.id}: cannot be loaded ({what}).{gate} "
            "Give a folder with config.json, tokenizer and safetensors, or a Hugging Face id that "
            "this machine can reach; model=smollm2 needs no hub."
        ) from error
