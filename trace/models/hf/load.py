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
from trace.models.runnable import is_folder
from trace.records import Json, digest

DESCRIPTION_FILES = ["*.json", "*.jinja", "tokenizer*", "*.model", "*.txt"]


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
        """A folder that holds at least the config, the tokenizer and the chat template.

        Raises:
            ConfigError: it is not there, holds an adapter, or weights in another format.
        """
        if self.settings.asset:
            from trace.models.hf.gguf import safetensors_folder

            return safetensors_folder(self.settings.asset)
        if self._local:
            _refuse_adapter(self._local, str(self.settings.id))
            _refuse_other_formats(self._local)
            return self._local
        if is_folder(str(self.settings.id)):
            raise ConfigError(f"model.id={self.settings.id}: {_no_folder(str(self.settings.id))}")
        with model_errors(self.settings):
            from huggingface_hub import snapshot_download

            folder = Path(
                snapshot_download(
                    str(self.settings.id),
                    revision=self.settings.revision,
                    allow_patterns=DESCRIPTION_FILES,
                )
            )
        _refuse_adapter(folder, str(self.settings.id))
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
        if self._local:  # what it holds tells it from others, not where it lies
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

        hub = not self.settings.asset and self._local is None
        with model_errors(self.settings):
            model, found = AutoModelForCausalLM.from_pretrained(
                self.settings.id if hub else self.folder,
                revision=self.folder.name if hub else None,
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


def _refuse_adapter(folder: Path, model: str) -> None:
    if (folder / "adapter_config.json").is_file():
        raise ConfigError(
            f"model.id={model}: it holds an adapter, which would be left out. Merge it into its "
            "base first (merge_and_unload of peft, then save_pretrained)."
        )


def _refuse_other_formats(folder: Path) -> None:
    names = sorted(path.name for path in folder.iterdir())
    other = [name for name in names if name.endswith((".bin", ".pt", ".pth", ".gguf"))]
    if other and not any(name.endswith(".safetensors") for name in names):
        raise ConfigError(
            f"model.id={folder}: its weights are in {other[0]}, not in safetensors. "
            f"{_formats(other[0])}"
        )


def _formats(name: str) -> str:
    if name.endswith(".gguf"):
        return (
            "Serve it with llama.cpp and use model=openai_compatible, or give the folder of the "
            "original weights."
        )
    return (
        "Such files can run code when they are opened, so they never are. Convert them in a place "
        "where that does no harm (save_pretrained writes safetensors)."
    )


def _no_folder(name: str) -> str:
    path = Path(name).expanduser()
    if path.is_dir():
        return f"a path is taken as it stands. Give model.id={path}."
    if path.is_file():
        return f"it is a file, not a folder. {_formats(name) if path.suffix == '.gguf' else ''}"
    return "there is no such folder."


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
