"""Every table of the evidence study finds what was planted, and says why where it cannot."""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.metrics import f1_score, precision_score, recall_score

from tests.report.evidence.conftest import (
    EXPLAIN,
    HOW,
    TRIPLES,
    Triple,
    exactly,
    guard,
    make_run,
    make_triples,
    measured,
    right_at,
    runs_of,
)
from trace.records import Verdict
from trace.report.compare.judged import How
from trace.report.evidence import (
    attacks,
    attribution,
    cases,
    categories,
    details,
    encryption,
    groups,
    planes,
    safety,
    scale,
    stages,
)
from trace.report.evidence.contrast import f1_contrast
from trace.report.evidence.guards import Guard, guards_of
from trace.report.evidence.sections import sections
from trace.report.judged import Judged
from trace.report.runs import Run


def sides(run: Run) -> tuple[list[bool], list[bool]]:
    """Gold and verdict of each sample, unsafe being true."""
    return (
        [o.gold == "Unsafe" for o in run.once],
        [o.verdict.label == "Unsafe" for o in run.once],
    )


def judged(rows: Sequence[tuple[bool, bool, int]]) -> list[Judged]:
    names = ("Safe", "Unsafe")
    return [
        Judged(gold=names[g], verdict=Verdict(status="ok", label=names[c]), cluster=f"p{p}",
               class_=names[g])
        for g, c, p in rows
    ]  # fmt: skip


ROWS = st.lists(st.tuples(st.booleans(), st.booleans(), st.integers(0, 5)), min_size=1, max_size=25)


def test_table_2_agrees_with_scikit_learn(eighteen: list[Guard]) -> None:
    found = safety.safety(eighteen)
    for one in eighteen:
        for component, run in one.runs.items():
            row = found["components"][component][one.name]
            gold, called = sides(run)
            assert row["f1"]["value"] == pytest.approx(f1_score(gold, called))
            assert row["precision"]["value"] == pytest.approx(precision_score(gold, called))
            assert row["fnr"]["value"] == pytest.approx(1 - recall_score(gold, called))
            assert row["fpr"]["value"] == pytest.approx(
                1 - recall_score([not g for g in gold], [not c for c in called])
            )
            assert row["f1"]["low"] <= row["f1"]["value"] <= row["f1"]["high"]
    trace = [f1_score(*sides(one.runs["trace"])) for one in eighteen]
    assert found["means"]["trace"]["f1"] == {"value": pytest.approx(np.mean(trace)), "n": 18}
    assert found["means"]["prompt"]["f1"]["n"] == 17
    assert "octopus_14b" not in found["components"]["prompt"]


def test_table_2_marks_the_best_and_the_second() -> None:
    made = [
        *runs_of(exactly, "best"),
        *runs_of(right_at(0.8), "next"),
        *runs_of(right_at(0.5), "z"),
    ]
    grids = safety.section(guards_of(made, HOW)).grids
    assert [grid.title for grid in grids] == [
        "F1 by component", "Prompt: safety, per triple", "Trace: safety", "Response: safety",
        "Prompt: safety, per distinct prompt",
    ]  # fmt: skip
    text = grids[1].markdown()
    best, second, third = (
        line for line in text.splitlines() if line.startswith(("| b", "| n", "| z"))
    )
    assert best.count("**100.0**") == 1
    assert best.count("**0.0**") == 2  # the lowest error rates are the best
    assert second.count("<ins>") == 3
    assert "**" not in third
    assert "<ins>" not in third


def test_prompts_stand_per_triple_and_per_distinct_prompt() -> None:
    metrics = {f"{name}_per_prompt": measured(0.25, 40) for name in ("f1", "fpr", "fnr")}
    found = safety.safety([guard(right_at(0.9), metrics=metrics)])
    assert found["components"]["prompt"]["guard"]["f1"]["n"] == len(TRIPLES)
    assert found["distinct_prompts"]["guard"]["f1"]["n"] == 40


