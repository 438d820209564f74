"""A file of activations made elsewhere is read, or refused with what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file

from trace.errors import DataError
from trace.interp.probes.activations_file import read_activations


def written(folder: Path, **changes: torch.Tensor) -> str:
    tensors = {
        "x": torch.randn(6, 2, 4),
        "y": torch.tensor([0, 1, 0, 1, 0, 1]),
        "group": torch.arange(6),
    } | changes
    save_file({k: v for k, v in tensors.items() if v.numel()}, folder / "a.safetensors")
    return str(folder / "a.safetensors")


def test_activations_of_ones_own(tmp_path: Path) -> None:
    read = read_activations(written(tmp_path, layers=torch.tensor([8, 16])))
    assert read.stream.layers == (8, 16)
    assert read.stream.x.shape == (6, 2, 4)
    assert read.positive == (False, True) * 3
    assert read.group == tuple(range(6))
    assert read_activations(written(tmp_path)).stream.layers == (0, 1)


def test_layers_in_any_order_are_put_into_theirs(tmp_path: Path) -> None:
    x = torch.randn(6, 3, 4)
    read = read_activations(written(tmp_path, x=x, layers=torch.tensor([16, 4, 8])))
    assert read.stream.layers == (4, 8, 16)
    assert torch.equal(read.stream.layer(16), x[:, 0])
    assert torch.equal(read.stream.layer(8), x[:, 2])


def test_activations_that_will_not_do(tmp_path: Path) -> None:
    broken = torch.randn(6, 2, 4)
    broken[3, 1, 2] = torch.nan
    for changes, message in [
        ({"group": torch.empty(0)}, "group is missing"),
        ({"y": torch.tensor([0, 1])}, r"y \[2\]"),
        ({"x": torch.randn(6, 4)}, r"x \[6, 4\]"),
        ({"y": torch.tensor([0, 1, 2, 0, 1, 2])}, "of 0 and 1"),
        ({"y": torch.zeros(6, dtype=torch.int64)}, "y is 0 for all 6"),
        ({"x": broken}, "sample 3 behind layer 1"),
        ({"y": torch.tensor([-1, 1, -1, 1, -1, 1])}, "y holds -1"),
        ({"y": torch.tensor([torch.nan, 1, 0, 1, 0, 1])}, "y holds nan"),
        ({"y": torch.ones(6, dtype=torch.complex64)}, "y torch.complex64"),
        ({"group": torch.ones(6, dtype=torch.complex64)}, "group torch.complex64"),
        ({"layers": torch.tensor([3, 3])}, "layers"),
        ({"layers": torch.tensor([0.0, torch.nan])}, "whole number"),
        ({"layers": torch.tensor([0.2, 0.7])}, "whole number"),
    ]:
        with pytest.raises(DataError, match=message):
            read_activations(written(tmp_path, **changes))
    with pytest.raises(DataError, match=r"no safetensors file.*probe\.activations"):
        read_activations(str(tmp_path / "none.safetensors"))
