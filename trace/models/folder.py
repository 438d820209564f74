"""A model's folder: whether it can be taken for the model, told without loading anything of it."""

from __future__ import annotations

import json
from pathlib import Path

from safetensors import SafetensorError, safe_open

INDEX = "model.safetensors.index.json"
"""Names the file that holds each weight, where there are several."""

OTHER_FORMATS = (".bin", ".pt", ".pth", ".gguf")


def folder_problem(name: str) -> str | None:
    """Why `model.id=name` names no folder with a whole model; None where it does.

    Args:
        name: a place on the disk (`config.is_folder`).
    """
    path = Path(name)
    if not path.is_dir():
        said: str | None = _no_folder(path)
    elif said := adapter(path) or lacking(path):
        pass
    elif not (path / "config.json").is_file():
        said = "it holds no config.json, which says what its weights are. Get the whole model."
    return said and f"model.id={name}: {said}"


def adapter(folder: Path) -> str | None:
    """What to do about an adapter in the folder; None where there is none."""
    if not (folder / "adapter_config.json").is_file():
        return None
    return (
        "it holds an adapter, which would be left out. Merge it into its base first "
        "(merge_and_unload of peft, then save_pretrained)."
    )


def lacking(folder: Path) -> str | None:
    """What keeps the folder's weights from being loaded; None where all are there, and whole."""
    try:
        names = sorted(path.name for path in folder.iterdir())
    except OSError as error:
        return f"it cannot be read ({error.strerror})."
    shards = [name for name in names if name.endswith(".safetensors")]
    if "model.safetensors" not in shards and INDEX in names:
        wanted = _indexed(folder / INDEX)
        if wanted is None:
            return f"{INDEX} cannot be read. Get the whole model."
        if missing := sorted(wanted - set(shards)):
            return (
                f"it lacks {len(missing)} of the {len(wanted)} files of weights that {INDEX} "
                f"names, such as {missing[0]}. Get the whole model."
            )
        shards = sorted(wanted)
    if not shards:
        other = [name for name in names if name.endswith(OTHER_FORMATS)]
        if other:
            return f"its weights are in {other[0]}, not in safetensors. {_instead(other[0])}"
        return "it holds no weights. Give the folder with the safetensors, or a Hugging Face id."
    for name in shards:
        if not _is_whole(folder / name):
            return (
                f"{name} is cut off, or no safetensors (a pointer of Git LFS is none). "
                "Fetch it again."
            )
    return None


def _indexed(index: Path) -> set[str] | None:
    try:
        return set(json.loads(index.read_text("utf-8"))["weight_map"].values())
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _is_whole(path: Path) -> bool:
    """Whether the file is as long as its header says. Only the header is read."""
    try:
        with safe_open(path, framework="numpy"):
            return True
    except (SafetensorError, OSError):
        return False


def _instead(name: str) -> str:
    if name.endswith(".gguf"):
        return (
            "Serve it with llama.cpp and use model=openai_compatible, or give the folder of the "
            "original weights."
        )
    return (
        "Such files can run code when they are opened, so they never are. Convert them in a place "
        "where that does no harm (save_pretrained writes safetensors)."
    )


def _no_folder(path: Path) -> str:
    try:
        home = path.expanduser()
    except RuntimeError:  # ~name of nobody
        home = path
    if home.is_dir():
        return f"a path is taken as it stands. Give model.id={home}."
    if home.is_file():
        instead = _instead(home.name) if home.suffix == ".gguf" else ""
        return f"it is a file, not a folder. {instead}".rstrip()
    return "there is no such folder."