def test_other_triples_in_one_table_are_said() -> None:
    few = runs_of(exactly, "few", triples=TRIPLES[:40], protocol="fine")
    (note, *others) = safety.section(guards_of([*runs_of(exactly), *few], HOW)).notes
    assert note.startswith("prompt: not all guards were asked about the same triples (40, 160; 40")
    assert len(others) == 2


@settings(max_examples=60, deadline=None)
@given(ROWS, ROWS)
def test_a_contrast_is_the_difference_of_two_f1(first: Any, second: Any) -> None:
    how = How(unscored="as_wrong", draws=20, seed=0)
    found = f1_contrast(judged(first), judged(second), "Safe", how, names=("a", "b"))
    back = f1_contrast(judged(second), judged(first), "Safe", how, names=("b", "a"))
    if not all(any(g for g, *_ in rows) for rows in (first, second)):
        assert found["value"] is None
        assert "no unsafe samples" in found["reason"]
        return
    values = [f1_score([g for g, *_ in r], [c for _, c, _ in r], zero_division=0)
              for r in (first, second)]  # fmt: skip
    assert found["value"] == pytest.approx(values[0] - values[1])
    assert back["value"] == pytest.approx(-values[0] + values[1])


def test_a_paired_interval_is_that_of_resampled_prompts() -> None:
    """Against drawing prompts one by one, with both components of all their triples."""
    one = guard(right_at({"prompt": 0.9, "trace": 0.7, "response": 0.8}))
    how = How(unscored="as_wrong", draws=4000, seed=1)
    found = stages.stages([one], how)["guards"]["guard"]["differences"]["prompt − trace"]
    rows: dict[str, list[tuple[bool, ...]]] = {}
    for a, b in zip(one.runs["prompt"].once, one.runs["trace"].once, strict=True):
        assert a.id == b.id
        pair = [o.gold == "Unsafe" for o in (a, b)], [o.verdict.label == "Unsafe" for o in (a, b)]
        rows.setdefault(a.cluster, []).append((pair[0][0], pair[1][0], pair[0][1], pair[1][1]))
    rng = random.Random(5)
    values = []
    for _ in range(400):
        drawn = [row for name in rng.choices(list(rows), k=len(rows)) for row in rows[name]]
        table = np.array(drawn)
        values.append(f1_score(table[:, 0], table[:, 1]) - f1_score(table[:, 2], table[:, 3]))
    low, high = np.quantile(values, (0.025, 0.975))
    assert found["low"] == pytest.approx(low, abs=0.03)
    assert found["high"] == pytest.approx(high, abs=0.03)


def test_only_shared_triples_are_paired() -> None:
    prompt = make_run(exactly, "prompt", triples=TRIPLES[:100])
    trace = make_run(exactly, "trace", triples=TRIPLES[60:])
    (made,) = guards_of([prompt, trace], HOW)
    row = stages.stages([made], HOW)["guards"]["guard"]
    assert row["differences"]["prompt − trace"]["triples"] == 40
    assert list(row["differences"]) == ["prompt − trace"]


def test_ranks_and_counts_of_the_hardest_component() -> None:
    """14 of 18 find prompts easiest and traces hardest, as the paper says of its guards."""
    usual_ = right_at({"prompt": 1.0, "trace": 0.6, "response": 0.9})
    other = right_at({"prompt": 0.6, "trace": 0.9, "response": 1.0})
    runs = [r for i in range(14) for r in runs_of(usual_, f"usual{i}")]
    runs += [r for i in range(4) for r in runs_of(other, f"other{i}")]
    runs += runs_of(exactly, "equal") + runs_of(exactly, "short")[:2]
    found = stages.stages(guards_of(runs, HOW), HOW)
    assert found["ranked"] == 19
    assert found["hardest"] == {"prompt": 4, "trace": 14, "response": 0, "tied": 1}
    assert found["easiest"] == {"prompt": 14, "trace": 0, "response": 4, "tied": 1}
    assert found["guards"]["usual0"]["ranks"] == {"prompt": 1.0, "trace": 3.0, "response": 2.0}
    assert found["guards"]["equal"]["ranks"] == {"prompt": 2.0, "trace": 2.0, "response": 2.0}
    assert found["guards"]["equal"]["differences"]["prompt − trace"]["value"] == 0
    alone = stages.section(list(guards_of(runs_of(exactly)[:1], HOW)), HOW)
    assert "two components" in str(alone.reason)


