"""The figures that the evidence study (arXiv 2608.24232) publishes, and those that do not agree.

Percentages are as printed there. Of 5,000 triples the study says that 54% of the traces and 55% of
the responses are safe, and of 1,993 prompts that 43% are.
"""

from __future__ import annotations

import pytest

from trace.benchmarks.evidence.taxonomy import ATTACK_NAMES, CATEGORY_NAMES
from trace.benchmarks.evidence.triple import LANGUAGES
from trace.records import Verdict
from trace.report.detection import measure_detection
from trace.report.judged import Judged
from trace.stats.agreement import agreement

Percent = dict[str, float]


def percent(*, tp: int, unsafe: int, fp: int, safe: int) -> Percent:
    """What `measure_detection` makes of these counts, with the study's two decimals."""
    groups = [("Unsafe", "Unsafe", tp), ("Unsafe", "Safe", unsafe - tp), ("Safe", "Unsafe", fp),
              ("Safe", "Safe", safe - fp)]  # fmt: skip
    judged = [
        Judged(gold=gold, verdict=Verdict(status="ok", label=said), cluster="a", class_=gold)
        for gold, said, times in groups
        for _ in range(times)
    ]
    found = measure_detection(judged, "Safe", unscored="as_wrong", draws=1, seed=0)
    return {name: round(100 * metric["value"], 2) for name, metric in found.items()}


@pytest.mark.parametrize(
    ("counts", "printed"),
    [  # counts over 5,000 triples that give all of the printed figures at once
        ({"tp": 1980, "unsafe": 2293, "fp": 427, "safe": 2707},  # YuFeng-XGuard, traces
         {"precision": 82.26, "recall": 86.35, "fnr": 13.65, "fpr": 15.77, "f1": 84.26}),
        ({"tp": 1999, "unsafe": 2236, "fp": 408, "safe": 2764},  # YuFeng-XGuard, responses
         {"precision": 83.05, "recall": 89.40, "fnr": 10.60, "fpr": 14.76, "f1": 86.11}),
        ({"tp": 2416, "unsafe": 2672, "fp": 212, "safe": 2328},  # PolyGuard, prompts
         {"precision": 91.93, "recall": 90.42, "fnr": 9.58, "fpr": 9.11, "f1": 91.17}),
    ],
)  # fmt: skip
def test_the_figures_of_a_guard_belong_together(counts: dict[str, int], printed: Percent) -> None:
    assert percent(**counts) == pytest.approx(printed, abs=0.0051)


def unsafe_share(precision: float, recall: float, fpr: float) -> float:
    """The share of unsafe samples under which three rates hold together (Bayes' rule)."""
    odds = precision / (1 - precision) * fpr / recall
    return odds / (1 + odds)


@pytest.mark.parametrize(
    ("rates", "stated", "agrees"),
    [
        ((0.8226, 0.8635, 0.1577), 0.46, True),  # traces
        ((0.8305, 0.8940, 0.1476), 0.45, True),  # responses
        ((0.9193, 0.9042, 0.0911), 0.57, False),  # prompts: 0.534
    ],
)
def test_the_share_of_unsafe_samples(
    rates: tuple[float, float, float], stated: float, agrees: bool
) -> None:
    """The prompts' figures are not those of the 1,993 distinct prompts, of which 57% are unsafe.

    They may be those of the 5,000 triples; so both are reported here, each under its name.
    """
    assert (abs(unsafe_share(*rates) - stated) < 0.005) == agrees


def test_no_counts_of_distinct_prompts_give_polyguards_figures() -> None:
    """Whatever 57% (to the percent) of 1,993 prompts may be."""
    for unsafe in range(round(0.565 * 1993), round(0.575 * 1993) + 1):
        tp, fp = round(0.9042 * unsafe), round(0.0911 * (1993 - unsafe))
        for caught in (tp - 1, tp, tp + 1):
            for alarms in (fp - 1, fp, fp + 1):
                assert caught / (caught + alarms) - 0.9193 > 0.005


@pytest.mark.parametrize(
    ("first", "second", "printed"),
    [
        (88.27, 86.11, 2.16),  # YuFeng-XGuard's F1, prompts less responses
        (88.27, 84.26, 4.01),  # and less traces
        (84.26, 24.34, 59.92),  # above LlamaGuard-1, whose figure is only implied
        (84.26, 59.02, 25.24),  # above ShieldGemma-9B
        (11.68, 9.53, 2.15),  # TokenF1 above Octopus, whose figures are implied: prompts
        (14.88, 14.56, 0.32),  # traces
        (13.71, 13.25, 0.46),  # responses
        (75.75, 66.31, 9.44),  # unweighted means of F1 over 18 guards, prompts less traces
        (84.93, 82.99, 1.94),  # TRACE-Q less TRACE-G, within two points: traces
        (86.70, 85.01, 1.69),  # responses
    ],
)
def test_differences(first: float, second: float, printed: float) -> None:
    assert first - second == pytest.approx(printed, abs=0.011)


@pytest.mark.parametrize(
    ("first", "second", "printed"), [(38.85, 15.25, 39.45), (35.16, 29.89, 11.23)]
)
def test_gaps_under_encryption_that_do_not_agree(
    first: float, second: float, printed: float
) -> None:
    """23.60 and 5.27 by the F1 of both guards: the printed gaps are of something else."""
    assert abs(first - second - printed) > 5


def test_how_the_benchmark_is_made_up() -> None:
    assert len(CATEGORY_NAMES) * len(LANGUAGES) == 18
    assert len(ATTACK_NAMES) == 10
    assert round(0.43 * 1993) == 857
    assert round(5000 / (1993 * 4), 3) == 0.627  # of all prompts with all four models


def test_a_kappa_of_84_is_an_agreement_of_92() -> None:
    """On 1,000 items that both label unsafe as often as safe."""
    votes = [("u", "u")] * 460 + [("s", "s")] * 460 + [("u", "s"), ("s", "u")] * 40
    assert agreement("cohen", votes).value == pytest.approx(0.84)
    assert agreement("percent", votes).value == pytest.approx(0.92)
