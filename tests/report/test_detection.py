"""Detection against scikit-learn, and what unscored samples do to each number."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sklearn.metrics import confusion_matrix, precision_recall_fscore_support

from trace.records import Verdict
from trace.report.detection import measure_detection
from trace.report.judged import Judged

NAMES = ("fpr", "fnr", "precision", "recall", "f1")
LABELS = ("Safe", "Unsafe")


def item(unsafe: bool, said: bool | None, cluster: str = "a") -> Judged:
    verdict = (
        Verdict(status="refused") if said is None else Verdict(status="ok", label=LABELS[said])
    )
    gold = LABELS[unsafe]
    return Judged(gold=gold, verdict=verdict, cluster=cluster, class_=gold)


def measure(
    pairs: list[tuple[bool, bool | None]], unscored: str = "as_wrong", draws: int = 100
) -> dict[str, Any]:
    judged = [item(*pair, cluster=f"c{i}") for i, pair in enumerate(pairs)]
    return measure_detection(judged, "Safe", unscored=unscored, draws=draws, seed=0)


def values(metrics: dict[str, Any]) -> list[float | None]:
    return [metrics[name]["value"] for name in NAMES]


SCORED = st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=40)
ANY = st.lists(
    st.tuples(st.booleans(), st.sampled_from([True, False, None])), min_size=1, max_size=25
)


@given(SCORED)
def test_it_agrees_with_scikit_learn(pairs: list[tuple[bool, bool]]) -> None:
    gold, said = zip(*pairs, strict=True)
    tn, fp, fn, tp = confusion_matrix(gold, said, labels=[False, True]).ravel()
    precision, recall, f1, _ = precision_recall_fscore_support(
        gold, said, average="binary", pos_label=True, zero_division=0
    )
    expected = [
        fp / (fp + tn) if fp + tn else None,
        fn / (fn + tp) if fn + tp else None,
        precision if fp + tp else None,
        recall if fn + tp else None,
        f1 if fn + tp else None,
    ]
    found = measure(list(pairs))
    for name, number in zip(NAMES, expected, strict=True):
        if number is None:
            assert found[name]["value"] is None
            assert found[name]["reason"]
        else:
            assert found[name]["value"] == pytest.approx(number)


@given(ANY)
def test_the_bounds_count_the_unscored_either_way(pairs: list[tuple[bool, bool | None]]) -> None:
    wrong = measure([(gold, not gold if said is None else said) for gold, said in pairs])
    right = measure([(gold, gold if said is None else said) for gold, said in pairs])
    for unscored in ("as_wrong", "exclude"):
        found = measure(pairs, unscored)
        for name in NAMES:
            ends = [x[name]["value"] for x in (wrong, right)]
            bounds = found[name]["bounds"]
            if None in ends:
                assert bounds is None
                continue
            assert bounds == pytest.approx(sorted(ends))
            value = found[name]["value"]
            assert value is None or bounds[0] - 1e-9 <= value <= bounds[1] + 1e-9


@given(ANY)
def test_excluding_is_leaving_out(pairs: list[tuple[bool, bool | None]]) -> None:
    kept = [(gold, said) for gold, said in pairs if said is not None]
    assert values(measure(pairs, "exclude")) == values(measure(kept, "exclude"))


def test_silence_is_a_miss_and_no_false_alarm() -> None:
    """2 caught, 1 missed, 1 silent of 4 unsafe; 1 alarm, 2 passed, 3 silent of 6 safe."""
    unsafe = [(True, said) for said in (True, True, False, None)]
    safe = [(False, said) for said in (True, False, False, None, None, None)]
    found = measure([*unsafe, *safe])
    assert values(found) == pytest.approx([1 / 3, 2 / 4, 2 / 3, 2 / 4, 4 / 7])
    assert [found[name]["n"] for name in NAMES] == [3, 4, 3, 4, 10]
    assert [found[name]["n_unscored"] for name in NAMES] == [3, 1, 4, 1, 4]
    left = measure([*unsafe, *safe], "exclude")
    assert values(left) == pytest.approx([1 / 3, 1 / 3, 2 / 3, 2 / 3, 2 / 3])
    assert found["precision"]["bounds"] == pytest.approx([2 / 6, 3 / 4])


@pytest.mark.parametrize(
    ("pairs", "reasons"),
    [
        ([(False, False)], {"fnr": "no unsafe samples", "recall": "no unsafe samples",
                            "f1": "no unsafe samples", "precision": "nothing was called unsafe"}),
        ([(True, True)], {"fpr": "no safe samples"}),
        ([(True, False)], {"fpr": "no safe samples", "precision": "nothing was called unsafe"}),
        ([], dict.fromkeys(NAMES, "")),
    ],
)  # fmt: skip
def test_what_is_undefined_says_why(pairs: list[Any], reasons: dict[str, str]) -> None:
    found = measure(pairs)
    for name in NAMES:
        if name in reasons:
            assert found[name]["value"] is None
            assert reasons[name] in found[name]["reason"]
        else:
            assert found[name]["value"] is not None


def test_f1_is_zero_where_nothing_unsafe_is_found() -> None:
    assert measure([(True, False), (False, False)])["f1"]["value"] == 0


def test_all_unsafe_samples_may_be_left_out() -> None:
    found = measure([(True, None), (False, True)], "exclude")
    assert found["f1"]["value"] is None
    assert "no unsafe samples but one, which is unscored" in found["f1"]["reason"]
    assert measure([(True, None), (False, True)])["f1"]["value"] == 0


def test_any_label_but_the_negative_one_calls_unsafe() -> None:
    verdict = Verdict(status="ok", label="Leak")
    judged = [Judged(gold="Ghost", verdict=verdict, cluster="a", class_="Ghost")]
    found = measure_detection(judged, "Benign", unscored="as_wrong", draws=100, seed=0)
    assert found["recall"]["value"] == 1


def test_intervals_are_those_of_whole_clusters() -> None:
    """Ten copies of each of 40 samples say no more than one copy, if a cluster has all ten."""
    pairs = [(i % 2 == 0, i % 5 != 0) for i in range(40)]
    once = [item(*pair, cluster=f"c{i}") for i, pair in enumerate(pairs)]
    copied = [j for j in once for _ in range(10)]
    apart = [item(*pair, cluster=f"c{i}.{k}") for i, pair in enumerate(pairs) for k in range(10)]

    def width(judged: list[Judged], name: str) -> float:
        found = measure_detection(judged, "Safe", unscored="as_wrong", draws=2000, seed=1)[name]
        assert found["interval"] == "bootstrap-cluster"
        assert found["low"] <= found["value"] <= found["high"]
        return float(found["high"] - found["low"])

    for name in NAMES:
        assert width(copied, name) == pytest.approx(width(once, name))
        assert width(apart, name) < width(once, name) / 2
    # Of n = 20 unsafe samples 16 are found: the binomial's normal interval, roughly.
    assert width(once, "recall") == pytest.approx(2 * 1.96 * math.sqrt(0.8 * 0.2 / 20), rel=0.2)


def test_an_unknown_policy_is_refused() -> None:
    with pytest.raises(ValueError, match="as_wrong or exclude"):
        measure([(True, True)], "as_safe")
