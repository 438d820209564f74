"""Every table of the evidence study finds what was planted, and says why where it cannot."""

from __future__ import annotations

import random

import numpy as np
import pytest
from sklearn.metrics import f1_score, precision_score, recall_score

from tests.report.evidence.conftest import (
    EXPLAIN,
    HOW,
    TRIPLES,
    Triple,
    exactly,
    guard,
    measured,
    right_at,
    runs_of,
)
from trace.report.evidence import (
    attribution,
    categories,
    details,
    encryption,
    safety,
)
from trace.report.evidence.guards import Guard, guards_of
from trace.report.evidence.sections import sections
from trace.report.runs import Run


def sides(run: Run) -> tuple[list[bool], list[bool]]:
    """Gold and verdict of each sample, unsafe being true."""
    return (
        [o.gold == "Unsafe" for o in run.once],
        [o.verdict.label == "Unsafe" for o in run.once],
    )


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


def test_distinct_prompts_have_their_mean_row() -> None:
    made = []
    for name, value in (("a", 0.25), ("b", 0.75), ("c", None)):
        metrics = {f"{m}_per_prompt": measured(value, 40, "why") for m in ("f1", "fpr", "fnr")}
        made += runs_of(exactly, name, metrics=metrics)
    section = safety.section(guards_of(made, HOW))
    assert section.result["distinct_means"]["f1"] == {"value": 0.5, "n": 2}
    assert "| mean | 50.0 (2) | 50.0 (2) | 50.0 (2) |  |" in section.grids[-1].markdown()


def test_other_triples_in_one_table_are_said() -> None:
    few = runs_of(exactly, "few", triples=TRIPLES[:40], protocol="fine")
    (note, *others) = safety.section(guards_of([*runs_of(exactly), *few], HOW)).notes
    assert note.startswith("prompt: not all guards were asked about the same triples (40, 160; 40")
    assert len(others) == 2


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
