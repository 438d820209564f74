"""The whole report from a file, its tables and its figures."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import matplotlib.style
import pytest
from rich.console import Console

from tests.report.cross_lab.planted import FULL, HOW, MODELS, RUBRICS, Plan, judgements, lines
from tests.report.legible import check_texts
from trace.report import canvas
from trace.report.compare.section import Section
from trace.report.cross_lab.sections import sections
from trace.report.cross_lab.traced import Trace, Traces
from trace.report.cross_lab.words import FIRST_BUDGET, MAIN, vocabulary
from trace.report.judgements import Judgement, read_judgements

STEMS = ["cross_lab_rates", "cross_lab_pairs", "cross_lab_shifts", "cross_lab_self_preference"]
NOISY = Plan(
    accuracy=0.88, silent=0.02, drawn=6, repeat=0.9, field_free=0.7, self_love={"opus": 0.4}
)
NAMES = {
    "deepseek": "deepseek_v4_pro", "gemini": "gemini_3_1_pro", "gpt_5": "gpt_5",
    "grok": "grok_4_20", "llama": "llama_3_3_70b_turbo", "opus": "claude_opus_4_5",
}  # fmt: skip


def renamed(one: Judgement) -> Judgement:
    return replace(one, respondent=NAMES[one.respondent], judge=NAMES[one.judge])


@pytest.fixture(scope="module")
def shown() -> list[Section]:
    lines_of = list(map(renamed, judgements(NOISY)))
    before = [replace(one, arm=FIRST_BUDGET) for one in lines_of if one.arm == MAIN]
    traces = Traces(
        category="reasoning_suppression",
        labels=("absent", "argued_then_overridden"),
        read=[
            Trace(
                item=one.item,
                respondent=one.respondent,
                condition=one.condition,
                label="absent" if one.label == FULL else "argued_then_overridden",
            )
            for one in lines_of
            if one.judge == NAMES["gemini"] and one.measure == "reasoning_suppression"
        ],
    )
    return sections([*lines_of, *before], RUBRICS, HOW, traces=traces)


def test_every_analysis_has_its_input(shown: list[Section]) -> None:
    assert [section.name for section in shown if section.reason] == []
    assert [d.stem for section in shown for d in section.drawings] == STEMS
    assert len({section.name for section in shown}) == 15
    json.dumps({section.name: section.result for section in shown}, allow_nan=False)
    for section in shown:
        assert section.markdown().startswith(f"## {section.title}")
        assert "nan" not in section.markdown().replace("dominan", "")


def test_neither_the_order_of_lines_nor_the_way_changes_anything(tmp_path: Path) -> None:
    """A file read backwards gives the same bytes as the judgements themselves."""
    plan = Plan(accuracy=0.9, silent=0.05, drawn=3, repeat=0.9, field_free=0.8)
    path = tmp_path / "judgements.jsonl"
    made = [json.dumps(line) + "\n" for line in lines(plan)]
    path.write_text("".join(reversed(made)), "utf-8")
    here = sections(judgements(plan), RUBRICS, HOW)
    again = sections(read_judgements(path, vocabulary(RUBRICS)), RUBRICS, HOW)
    for one, other in zip(here, again, strict=True):
        assert one.result == other.result
        assert one.markdown() == other.markdown()
        assert [d.rows for d in one.drawings] == [d.rows for d in other.drawings]


def test_a_figure_has_the_same_bytes_again(shown: list[Section]) -> None:
    (drawing,) = shown[1].drawings
    assert canvas.png(drawing.draw) == canvas.png(drawing.draw)


def test_tables_fit_a_terminal(shown: list[Section]) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for section in shown:
        for grid in section.grids:
            console.print(grid.terminal())
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80


def test_shares_of_a_model_add_up_to_one(shown: list[Section]) -> None:
    rates = shown[0].result["rates"]
    assert set(rates) == set(RUBRICS)
    for category, of in rates.items():
        for model in NAMES.values():
            for labels in of[model].values():
                assert list(labels) == list(RUBRICS[category])
                assert sum(metric["value"] for metric in labels.values()) == pytest.approx(1)
                n, unscored = {(m["n"], m["n_unscored"]) for m in labels.values()}.pop()
                assert n + unscored == (
                    20 if category in ("neutral_control", "format_steering") else 100
                )


def test_two_local_models_and_one_vote_give_a_report() -> None:
    """What runs on any machine: two respondents that judge each other."""
    pair = ("opus", "grok")
    kept = [
        one for one in judgements(Plan(drawn=2)) if one.respondent in pair and one.judge in pair
    ]
    shown = {one.name: one for one in sections(kept, RUBRICS, HOW, min_valid=1)}
    assert shown["cross_lab_pairs"].result["tests"] == 30
    assert shown["cross_lab_judges"].reason is None
    assert shown["cross_lab_agreement"].result["overall"]["value"] is None
    reasons = {one.name: one.reason for one in sections(kept, RUBRICS, HOW)}
    assert reasons["cross_lab_robustness"] is not None  # three peers are needed, and there is one


def test_one_model_alone_has_rates_and_shifts() -> None:
    kept = [one for one in judgements(Plan()) if one.respondent == "opus"]
    shown = {one.name: one for one in sections(kept, RUBRICS, HOW)}
    assert shown["cross_lab_rates"].reason is None
    assert shown["cross_lab_shifts"].reason is None
    for name in ("cross_lab_pairs", "cross_lab_tiers", "cross_lab_robustness"):
        assert shown[name].reason is not None


def test_items_of_one_category_alone_give_a_report() -> None:
    kept = [one for one in judgements(Plan()) if one.measure == "neutral_control"]
    shown = {one.name: one for one in sections(kept, RUBRICS, HOW)}
    assert shown["cross_lab_pairs"].result["tests"] == 450
    assert shown["cross_lab_pairs"].result["significant"]["fisher_bh"] == 0
    assert shown["cross_lab_held_out"].reason is not None
    json.dumps({name: one.result for name, one in shown.items()}, allow_nan=False)


@pytest.mark.parametrize("stem", STEMS)
def test_the_csv_behind_a_figure_has_a_header_and_even_rows(
    shown: list[Section], stem: str
) -> None:
    drawing = next(d for section in shown for d in section.drawings if d.stem == stem)
    header, *rows = drawing.rows
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert b"nan" not in canvas.table(drawing.rows).replace(b"dominan", b"")
    if stem == "cross_lab_pairs":
        assert len(rows) == 450


@pytest.mark.slow
@pytest.mark.parametrize("stem", STEMS)
def test_no_text_is_cut_or_overlaps(stem: str, shown: list[Section]) -> None:
    drawing = next(d for section in shown for d in section.drawings if d.stem == stem)
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        figure = drawing.draw()
        texts = check_texts(figure, more_than=5)
    assert figure.get_figwidth() < 8.3
    assert min(text.get_fontsize() for text in texts) >= 6.5


def test_the_models_are_the_judges(shown: list[Section]) -> None:
    found = next(one for one in shown if one.name == "cross_lab_self_preference").result
    assert sorted(found) == sorted(NAMES[name] for name in MODELS)
    assert found["claude_opus_4_5"]["excess"]["low"] > 0
