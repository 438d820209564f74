"""The numbers behind Figures 4 to 7: what leans where, under which attack, and at what size."""

from __future__ import annotations

import pytest
from sklearn.metrics import f1_score

from tests.report.evidence.conftest import (
    HOW,
    exactly,
    guard,
    right_at,
)
from trace.report.evidence import (
    attacks,
    planes,
    scale,
)
from trace.report.evidence.guards import Guard


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