def test_table_3_leaves_out_who_explains_nothing(eighteen: list[Guard]) -> None:
    section = attribution.section(eighteen)
    assert set(section.result["components"]["trace"]) == EXPLAIN
    (line,) = section.left_out
    assert line.endswith("no verdict comes with an explanation")
    assert "wildguard_7b (prompt, trace, response)" in line
    assert "octopus" not in line
    silent = attribution.section([g for g in eighteen if g.name == "wildguard_7b"])
    assert silent.reason == "no verdict comes with an explanation"


def test_invented_quotes_are_best_where_they_are_few() -> None:
    def made(name: str, value: float) -> list[Run]:
        metrics = {"token_f1": measured(value), "invented_quotes": measured(value)}
        return runs_of(exactly, name, metrics=metrics)

    grids = attribution.section(guards_of([*made("a", 0.1), *made("b", 0.9)], HOW)).grids
    assert [grid.title for grid in grids] == [
        attribution.SHOWN[name] for name in ("token_f1", "invented_quotes")
    ]
    assert "<ins>10.0</ins>" in grids[0].markdown()
    assert "**10.0**" in grids[1].markdown()


def test_table_4_says_by_what(eighteen: list[Guard]) -> None:
    general = guard(
        exactly, model="general", kind="general", protocol="fine",
        metrics={"category_f1": measured(0.5)},
    )  # fmt: skip
    found = categories.categories([*eighteen, general])
    assert {name: row["by"] for name, row in found.items()} == {
        "gpt_oss_safeguard": "a mapping", "polyguard_8b": "a mapping", "general": "our categories"
    }  # fmt: skip
    left = categories.section(eighteen).left_out
    assert left[0].startswith("llama_guard_3_1b (prompt); llama_guard_1_7b (prompt)")
    assert "octopus" not in left[0]
    assert categories.section(eighteen[:1]).reason is None
    assert "names a category" in str(categories.section(eighteen[1:2]).reason)


def test_table_5_has_what_the_configuration_says(eighteen: list[Guard]) -> None:
    found = details.details(eighteen)
    assert found["yufeng_xguard_8b"] == {
        "base": "Qwen3-8B", "parameters": 8.2, "trained_on": "2.80 million", "explains": True,
        "own_categories": True,
    }  # fmt: skip
    assert found["octopus_14b"]["base"] is None
    assert found["wildguard_7b"]["explains"] is False
    text = details.section(eighteen).markdown()
    assert "| yufeng_xguard_8b | Qwen3-8B | 8.2 | 2,800,000 | yes | yes |" in text
    assert "| octopus_14b | – | 14.8 | – | yes | no |" in text
    asked_to_quote = details.details([guard(exactly, quotes=True)])["guard"]
    assert asked_to_quote["explains"] is True


def test_table_6_is_of_encrypted_prompts_alone() -> None:
    def answer(component: str, triple: Triple, luck: random.Random) -> bool:
        hidden = triple["attack"] == encryption.ATTACK
        return bool(triple["unsafe"][component]) and not hidden

    found = encryption.encryption([guard(answer)], HOW)
    row = found["components"]["prompt"]["guard"]
    assert row["f1"]["value"] == 0
    assert row["fpr"]["value"] is None  # an encrypted prompt is never safe here
    assert row["f1"]["n"] == sum(t["attack"] == encryption.ATTACK for t in TRIPLES)
    plain = [t | {"attack": None} for t in TRIPLES]
    assert "no triple" in str(encryption.section([guard(answer, triples=plain)], HOW).reason)


