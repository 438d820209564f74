from __future__ import annotations

import math
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray
from statsmodels.stats.proportion import proportion_confint

from trace.stats.corrected import Corrected, Proportion, corrected_rate, proportion

Array = NDArray[np.float64]
COUNTS = st.integers(1, 60).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


def of(hits: float, n: float) -> Proportion:
    return Proportion(share=hits / n, n=n)


def clustered(
    rng: np.random.Generator, p: float, clusters: int, size: int, icc: float
) -> tuple[list[bool], list[int]]:
    """Observations with rate p, correlated by `icc` within their cluster (beta-binomial)."""
    a = (1 - icc) / icc
    chance = rng.beta(p * a, (1 - p) * a, clusters)
    hits = rng.random((clusters, size)) < chance[:, None]
    return hits.ravel().tolist(), np.repeat(np.arange(clusters), size).tolist()


@pytest.mark.parametrize(
    ("flagged", "sensitivity", "specificity", "published"),
    [
        ((23, 150), 0.96, 0.89, 0.051),  # brucellosis in a herd: the manual of epiR (epi.prev)
        ((50, 200), 1.0, 1.0, 0.25),  # a perfect judge
        ((105, 1000), 0.9, 0.9, 0.00625),  # by hand: .005 / .8
    ],
)
def test_rogan_gladen(
    flagged: tuple[int, int], sensitivity: float, specificity: float, published: float
) -> None:
    found = corrected_rate(
        of(*flagged),
        Proportion(share=sensitivity, n=1000),
        Proportion(share=specificity, n=1000),
    )
    assert found.value == pytest.approx(published, abs=5e-4)
    assert not found.clipped


@pytest.mark.parametrize(("hits", "n"), [(1, 40), (20, 50), (300, 400), (0, 30)])
def test_a_judge_known_to_be_perfect_leaves_the_agresti_coull_interval(hits: int, n: int) -> None:
    known = of(10**9, 10**9)
    found = corrected_rate(of(hits, n), known, known)
    low, high = proportion_confint(hits, n, method="agresti_coull")
    assert found.value == pytest.approx(hits / n)
    assert found.low == pytest.approx(max(0.0, float(low)), abs=1e-6)
    assert found.high == pytest.approx(float(high), abs=1e-6)


def test_lang_and_reiczigel_step_by_step() -> None:
    """Their equations in decimal arithmetic: 60 of 200 flagged, 27 of 30 found, 28 of 30 cleared.

    AP' = .303769, Se' = .875, Sp' = .90625, P' = .268824, shift -.007855, half width .130454.
    """
    found = corrected_rate(of(60, 200), of(27, 30), of(28, 30))
    assert found.value == pytest.approx(0.28, abs=1e-9)
    assert found.low == pytest.approx(0.130514, abs=1e-6)
    assert found.high == pytest.approx(0.391423, abs=1e-6)


def test_the_interval_carries_all_three_uncertainties() -> None:
    """Against a parametric bootstrap, where nothing is near an end."""
    rng = np.random.default_rng(2)
    se, sp, p, n, m = 0.85, 0.9, 0.4, 800, 200
    rate = p * se + (1 - p) * (1 - sp)

    def draws(share: float, size: int) -> Array:
        return np.asarray(rng.binomial(size, share, 100_000) / size)

    def limits(flag: Array, a: Array, b: Array) -> list[float]:
        return [float(q) for q in np.quantile((flag + b - 1) / (a + b - 1), (0.025, 0.975))]

    flags, found, cleared = draws(rate, n), draws(se, m), draws(sp, m)
    low, high = limits(flags, found, cleared)
    result = corrected_rate(
        Proportion(share=rate, n=n), Proportion(share=se, n=m), Proportion(share=sp, n=m)
    )
    assert result.low == pytest.approx(low, abs=0.012)
    assert result.high == pytest.approx(high, abs=0.012)
    # Taking sensitivity and specificity as known would be a third too narrow.
    known = limits(flags, np.full(100_000, se), np.full(100_000, sp))
    assert result.low is not None
    assert result.high is not None
    assert result.high - result.low > 1.25 * (known[1] - known[0])


def test_what_falls_outside_is_clipped_and_said() -> None:
    below = corrected_rate(of(2, 100), of(45, 50), of(45, 50))
    assert below.clipped
    assert below.raw == pytest.approx((0.02 + 0.9 - 1) / 0.8)
    assert (below.value, below.low) == (0.0, 0.0)
    above = corrected_rate(of(98, 100), of(45, 50), of(45, 50))
    assert above.clipped
    assert (above.value, above.high) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("flagged", "sensitivity", "specificity", "reason"),
    [
        (Proportion(share=None, n=0), of(9, 10), of(9, 10), "no item has a verdict"),
        (of(3, 9), Proportion(share=None, n=0), of(9, 10), "no unsafe item of the labelled"),
        (of(3, 9), of(9, 10), Proportion(share=None, n=0), "no safe item of the labelled"),
        (of(3, 9), of(5, 10), of(5, 10), "sensitivity 0.50 and specificity 0.50 .* too near"),
        (of(3, 9), of(2, 10), of(3, 10), "too near to chance"),
        (of(3, 9), of(6, 10), of(6, 10), "too near to chance"),  # .2 ± .4
    ],
)
def test_what_cannot_be_corrected_has_a_reason(
    flagged: Proportion, sensitivity: Proportion, specificity: Proportion, reason: str
) -> None:
    found = corrected_rate(flagged, sensitivity, specificity)
    assert (found.value, found.low, found.high, found.raw) == (None, None, None, None)
    assert re.search(reason, found.reason or "")


