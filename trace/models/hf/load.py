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
from trace.errors import ConfigError, TraceError
from trace.models.folder import adapter, folder_problem
from trace.records import Json, digest

DESCRIPTION_FILES = ["*.json", "*.jinja", "tokenizer*", "*.model", "*.txt"]


@dataclass(frozen=True)
class Source:
    """A model's files: a pinned package, a local folder, or a repository on the hub."""

    settings: config.Model

    @property
    def local(self) -> bool:
        """Whether the files lie on this machine; else the hub has them."""
        return self.settings.asset is not None or config.is_folder(str(self.settings.id))

    @cached_property
    def folder(self) -> Path:
        """A folder that holds at least the config, the tokenizer and the chat template.

        Raises:
            ConfigError: it is not there or not whole, holds an adapter, or weights in another
                format.
        """
        if self.settings.asset:
            from trace.models.hf.gguf import safetensors_folder

            return safetensors_folder(self.settings.asset)
        name = str(self.settings.id)
        if config.is_folder(name):
            if problem := folder_problem(name):
                raise ConfigError(problem)
            return Path(name)
        with model_errors(self.settings):
            from huggingface_hub import snapshot_download

            folder = Path(
                snapshot_download(
                    name,
                    revision=self.settings.revision,
                    allow_patterns=DESCRIPTION_FILES,
                )
            )
        if problem := adapter(folder):
            raise ConfigError(f"model.id={name}: {problem}")
        return folder

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
        template = {p.name: _file_hash(p) for p in files if _is_text_side(p)}
        if self.local:  # what it holds tells it from others, not where it lies
            return {
                "source": "local",
                "revision": digest({p.name: _file_hash(p) for p in files}),
                "template": digest(template),
            }
        return {
            "source": self.settings.id,
            "revision": self.folder.name,
            "template": digest(template),
        }

    def load_weights(self, **options: Any) -> Any:
        """The model, as transformers' `AutoModelForCausalLM` makes it. Only safetensors.

        Raises:
            ConfigError: it cannot be loaded, or not whole: what a file lacks is made up at random.
        """
        from transformers import AutoModelForCausalLM

        with model_errors(self.settings):
            model, found = AutoModelForCausalLM.from_pretrained(
                self.folder if self.local else self.settings.id,
                revision=None if self.local else self.folder.name,
                use_safetensors=True,
                trust_remote_code=False,
                output_loading_info=True,
                **options,
            )
        if missing := sorted(found["missing_keys"]):
            raise ConfigError(
                f"model.id={self.settings.id}: its files lack {len(missing)} weights of the "
                f"architecture that config.json names, such as {missing[0]}. Get the whole model, "
                "or the one that is meant for causal language modelling."
            )
        return model

    def random_weights(self, *, dtype: Any) -> Any:
        """The same architecture with weights as before any training; the same ones every time.

        Raises:
            ConfigError: its description cannot be read.
        """
        import torch
        from transformers import AutoConfig, AutoModelForCausalLM

        with model_errors(self.settings), torch.random.fork_rng():
            torch.manual_seed(0)
            described = AutoConfig.from_pretrained(self.folder)
            return AutoModelForCausalLM.from_config(described, dtype=dtype)


def _is_text_side(path: Path) -> bool:
    return path.suffix == ".jinja" or path.name.startswith("tokenizer")


def _file_hash(path: Path) -> str:
    """The sha256 of a file; remembered in the cache by place, size and time of change."""
    status = path.stat()
    known = digest([str(path.resolve()), status.st_size, status.st_mtime_ns, status.st_ino])
    note = assets.cache_dir() / "hashes" / known
    if note.is_file():
        return note.read_text("utf-8")
    with path.open("rb") as file:
        sha256 = hashlib.file_digest(file, "sha256").hexdigest()
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(sha256, "utf-8")
    return sha256


@contextmanager
def model_errors(settings: config.Model) -> Iterator[None]:
    """Turns what loading a model or its tokenizer can raise into a message for the user."""
    try:
        yield
    except TraceError:
        raise
    except Exception as error:  # a broken file can make the libraries raise anything
        gate = (
            " It is gated: accept its licence on the hub, set HF_TOKEN." if settings.gated else ""
        )
        what = next(iter(str(error).strip().splitlines()), "")
        if not (what and isinstance(error, OSError | ValueError | ImportError)):
            what = f"{type(error).__name__} {what}".strip()  # of a KeyError the words say little
        raise ConfigError(
            f"model.id={settings.id}: cannot be loaded ({what}).{gate} "
            "Give a folder with config.json, tokenizer and safetensors, or a Hugging Face id that "
            "this machine can reach; model=smollm2 needs no hub."
        ) from error
