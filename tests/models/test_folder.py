"""What is told of a model's folder before anything of it is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import save_file

from tests.conftest import ROOT
from trace.models.folder import INDEX, folder_problem

SHARDS = [f"model-0000{i}-of-00003.safetensors" for i in (1, 2, 3)]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model in three files of weights."""
    (tmp_path / "config.json").write_text("{}")
    for name in SHARDS:
        save_file({name: np.zeros((4, 4), np.float16)}, tmp_path / name)
    index = {"metadata": {}, "weight_map": {name: name for name in SHARDS}}
    (tmp_path / INDEX).write_text(json.dumps(index))
    return tmp_path


def test_a_whole_model_has_no_problem(folder: Path) -> None:
    assert folder_problem(str(folder)) is None
    for name in [*SHARDS[1:], INDEX]:
        (folder / name).unlink()
    (folder / SHARDS[0]).rename(folder / "model.safetensors")
    (folder / "pytorch_model.bin").touch()  # nobody opens it
    assert folder_problem(str(folder)) is None


def test_a_missing_shard_is_named(folder: Path) -> None:
    (folder / SHARDS[1]).unlink()
    assert (folder_problem(str(folder)) or "").startswith(
        f"model.id={folder}: it lacks 1 of the 3 files of weights that {INDEX} names, such as "
        f"{SHARDS[1]}."
    )


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"weight_map": ["a"]}'])
def test_an_index_that_cannot_be_read_is_no_index_of_nothing(folder: Path, text: str) -> None:
    (folder / INDEX).write_text(text)
    assert f"{INDEX} cannot be read" in (folder_problem(str(folder)) or "")


@pytest.mark.parametrize(
    "kept", [0, 7, 40, -1], ids=["nothing", "half a length", "half a header", "all but a byte"]
)
def test_a_shard_that_is_cut_off_is_named(folder: Path, kept: int) -> None:
    whole = (folder / SHARDS[2]).read_bytes()
    (folder / SHARDS[2]).write_bytes(whole[:kept])
    assert f"{SHARDS[2]} is cut off" in (folder_problem(str(folder)) or "")


def test_a_pointer_of_git_lfs_is_no_weight(folder: Path) -> None:
    pointer = f"version https://git-lfs.github.com/spec/v1\noid sha256:{'0' * 64}\nsize 99\n"
    (folder / SHARDS[0]).write_text(pointer)
    assert "Git LFS" in (folder_problem(str(folder)) or "")


def test_a_link_to_nothing_is_no_weight(folder: Path) -> None:
    (folder / SHARDS[0]).unlink()
    (folder / SHARDS[0]).symlink_to(folder / "nowhere")
    assert f"{SHARDS[0]} is cut off" in (folder_problem(str(folder)) or "")


@pytest.mark.parametrize("name", ["pytorch_model.bin", "model.pt", "model.pth"])
def test_pickled_weights_alone_are_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "config.json").write_text("{}")
    (tmp_path / name).touch()
    assert f"its weights are in {name}, not in safetensors. Such files can run code" in (
        folder_problem(str(tmp_path)) or ""
    )


def test_a_description_alone_is_no_model(folder: Path) -> None:
    (folder / "config.json").unlink()
    assert "no config.json" in (folder_problem(str(folder)) or "")
    for path in folder.iterdir():
        path.unlink()
    (folder / "config.json").write_text("{}")
    assert "it holds no weights" in (folder_problem(str(folder)) or "")


def test_nothing_heavy_is_loaded(folder: Path) -> None:
    code = (
        "import sys; from trace.models.folder import folder_problem; "
        f"said = folder_problem({str(folder)!r}); "
        "sys.exit(said or ', '.join({'torch', 'transformers'} & sys.modules.keys()))"
    )
    ran = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True)
    assert ran.stderr.strip() == ""