def test_the_same_judge_can_correct_with_more_labels() -> None:
    assert corrected_rate(of(40, 100), of(600, 1000), of(600, 1000)).value is not None


@given(COUNTS, COUNTS, COUNTS)
def test_the_value_lies_in_its_interval_and_in_range(
    flagged: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int]
) -> None:
    found = corrected_rate(of(*flagged), of(*sensitivity), of(*specificity))
    if found.value is None:
        assert found.reason
        return
    assert found.low is not None
    assert found.high is not None
    assert 0 <= found.low <= found.value <= found.high <= 1


@given(COUNTS, COUNTS, COUNTS)
def test_safe_and_unsafe_can_change_places(
    flagged: tuple[int, int], sensitivity: tuple[int, int], specificity: tuple[int, int]
) -> None:
    found = corrected_rate(of(*flagged), of(*sensitivity), of(*specificity))
    passed = of(flagged[1] - flagged[0], flagged[1])
    mirrored = corrected_rate(passed, of(*specificity), of(*sensitivity))
    assert (found.value is None) == (mirrored.value is None)
    for one, other in ((found.value, mirrored.value), (found.low, mirrored.high)):
        if one is not None and other is not None:
            assert one == pytest.approx(1 - other, abs=1e-9)


def test_observations_of_their_own_keep_their_number() -> None:
    found = proportion([True] * 12 + [False] * 28, range(40))
    assert found == Proportion(share=0.3, n=pytest.approx(40))
    assert proportion([], []) == Proportion(share=None, n=0)
    assert proportion([True], ["a"]) == Proportion(share=1.0, n=1)


def test_repeats_of_one_observation_count_once() -> None:
    hits = [True] * 12 + [False] * 28
    clusters = np.repeat(np.arange(40), 5).tolist()
    repeated = proportion(np.repeat(hits, 5).tolist(), clusters)
    assert repeated.share == 0.3
    # 40 clusters are known a little less well than their number says (Student's t).
    assert repeated.n == pytest.approx(40, rel=0.08)


def test_the_effective_number_is_that_of_the_intraclass_correlation() -> None:
    """Worth n / (1 + (m - 1) ICC): 20 in each of 400 clusters make 8000 / 4.8."""
    hits, clusters = clustered(np.random.default_rng(4), 0.4, 400, 20, 0.2)
    assert proportion(hits, clusters).n == pytest.approx(8000 / 4.8, rel=0.1)


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 8)), min_size=1, max_size=60))
def test_the_effective_number_is_never_above_that_of_observations(
    rows: list[tuple[bool, int]],
) -> None:
    hits, clusters = [h for h, _ in rows], [c for _, c in rows]
    found = proportion(hits, clusters)
    assert found.share == sum(hits) / len(hits)
    assert 0 < found.n <= len(hits) + 1e-9
    if len({*hits}) == 1 or len({*clusters}) == 1:
        assert found.n == len({*clusters})


def test_lengths_must_match() -> None:
    with pytest.raises(ValueError, match="2 observations, 1 clusters"):
        proportion([True, False], ["a"])


def covers(found: Corrected, truth: float) -> bool | None:
    if found.low is None or found.high is None:
        return None
    return found.low <= truth <= found.high


@pytest.mark.parametrize(
    ("prevalence", "sensitivity", "specificity", "n", "labelled"),
    [
        (0.1, 0.9, 0.95, 1000, 60),
        (0.02, 0.95, 0.99, 1000, 100),
        (0.5, 0.7, 0.7, 400, 100),
        (0.3, 0.98, 0.98, 300, 30),
    ],
)
@pytest.mark.parametrize(("size", "icc"), [(1, 0.0), (5, 0.3)])
def test_the_interval_covers_a_planted_rate(
    prevalence: float,
    sensitivity: float,
    specificity: float,
    n: int,
    labelled: int,
    size: int,
    icc: float,
) -> None:
    rng = np.random.default_rng(0)
    rate = prevalence * sensitivity + (1 - prevalence) * (1 - specificity)

    def drawn(p: float, count: int) -> Proportion:
        if not icc:
            return of(int(rng.binomial(count, p)), count)
        return proportion(*clustered(rng, p, count // size, size, icc))

    found = [
        corrected_rate(drawn(rate, n), drawn(sensitivity, labelled), drawn(specificity, labelled))
        for _ in range(600)
    ]
    covered = [c for f in found if (c := covers(f, prevalence)) is not None]
    raws = [f.raw for f in found if f.raw is not None]
    assert len(covered) > 500
    assert np.mean(covered) > 0.95 - 3 * math.sqrt(0.05 * 0.95 / len(covered))
    assert np.mean(raws) == pytest.approx(prevalence, abs=0.02)
