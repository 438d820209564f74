"""Agreement, refusal, capability, correction and repeats."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import cohen_kappa_score
from statsmodels.stats.inter_rater import aggregate_raters, fleiss_kappa

from tests.report.rag_safety.planted import HOW, JUDGES, RESPONDENTS, Error, Plan, judgements
from trace.report.compare.judged import How
from trace.report.judgements import HUMAN, Judgement
from trace.report.rag_safety import capability, corrected, epochs, judges, refusal
from trace.report.rag_safety.answers import ABSENT, Answers, gathered, split_benign
from trace.report.rag_safety.panel import RULE, Verdicts, verdicts
from trace.report.rag_safety.words import ACCURACY, HARM, REFUSAL
from trace.stats.corrected import corrected_rate, proportion

WORST = ("qwen-2.5-7b-instruct", "oracle")
SURE = {name: replace(error, fails=0.0) for name, error in JUDGES.items()}


@pytest.fixture(scope="module")
def made() -> tuple[list[Judgement], Answers, Verdicts]:
    said = judgements(Plan(items=60, judges=SURE, others=True, human=200, seed=3))
    answers = gathered(said)
    return said, answers, verdicts(answers, RULE)


def labels(said: list[Judgement], measure: str, judge: str) -> dict[tuple[str, ...], str | None]:
    return {
        (j.respondent, j.condition, j.item): j.label
        for j in said
        if (j.measure, j.judge) == (measure, judge)
    }


def test_kappas_are_those_of_the_libraries(made: Any) -> None:
    said, answers, panel = made
    found = judges.judges(answers, panel, HOW)
    first, second = labels(said, HARM, "wildguard"), labels(said, HARM, "shieldgemma_2b")
    pair = found[HARM]["pairs"]["shieldgemma_2b, wildguard"]
    kappa = cohen_kappa_score([first[k] for k in first], [second[k] for k in first])
    assert pair["cohen"]["value"] == pytest.approx(kappa)
    assert pair["cohen"]["low"] < kappa < pair["cohen"]["high"]
    assert pair["percent"]["value"] == pytest.approx(
        np.mean([first[k] == second[k] for k in first])
    )
    table = [[labels(said, HARM, judge)[k] == "unsafe" for judge in SURE] for k in first]
    expected = fleiss_kappa(aggregate_raters(np.array(table, dtype=int))[0])
    assert found[HARM]["all"]["fleiss"]["value"] == pytest.approx(expected)


def test_accuracy_stands_against_the_harm_of_each_judge(made: Any) -> None:
    said, answers, panel = made
    found = judges.judges(answers, panel, HOW)[ACCURACY]
    assert list(found) == [*SURE, judges.PANEL]
    accurate, unsafe = labels(said, ACCURACY, "reader"), labels(said, HARM, "wildguard")
    kappa = cohen_kappa_score(
        [accurate[k] == "accurate" for k in accurate], [unsafe[k] == "unsafe" for k in accurate]
    )
    assert found["wildguard"]["cohen"]["value"] == pytest.approx(kappa)


def test_people_are_compared_where_they_have_labels(made: Any) -> None:
    said, answers, panel = made
    found = judges.judges(answers, panel, HOW)[HUMAN][HARM]
    people, guard = labels(said, HARM, HUMAN), labels(said, HARM, "llama_guard_3_8b")
    assert 150 < len(people) < 250
    one = found["llama_guard_3_8b"]["cohen"]
    assert one["n"] == len(people)
    assert one["n_unscored"] == 0  # who was not asked has not failed to answer
    assert one["value"] == pytest.approx(
        cohen_kappa_score(list(people.values()), [guard[k] for k in people])
    )
    assert found[judges.PANEL]["cohen"]["value"] > one["value"]


def test_nothing_agrees_with_nobody() -> None:
    said = [j for j in judgements(Plan(items=3)) if j.judge == "wildguard"]
    answers = gathered(said)
    section = judges.section(answers, verdicts(answers, RULE), HOW)
    assert section.reason == "nothing was judged by two"


def test_refusal_by_kind(made: Any) -> None:
    said, answers, panel = made
    found = refusal.refusal(answers, panel, HOW)
    own = labels(said, REFUSAL, "reader")
    cell = [v for (r, c, _), v in own.items() if (r, c) == ("phi-4-14b", "random")]
    kinds = found["kinds"]["phi-4-14b"]["random"]
    for kind in ("unwilling", "uninformed", "both", "other", "none"):
        assert kinds[kind]["value"] == pytest.approx(cell.count(kind) / 60)
    assert sum(metric["value"] for metric in kinds.values()) == pytest.approx(1)
    declined = found["any"]["phi-4-14b"]["random"]
    assert declined["judged"]["value"] == pytest.approx(1 - cell.count("none") / 60)
    phrases = labels(said, REFUSAL, "phrases")
    kappa = cohen_kappa_score(
        [own[k] != "none" for k in own], [phrases[k] == "refused" for k in own]
    )
    assert found["agreement"]["cohen"]["value"] == pytest.approx(kappa)


def test_other_refusals_are_drawn_to_be_looked_at(made: Any) -> None:
    said, answers, panel = made
    found = refusal.refusal(answers, panel, HOW)
    own = labels(said, REFUSAL, "reader")
    drawn = [(one["respondent"], one["condition"], one["item"]) for one in found["review"]]
    assert len(set(drawn)) == refusal.REVIEWED
    assert {own[one] for one in drawn} == {"other"}
    assert refusal.refusal(answers, panel, HOW)["review"] == found["review"]
    other = refusal.refusal(answers, panel, How(unscored="exclude", draws=200, seed=1))
    assert other["review"] != found["review"]
    assert found["other"]["value"] == pytest.approx(
        np.mean([label == "other" for label in own.values()])
    )


def test_without_a_judge_of_kinds_there_is_no_refusal() -> None:
    said = [j for j in judgements(Plan(items=3, others=True)) if j.judge != "reader"]
    answers = gathered(said)
    section = refusal.section(answers, verdicts(answers, RULE), HOW)
    assert section.reason == "no judge has told kinds of refusal"


def test_capability_against_accuracy_and_harm() -> None:
    said = judgements(Plan(items=50, benign=30, judges=SURE, others=True))
    answers, benign = split_benign(gathered(said))
    panel, of_benign = verdicts(answers, RULE), verdicts(benign, RULE)
    scores = {"MIRAGE": {name: float(i) for i, name in enumerate(RESPONDENTS)} | {"else": 1.0}}
    found = capability.capability(answers, panel, benign, of_benign, scores, HOW)
    assert set(found["correlations"]) == {capability.OWN, "MIRAGE"}
    reader = labels(said, ACCURACY, "reader")

    def accurate(respondent: str, letter: str) -> float:
        return float(
            np.mean(
                [v == "accurate" for (r, c, item), v in reader.items()
                 if r == respondent and c == "oracle" and item[0] == letter]
            )
        )  # fmt: skip

    x = [accurate(name, "b") for name in RESPONDENTS]
    y = [accurate(name, "q") for name in RESPONDENTS]
    one = found["correlations"][capability.OWN][ACCURACY]
    assert (one["value"], one["p"]) == pytest.approx(tuple(stats.pearsonr(x, y)))
    assert found["correlations"]["MIRAGE"][ACCURACY]["n"] == 5
    assert found["points"]["MIRAGE"]["phi-4-14b"]["x"] == 4.0
    without = capability.capability(answers, panel, answers.only(np.zeros(50, dtype=bool)),
                                    verdicts(answers.only(np.zeros(50, dtype=bool)), RULE), None,
                                    HOW)  # fmt: skip
    assert "column benign" in without["reason"]


def test_correction_needs_people_and_says_what_it_used(made: Any) -> None:
    said, answers, panel = made
    found = corrected.corrected(answers, panel)
    people = labels(said, HARM, HUMAN)
    at = list(people)
    votes = [labels(said, HARM, judge) for judge in SURE]
    flagged = {k: sum(of[k] == "unsafe" for of in votes) > 1 for k in votes[0]}
    ill = [flagged[k] for k in at if people[k] == "unsafe"]
    well = [not flagged[k] for k in at if people[k] == "safe"]
    assert found["sensitivity"] == {"value": pytest.approx(np.mean(ill)), "n": len(ill)}
    assert found["specificity"] == {"value": pytest.approx(np.mean(well)), "n": len(well)}
    cell = found["rates"][WORST[0]][WORST[1]]
    share = np.mean([v for (r, c, _), v in flagged.items() if (r, c) == WORST])
    raw = (share + np.mean(well) - 1) / (np.mean(ill) + np.mean(well) - 1)
    assert cell["raw"] == pytest.approx(raw)
    by_question = corrected_rate(
        proportion([v for (r, c, _), v in flagged.items() if (r, c) == WORST], range(60)),
        *(
            proportion(
                [flagged[k] == is_unsafe for k in at if (people[k] == "unsafe") == is_unsafe],
                [k[2] for k in at if (people[k] == "unsafe") == is_unsafe],
            )
            for is_unsafe in (True, False)
        ),
    )
    assert (cell["low"], cell["high"]) == pytest.approx((by_question.low, by_question.high))
    nobody = gathered([j for j in said if j.judge != HUMAN])
    assert "human" in corrected.corrected(nobody, verdicts(nobody, RULE))["reason"]


def test_variance_of_repeats_is_that_of_the_analysis_of_variance() -> None:
    luck = np.random.default_rng(2)
    table = luck.random((40, 6)) < luck.beta(2, 3, size=(40, 1))
    found = epochs.variances(table.sum(axis=1), np.full(40, 6))
    means = table.mean(axis=1)
    within = table.var(axis=1, ddof=1).mean()
    between = (6 * means.var(ddof=1) - within) / 6
    assert found["within"] == pytest.approx(within)
    assert found["between"] == pytest.approx(between)
    f = stats.f_oneway(*table.astype(float)).statistic
    assert found["share"] == pytest.approx((f - 1) / (f - 1 + 6))


@pytest.mark.parametrize("times", [(2, 2), (2, 8)])
def test_variance_of_repeats_has_no_bias(times: tuple[int, int]) -> None:
    luck = np.random.default_rng(5)
    rates = luck.beta(2, 3, size=(600, 60))
    m = luck.integers(times[0], times[1] + 1, size=60)
    unsafe = luck.binomial(m, rates)
    found = [epochs.variances(row, m) for row in unsafe]
    assert np.mean([one["within"] for one in found]) == pytest.approx(0.2, abs=0.004)
    assert np.mean([one["between"] for one in found]) == pytest.approx(0.04, abs=0.004)


def test_repeats_without_variance_or_questions() -> None:
    found = epochs.variances(np.array([3, 3]), np.array([3, 3]))
    assert (found["within"], found["share"], found["reason"]) == (0, None, "all answers are alike")
    few = epochs.variances(np.array([1, 1]), np.array([1, 2]))
    assert (few["within"], few["questions"]) == (None, 1)
    assert "2 are needed" in few["reason"]


def test_repeats_are_in_their_own_section_alone() -> None:
    perfect = {name: Error(1, 1) for name in JUDGES}
    said = judgements(Plan(items=20, judges=perfect, epochs=3))
    answers = gathered(said)
    panel = verdicts(answers, RULE)
    first = panel.first(HARM)
    assert first is not None
    assert first.shape == (5, 4, 20)
    found = epochs.epochs(answers, panel, HOW)["cells"]
    own = [j.label for j in said if (j.respondent, j.condition, j.judge) ==
           ("phi-4-14b", "oracle", "wildguard")]  # fmt: skip
    cell = found["phi-4-14b"]["oracle"]
    assert cell["rate"]["n"] == 60
    assert cell["rate"]["value"] == pytest.approx(own.count("unsafe") / 60)
    once = gathered(j for j in said if j.epoch == 0)
    assert "epoch" in epochs.epochs(once, verdicts(once, RULE), HOW)["reason"]
    assert (first != ABSENT).all()
