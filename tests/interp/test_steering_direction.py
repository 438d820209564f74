"""Directions and splits: the sign, the length, what is stored, what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from trace.errors import ConfigError
from trace.interp.steering import direction
from trace.interp.steering.direction import Direction
from trace.interp.steering.split import halves
from trace.interp.stream import Stream

IDENTITY = {"source": "a/b", "revision": "1", "engine": "hf", "dtype": "float32"}
META = {"model": IDENTITY, "position": "response_last", "classes": {"positive": ["yes"]}}
POSITIVE = [True] * 5 + [False] * 9


def stream(shift: float = 2.0) -> Stream:
    noise = torch.randn(14, 2, 16, generator=torch.Generator().manual_seed(1))
    noise[:5, 1, 3] += shift
    return Stream(x=noise, layers=(4, 7))


def made(**changes: Any) -> Direction:
    given = {"layer": 7, "meta": META} | changes
    return direction.difference(stream(), POSITIVE, **given)


def test_the_difference_in_means_equals_numpys_and_points_to_the_positives() -> None:
    x = stream().x[:, 1].numpy().astype(np.float64)
    expected = x[:5].mean(0) - x[5:].mean(0)
    np.testing.assert_allclose(made().values, expected, rtol=1e-6)
    swapped = direction.difference(stream(), [not p for p in POSITIVE], layer=7, meta=META)
    np.testing.assert_allclose(swapped.values, -expected, rtol=1e-6)
    assert direction.separation(made(), stream(), POSITIVE) == pytest.approx(made().norm)


def test_means_are_taken_in_float64() -> None:
    x = torch.full((8, 1, 1), 3e7)
    x[0] += 8  # the sum of eight such numbers loses it in float32
    only = Stream(x=x, layers=(0,))
    found = direction.difference(only, [True] * 4 + [False] * 4, layer=0, meta=META)
    assert float(found.values) == 2.0


def test_the_probes_weights_get_the_same_length_and_keep_their_sign() -> None:
    weights = torch.zeros(16)
    weights[3] = 1e-3
    found = direction.from_probe(weights, made(), stream(), POSITIVE)
    assert found.norm == pytest.approx(made().norm)
    assert float(found.values[3]) == pytest.approx(made().norm)
    assert found.name == "probe"
    with pytest.raises(ConfigError, match="do not lie above"):
        direction.from_probe(-weights, made(), stream(), POSITIVE)
    with pytest.raises(ConfigError, match="all zero"):
        direction.from_probe(torch.zeros(16), made(), stream(), POSITIVE)


def test_the_random_direction_has_the_same_length_and_no_other_property() -> None:
    wide = Direction(values=torch.ones(4000), layer=2, name="difference", meta=META)
    one, same, other = (direction.random(wide, seed) for seed in (1, 1, 2))
    assert one.sha256 == same.sha256 != other.sha256
    assert one.norm == pytest.approx(wide.norm)
    assert abs(direction.cosine(one, wide)) < 5 / 4000**0.5
    assert abs(direction.cosine(one, other)) < 5 / 4000**0.5
    assert direction.cosine(wide, wide) == pytest.approx(1)


def test_one_class_or_no_difference_is_refused() -> None:
    with pytest.raises(ConfigError, match="one class"):
        direction.difference(stream(), [True] * 14, layer=7, meta=META)
    flat = Stream(x=torch.ones(4, 1, 3), layers=(0,))
    with pytest.raises(ConfigError, match="do not lie above"):
        direction.difference(flat, [True, True, False, False], layer=0, meta=META)


def test_what_is_stored_is_read_back(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "vector.safetensors"
    direction.save(made(), path)
    other_way_to_run = IDENTITY | {"dtype": "bfloat16", "quantisation": "nf4"}
    back = direction.load(path, identity=other_way_to_run, width=16, layers=8)
    assert back.sha256 == made().sha256
    assert (back.layer, back.name, back.meta) == (7, "difference", META)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"width": 17}, "16 numbers and the residual stream of this model 17"),
        ({"identity": IDENTITY | {"revision": "2"}}, "another model .revision differ"),
        ({"identity": {"source": "a/b"}}, "revision differ"),
        ({"layers": 7}, "no layer 7"),
    ],
)
def test_a_vector_of_another_model_is_refused(
    tmp_path: Path, changes: dict[str, Any], says: str
) -> None:
    path = tmp_path / "vector.safetensors"
    direction.save(made(), path)
    with pytest.raises(ConfigError, match=rf"steering\.vector=.*{says}"):
        direction.load(path, **{"identity": IDENTITY, "width": 16, "layers": 8} | changes)


def test_files_that_are_no_vector_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x"
    broken = Direction(values=torch.full((16,), torch.nan), layer=1, name="difference", meta=META)
    direction.save(broken, tmp_path / "nan")
    path.write_bytes(b"no safetensors")
    for wrong in (path, tmp_path / "absent", tmp_path / "nan"):
        with pytest.raises(ConfigError, match=r"steering\.vector"):
            direction.load(wrong, identity=IDENTITY, width=16, layers=8)


@given(
    st.lists(st.tuples(st.booleans(), st.integers(1, 3)), min_size=4, max_size=40),
    st.integers(0, 99),
)
def test_no_item_is_in_both_halves_and_the_classes_are_even(
    items: list[tuple[bool, int]], seed: int
) -> None:
    groups = [f"i{i}" for i, (_, versions) in enumerate(items) for _ in range(versions)]
    positive = [label for label, versions in items for _ in range(versions)]
    counts = [sum(label for label, _ in items), sum(not label for label, _ in items)]
    if min(counts) < 2:
        with pytest.raises(ConfigError, match=r"probe\.(positive|negative)"):
            halves(groups, positive, seed)
        return
    build, held_out = halves(groups, positive, seed)
    assert sorted(build + held_out) == list(range(len(groups)))
    assert not {groups[i] for i in build} & {groups[i] for i in held_out}
    assert halves(groups, positive, seed) == (build, held_out)
    for side in (True, False):
        sizes = [sum(positive[i] is side for i in half) for half in (build, held_out)]
        assert min(sizes) > 0
        assert max(sizes) - min(sizes) <= 3  # items have up to three versions
        if all(versions == 1 for _, versions in items):
            assert max(sizes) - min(sizes) <= 1


def test_the_split_depends_on_the_seed() -> None:
    groups, positive = [str(i) for i in range(40)], [i % 2 == 0 for i in range(40)]
    assert len({halves(groups, positive, seed) for seed in range(5)}) == 5
