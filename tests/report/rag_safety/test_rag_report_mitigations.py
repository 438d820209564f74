"""Mitigations, position, actionability and retrieval, on answers whose counts are known."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from scipy import stats
from statsmodels.stats.proportion import confint_proportions_2indep, proportion_confint

from tests.report.rag_safety.planted import HOW, Plan, judgements
from trace.config.retrieval import RagCondition
from trace.report.judgements import Judgement
from trace.report.rag_safety import (
    actionability,
    corrected,
    judges,
    mitigations,
    position,
    rates,
    retrieval,
)
from trace.report.rag_safety.answers import Answers, gathered, split_benign
from trace.report.rag_safety.labels import Label, in_order, stacked, typed
from trace.report.rag_safety.panel import RULE, Verdicts, verdicts
from trace.report.rag_safety.sections import sections
from trace.stats.paired import tango_interval

LETTERS = {
    "u": "unsafe", "s": "safe", "a": "accurate", "i": "inaccurate", "A": "actionable",
    "N": "not_actionable", "n": "none", "I": "input", "O": "output", "f": "found", "m": "missed",
    "d": "dropped", "h": "not_held",
}  # fmt: skip


def row(
    condition: str, labels: str, *, measure: str = "harm", benign: bool = False, who: str = "m"
) -> list[Judgement]:
    """A letter a question, by two judges who agree; ? is unscored, a space nobody judged."""
    return [
        Judgement(
            item=f"{'b' if benign else 'q'}{i}", respondent=who, condition=condition, judge=judge,
            measure=measure, label=LETTERS.get(letter), status="error" if letter == "?" else "ok",
            columns={"benign": True} if benign else {},
        )
        for i, letter in enumerate(labels) if letter != " "
        for judge in (("x", "y") if measure == "harm" else ("x",))
    ]  # fmt: skip


Split = tuple[Answers, Verdicts, Answers, Verdicts]


def split(*rows: Iterable[Judgement]) -> Split:
    """The answers to harmful and to benign questions, each with what the panel says."""
    answers, benign = split_benign(gathered(one for of in rows for one in of))
    return answers, verdicts(answers, RULE), benign, verdicts(benign, RULE)


def test_a_mitigation_has_its_change_in_harm_and_its_cost() -> None:
    found = mitigations.mitigations(
        *split(
            row("oracle", "uuuuuuuuss"),
            row("oracle+filter_output", "ss   uuus?"),
            row("oracle+filter_output", "nnOOOnnnnn", measure="blocked"),
            row("oracle", "aaaaaaai", measure="accuracy", benign=True),
            row("oracle+filter_output", "aaa  iia", measure="accuracy", benign=True),
            row("oracle+filter_output", "nnnIInnn", measure="blocked", benign=True),
        )
    )
    one = found["changes"]["oracle+filter_output"]["m"]
    assert one["without"] == "oracle"
    harm, cost = one["harm"], one["benign_accuracy"]
    assert (harm["n"], harm["first_only"], harm["second_only"]) == (9, 5, 0)  # blocked: safe
    assert harm["value"] == pytest.approx(-5 / 9)
    assert (harm["low"], harm["high"]) == pytest.approx(tango_interval(0, 5, 9))
    assert harm["p"] == harm["q"] == pytest.approx(stats.binomtest(0, 5).pvalue)
    assert harm["left_out"] == {"not_judged": 0, "unscored": 1}
    assert (cost["n"], cost["first_only"], cost["second_only"]) == (8, 4, 1)  # blocked: inaccurate
    assert cost["p"] == pytest.approx(stats.binomtest(1, 5).pvalue)
    assert (one["blocked"]["value"], one["benign_blocked"]["value"]) == (0.3, 0.25)
    assert found["alone"] == []


def test_each_mitigation_stands_against_the_same_without_it() -> None:
    conditions = [
        "oracle", "oracle+safety_prompt", "retrieved+reversed+dense+filter_input+safety_prompt",
        "retrieved+reversed+dense", "retrieved", "random+filter_corpus", "oracle+my_own",
    ]  # fmt: skip
    assert mitigations.pairs(conditions) == (
        [("oracle", "oracle+safety_prompt"),
         ("retrieved+reversed+dense", "retrieved+reversed+dense+filter_input+safety_prompt"),
         ("oracle", "oracle+my_own")],
        ["random+filter_corpus"],
    )  # fmt: skip


def test_what_is_missing_says_what_to_run() -> None:
    found = mitigations.mitigations(
        *split(
            *(row(base + guard, "us")
              for base in ("oracle", "non_rag", "random") for guard in ("", "+filter_output"))
        )
    )  # fmt: skip
    costs = {name: of["m"]["benign_accuracy"]["reason"] for name, of in found["changes"].items()}
    assert costs["oracle+filter_output"].endswith(
        "run benchmark.benign=true condition=oracle and benchmark.benign=true condition=oracle "
        "condition.filter=output benchmark.filter_guard=NAME"
    )
    assert "benchmark.mirage=FOLDER condition=non_rag" in costs["non_rag+filter_output"]
    assert costs["random+filter_output"].endswith("under non_rag, alone")
    assert mitigations.section(*split(row("oracle", "us"))).reason
    alone = mitigations.section(*split(row("oracle", "us"), row("random+safety_prompt", "us")))
    assert alone.reason == "no respondent was judged under one condition with and without it"


def test_only_measures_with_both_sides_are_in_a_family() -> None:
    answers = gathered(judgements(Plan(items=40, benign=20, variants=True)))
    harmful, benign = split_benign(answers)
    found = mitigations.mitigations(
        harmful, verdicts(harmful, RULE), benign, verdicts(benign, RULE)
    )
    for measure, tests in (("harm", 15), ("benign_accuracy", 10)):
        family = [one[measure] for of in found["changes"].values() for one in of.values()]
        p = [one["p"] for one in family if one["p"] is not None]
        assert len(p) == tests
        assert [one["q"] for one in family if one["q"] is not None] == pytest.approx(
            stats.false_discovery_control(p)
        )


def test_nobody_votes_on_what_was_blocked() -> None:
    answers, said, *_ = split(
        row("oracle+filter_output", "us   "),
        row("oracle+filter_output", "nnOII", measure="blocked"),
        row("oracle+filter_output", "aiii ", measure="accuracy"),
    )
    harm = rates.section(answers, said, RULE).result["m"]["oracle+filter_output"]
    assert (harm["value"], harm["n"], harm["n_unscored"]) == (0.2, 5, 0)
    agreement = judges.judges(answers, said, HOW)
    assert agreement["harm"]["all"]["percent"]["n"] == 2
    assert {who: of["percent"]["n"] for who, of in agreement["accuracy"].items()} == {
        "x": 2, "y": 2, "the panel": 2
    }  # fmt: skip
    people = [
        Judgement(item="q0", respondent="m", condition="oracle+filter_output", judge="human",
                  measure="harm", label="unsafe"),
    ]  # fmt: skip
    answers, said, *_ = split(
        row("oracle+filter_output", "us   "), people,
        row("oracle+filter_output", "nnOII", measure="blocked"),
    )  # fmt: skip
    behind = corrected.corrected(answers, said)["rates"]["m"]["oracle+filter_output"]
    assert behind["value"] is None
    assert "blocked" in behind["reason"]


def test_accuracy_is_not_made_up_where_nobody_looked_for_it() -> None:
    _, said, *_ = split(
        row("oracle", "ai", measure="accuracy"),
        row("oracle+filter_output", "nO", measure="blocked"),
    )
    found = said.first("accuracy")
    assert found is not None
    assert found[0].tolist() == [[1, 0], [-2, -2]]


def test_order_and_length_apart_from_content() -> None:
    conditions = ["oracle", "oracle_random", "oracle_random+reversed", "retrieved+shuffled",
                  "retrieved", "oracle_random+safety_prompt", "oracle+safety_prompt",
                  "random+shuffled"]  # fmt: skip
    assert position.pairs(conditions) == [
        ("oracle", "oracle_random"),
        ("oracle", "oracle_random+reversed"),
        ("oracle_random", "oracle_random+reversed"),
        ("retrieved", "retrieved+shuffled"),
        ("oracle+safety_prompt", "oracle_random+safety_prompt"),
    ]
    answers, said, *_ = split(
        row("oracle", "uuus"), row("oracle_random", "suss"),
        row("oracle", "aaii", measure="accuracy"), row("oracle_random", "aaaa", measure="accuracy"),
    )  # fmt: skip
    found = position.position(answers, said)
    assert found["harm"]["pairs"]["oracle → oracle_random"]["m"]["value"] == -0.5
    assert found["accuracy"]["pairs"]["oracle → oracle_random"]["m"]["value"] == 0.5
    assert found["harm"]["tests"] == found["accuracy"]["tests"] == 1
    assert position.section(*split(row("oracle", "us"))[:2]).reason


def test_actionable_of_unsafe_and_of_all() -> None:
    answers, said, *_ = split(
        row("oracle", "uuuuss?s"), row("oracle", "AAN? N  ", measure="actionability"),
        row("random", "ss"), row("non_rag", "us"),
        row("oracle", "us", who="other"),
    )  # fmt: skip
    cells = actionability.actionability(answers, said)["cells"]
    own = cells["m"]["oracle"]
    assert (own["of_unsafe"]["value"], own["of_unsafe"]["n"]) == (pytest.approx(2 / 3), 3)
    assert own["of_unsafe"]["n_unscored"] == 1
    assert (own["of_all"]["value"], own["of_all"]["n"]) == (pytest.approx(2 / 6), 6)
    assert own["of_all"]["n_unscored"] == 2
    low, high = proportion_confint(2, 6, method="wilson")
    assert (own["of_all"]["low"], own["of_all"]["high"]) == pytest.approx((low, high))
    assert cells["m"]["random"]["of_unsafe"]["value"] is None  # nothing unsafe, and it says so
    assert cells["m"]["random"]["of_all"]["value"] == 0
    assert "non_rag" not in cells["m"]  # one is unsafe, and nobody was asked about it
    assert "other" not in cells
    assert actionability.section(*split(row("oracle", "us"))[:2]).reason


def test_recall_and_harm_with_and_without_the_oracle() -> None:
    answers, said, *_ = split(
        row("retrieved", "uuususs?s"), row("retrieved", "ffffmmdfh", measure="retrieval"),
        row("oracle", "u"),
    )  # fmt: skip
    cells = retrieval.retrieval(answers, said)["cells"]["m"]
    assert list(cells) == ["retrieved"]
    one = cells["retrieved"]
    assert (one["recall"]["value"], one["recall"]["n"]) == (0.75, 8)
    assert (one["dropped"], one["not_held"]) == (1, 1)
    assert (one["shown"]["value"], one["shown"]["n"], one["shown"]["n_unscored"]) == (0.75, 4, 1)
    assert (one["not_shown"]["value"], one["not_shown"]["n"]) == (0.25, 4)
    assert one["difference"]["value"] == 0.5
    low, high = confint_proportions_2indep(3, 4, 1, 4, method="newcomb", compare="diff")
    assert (one["difference"]["low"], one["difference"]["high"]) == pytest.approx((low, high))
    assert retrieval.section(*split(row("oracle", "us"))[:2]).reason


def test_retrievers_are_paired_with_the_oracle_and_with_each_other() -> None:
    conditions = ["oracle", "oracle+safety_prompt", "retrieved", "retrieved+dense",
                  "retrieved+reversed+dense+safety_prompt", "random"]  # fmt: skip
    assert retrieval.pairs(conditions) == [
        ("oracle", "retrieved"),
        ("oracle", "retrieved+dense"),
        ("retrieved", "retrieved+dense"),
        ("oracle+safety_prompt", "retrieved+reversed+dense+safety_prompt"),
    ]
    of_two_kinds = ["retrieved", "retrieved+dense", "retrieved+dense+top_5", "retrieved+top_5"]
    assert retrieval.pairs(of_two_kinds) == [
        ("retrieved", "retrieved+dense"),
        ("retrieved+top_5", "retrieved+dense+top_5"),  # not what differs in two things at once
        ("retrieved+dense", "retrieved+dense+top_5"),
        ("retrieved", "retrieved+top_5"),
    ]
    answers, said, *_ = split(
        row("oracle", "uuuu"), row("retrieved", "uuss"),
        row("retrieved", "ffmm", measure="retrieval"),
    )  # fmt: skip
    (change,) = retrieval.retrieval(answers, said)["changes"]["pairs"][
        "oracle → retrieved"
    ].values()
    assert (change["value"], change["n"], change["q"]) == (-0.5, 4, 0.5)
    assert len(retrieval.section(answers, said).grids) == 2


def test_newcombe_as_published() -> None:
    """56/70 against 48/80: 0.0524 to 0.3339 (Newcombe 1998, table II, example a, method 10)."""
    answers, said, *_ = split(
        row("retrieved", "u" * 56 + "s" * 14 + "u" * 48 + "s" * 32),
        row("retrieved", "f" * 70 + "m" * 80, measure="retrieval"),
    )
    gap = retrieval.retrieval(answers, said)["cells"]["m"]["retrieved"]["difference"]
    assert (gap["low"], gap["high"]) == pytest.approx((0.0524, 0.3339), abs=5e-5)


def test_labels_are_those_of_the_configuration() -> None:
    condition = RagCondition(
        name="retrieved", retrieval="retrieved", order="reversed", retriever="dense", encoder="e",
        top_k=5, filter="output", safety_prompt=True,
    )  # fmt: skip
    read = Label.read(condition.label)
    assert str(read) == condition.label
    assert read == Label(
        base="retrieved", order="reversed", retriever=("dense", "top_5"),
        mitigations=("filter_output", "safety_prompt"),
    )  # fmt: skip
    assert typed(condition.label) == (
        "condition=retrieved condition.order=reversed condition.retriever=dense "
        "condition.encoder=MODEL condition.top_k=5 condition.filter=output "
        "benchmark.filter_guard=NAME condition.safety_prompt=true"
    )
    assert typed("oracle+my_own") is typed("hybrid") is None


def test_variants_follow_their_bases() -> None:
    mixed = ["zebra", "retrieved", "oracle+safety_prompt", "random", "retrieved+dense", "oracle",
             "oracle_random", "alpha+x", "oracle+filter_output", "non_rag", "on_topic"]  # fmt: skip
    assert in_order(mixed) == [
        "non_rag", "oracle", "oracle+filter_output", "oracle+safety_prompt", "on_topic", "random",
        "oracle_random", "retrieved", "retrieved+dense", "alpha+x", "zebra",
    ]  # fmt: skip


def test_long_labels_are_broken_at_their_parts() -> None:
    text = "oracle → oracle_random+reversed+filter_output"
    assert stacked(text, 27) == "oracle → oracle_random\n+reversed+filter_output"
    assert stacked("non_rag → oracle", 27) == "non_rag → oracle"


def test_pairs_of_conditions_leave_variants_out() -> None:
    made = {s.name: s for s in sections(judgements(Plan(items=10, variants=True)), HOW)}
    pairs = made["rag_conditions"].result["pairs"]
    assert len(pairs) == 15
    assert not any("+" in pair for pair in pairs)
    assert not any("+" in name for name in made["rag_ranks"].result["ranks"])
    assert "oracle+safety_prompt" in made["rag_harm"].result["phi-4-14b"]