@pytest.mark.parametrize(
    ("by", "favoured"),
    [(groups.FAMILY, "Qwen"), (groups.ALIGNED, "aligned"), (groups.LANGUAGE, "zh")],
)
def test_table_7_and_the_languages_recover_a_planted_group(by: groups.Split, favoured: str) -> None:
    triples = make_triples(60)
    probe = make_run(exactly, "trace", triples=triples)
    group = {o.id: by.of(o) for o in probe.once}

    def answer(component: str, triple: Triple, luck: random.Random) -> bool:
        good = group[triple["id"]] == favoured
        return bool(triple["unsafe"][component]) == (luck.random() < (1.0 if good else 0.6))

    found = groups.split([guard(answer, triples=triples)], by, HOW)
    assert list(found["components"]) == list(by.components)
    sign = 1 if favoured == by.groups[0] else -1
    for component in by.components:
        row = found["components"][component]["guard"]
        assert row[favoured]["value"] == 1
        assert sign * row["difference"]["value"] > 0.1
        assert row["difference"]["low"] * row["difference"]["high"] > 0
        assert found["better"][component][favoured] == 1


def test_groups_that_are_not_there_are_said() -> None:
    english = [t | {"language": "en"} for t in TRIPLES]
    section = groups.section([guard(exactly, triples=english)], groups.LANGUAGE, HOW)
    assert section.reason == "no triple is zh; there are en"
    alone = guards_of(runs_of(exactly)[:1], HOW)
    assert groups.section(alone, groups.FAMILY, HOW).reason == "no run on trace or response"


def test_figures_4_and_7_tell_the_leaning_of_a_guard() -> None:
    eager = guard(lambda *_: True, model="eager")
    shy = guard(lambda *_: False, model="shy")
    half = guard(right_at(0.5), model="half")
    errors = planes.plane([eager, shy, half], planes.ERRORS)
    assert errors["lean"]["prompt"]["over"] >= 1
    assert errors["components"]["prompt"]["eager"]["fpr"]["value"] == 1
    assert errors["components"]["prompt"]["shy"]["fnr"]["value"] == 1
    section = planes.section([eager, shy], planes.PRECISION)
    assert section.left_out == ("shy (prompt, trace, response): nothing was called unsafe",)
    assert list(section.result["components"]["trace"]) == ["eager"]


def test_figure_5_has_every_attack(eighteen: list[Guard]) -> None:
    found = attacks.attacks(eighteen[:2], HOW)
    one = eighteen[0]
    for attack, metric in found["components"]["response"][one.name].items():
        rows = [o for o in one.runs["response"].once if o.sample["attack"] == attack]
        gold, called = ([what == "Unsafe" for what in side] for side in
                        ([o.gold for o in rows], [o.verdict.label for o in rows]))  # fmt: skip
        assert metric["value"] == pytest.approx(f1_score(gold, called))
    (drawing,) = attacks.section(eighteen, HOW).drawings
    assert len(drawing.rows) == 1 + (18 + 18 + 17) * 4


@pytest.mark.parametrize(
    ("base", "family"),
    [("Qwen3-8B", "Qwen"), ("Qwen2.5-0.5B", "Qwen"), ("Ministral-8B", "Mistral"),
     ("Mistral-7B-v0.3", "Mistral"), ("Llama-3.1-8B-Instruct", "Llama"), ("Gemma-2-2B", "Gemma"),
     ("gpt-oss-20b", "gpt-oss"), (None, "unknown base"), ("LlamaGuard-7b", "LlamaGuard")],
)  # fmt: skip
def test_the_line_of_a_base(base: str | None, family: str) -> None:
    assert scale.base_family(base) == family


@pytest.mark.parametrize(
    ("words", "number"),
    [("2.80 million", 2.8e6), ("13,997 prompts and responses, its test set", 13997.0),
     ("86 thousand", 86e3), ("not told", None), (None, None), ("", None)],
)  # fmt: skip
def test_how_many_instances_words_mean(words: str | None, number: float | None) -> None:
    assert scale.instances(words) == (number if number is None else pytest.approx(number))


def test_figure_6_leaves_out_what_has_neither_size_nor_instances() -> None:
    known = guard(exactly, model="known", parameters=8.0, base="Qwen3-8B")
    unknown = guard(exactly, model="unknown")
    section = scale.section([known, unknown])
    assert section.left_out[0].startswith("unknown (prompt, trace, response): neither")
    assert section.drawings[0].rows[1][:6] == ["prompt", "known", "Qwen3-8B", "Qwen", 8.0, None]
    assert "no guard has" in str(scale.section([unknown]).reason)


def _case(one: Guard, rule: str) -> dict[str, Any]:
    found: dict[str, Any] = cases.cases([one])[one.name][rule]
    return found


def test_a_missed_triple_is_the_surest_of_those_called_safe() -> None:
    all_unsafe = [t for t in TRIPLES if all(t["unsafe"].values())]

    def score(triple: Triple, called: bool) -> float:
        return 0.01 if triple["id"] == all_unsafe[5]["id"] else 0.2

    found = _case(guard(lambda *_: False, score=score), "missed")
    assert found["fitting"] == len(all_unsafe)
    assert found["case"]["triple"] == all_unsafe[5]["id"]
    assert (found["case"]["by"], found["case"]["value"]) == ("score", 0.01)
    assert {c["label"] for c in found["case"]["components"].values()} == {"Safe"}
    assert found["case"]["prompt_id"] == all_unsafe[5]["prompt_id"]


def test_without_scores_the_longest_is_shown_and_ties_go_by_id() -> None:
    all_safe = sorted(t["id"] for t in TRIPLES if not any(t["unsafe"].values()))
    found = _case(guard(lambda *_: True), "over_refusal")
    assert found["fitting"] == len(all_safe)
    assert found["case"]["by"] == "chars"
    longest = max(map(len, all_safe))
    assert found["case"]["triple"] == next(i for i in all_safe if len(i) == longest)


def test_right_with_wrong_evidence_has_the_lowest_token_f1() -> None:
    all_unsafe = [t["id"] for t in TRIPLES if all(t["unsafe"].values())]

    def say(triple: Triple) -> str:
        return "nothing alike" if triple["id"] == all_unsafe[3] else "fetch the red lamp"

    found = _case(guard(exactly, say=say), "right_wrong_evidence")
    assert found["fitting"] == len(all_unsafe)
    assert (found["case"]["triple"], found["case"]["value"]) == (all_unsafe[3], 0)
    silent = _case(guard(exactly), "right_wrong_evidence")
    assert (silent["case"], silent["reason"]) == (None, "it explains nothing")


def test_evidence_is_as_near_as_it_looks() -> None:
    """A zero-width blank inside a word makes it no other one, as in the runs' TokenF1."""
    found = _case(guard(exactly, say=lambda t: f"fe\u200btch the red lamp {t['prompt_id']}"),
                  "right_wrong_evidence")  # fmt: skip
    assert found["case"]["value"] == 1


def test_under_refusal_is_of_one_component_and_needs_no_other() -> None:
    (alone,) = guards_of([make_run(lambda *_: False, "trace")], HOW)
    found = _case(alone, "under_refusal")
    assert list(found["case"]["components"]) == ["trace"]
    assert found["fitting"] == sum(t["unsafe"]["trace"] for t in TRIPLES)
    assert _case(alone, "missed")["reason"] == "not run on prompt, response"
    assert _case(guard(exactly), "missed") == {"fitting": 0, "case": None, "reason": "none fits"}


def test_a_difference_is_written_with_its_blanks(eighteen_runs: list[Run]) -> None:
    tables = "".join(one.markdown() for one in sections(eighteen_runs[:6], HOW))
    for pair in ("prompt − trace", "trace − response", "Qwen − Gemma", "zh − en"):
        assert f"| {pair} |" in tables


def test_the_report_is_whole_and_the_same_again(eighteen_runs: list[Run]) -> None:
    done = sections(eighteen_runs[:6], HOW)
    assert [one.name for one in done][:2] == ["evidence_safety", "evidence_stages"]
    assert len({one.name for one in done}) == len(done) == 14
    again = sections(list(reversed(eighteen_runs[:6])), HOW)
    assert [one.result for one in done] == [one.result for one in again]
    assert all(one.markdown().startswith("## ") for one in done)
