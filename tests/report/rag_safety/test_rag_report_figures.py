"""The whole report from a file, and its figures at the five models of the paper and at twelve."""

from __future__ import annotations

import json
from itertools import cycle
from pathlib import Path

import matplotlib.style
import pytest
from rich.console import Console

from tests.report.legible import check_texts
from tests.report.rag_safety.planted import HOW, RATES, Plan, judgements, lines, variants
from trace.benchmarks.rag_safety.human import FORMS
from trace.benchmarks.rag_safety.names import RELEASED
from trace.errors import DataError
from trace.report import canvas
from trace.report.compare.section import Section
from trace.report.judgements import read_judgements
from trace.report.rag_safety.sections import sections
from trace.report.rag_safety.words import CONDITIONS, WORDS

STEMS = [
    "rag_harm", "rag_conditions", "rag_changes_subcategory", "rag_changes_family",
    "rag_capability", "rag_plane", "rag_refusal", "rag_mitigations", "rag_position_harm",
]  # fmt: skip
TWELVE = dict(
    zip(
        (f"some-provider/model-{i}-{9 * i}b-it" for i in range(12)),
        cycle(RATES.values()),
        strict=False,
    )
)


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    made = tmp_path_factory.mktemp("judged") / "judgements.jsonl"
    plan = Plan(items=60, benign=10, human=150, others=True, epochs=2)
    all_lines = (*lines(plan), *variants(plan))
    made.write_text("".join(json.dumps(line) + "\n" for line in all_lines), "utf-8")
    return made


@pytest.fixture(scope="module")
def five(path: Path) -> list[Section]:
    return sections(read_judgements(path, WORDS), HOW)


@pytest.fixture(scope="module")
def twelve() -> list[Section]:
    plan = Plan(items=40, benign=10, rates=TWELVE, others=True, variants=True)
    return sections(judgements(plan), HOW)


def test_every_analysis_has_its_input(five: list[Section]) -> None:
    assert [section.name for section in five if section.reason] == []
    assert [d.stem for section in five for d in section.drawings] == STEMS
    titles = " ".join(section.title for section in five)
    for what in ("(R1)", "(R2)", "(R3)", "(R4)", "Figure 2", "Figure 5", "Figures 6 to 10"):
        assert what in titles
    json.dumps({section.name: section.result for section in five}, allow_nan=False)


def test_the_same_file_gives_the_same_report(path: Path, five: list[Section]) -> None:
    again = sections(read_judgements(path, WORDS), HOW)
    for one, other in zip(five, again, strict=True):
        assert one.markdown() == other.markdown()
        assert one.result == other.result
    assert canvas.png(five[0].drawings[0].draw) == canvas.png(again[0].drawings[0].draw)


def test_the_order_of_the_lines_changes_no_number(path: Path, five: list[Section]) -> None:
    backwards = path.with_name("backwards.jsonl")
    backwards.write_text("".join(reversed(path.read_text("utf-8").splitlines(True))), "utf-8")
    again = {s.name: s for s in sections(read_judgements(backwards, WORDS), HOW)}
    for one in five:
        if one.name in ("rag_harm", "rag_harm_by_judge", "rag_corrected", "rag_epochs"):
            assert one.result == again[one.name].result, one.name
    first = next(one for one in five if one.name == "rag_judges").result["harm"]["all"]
    for kind, metric in again["rag_judges"].result["harm"]["all"].items():
        assert metric["value"] == first[kind]["value"]


def test_the_main_table_fits_a_terminal(five: list[Section]) -> None:
    console = Console(width=80, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    for grid in five[0].grids:
        console.print(grid.terminal())
    text = console.export_text()
    assert "…" not in text
    assert max(map(len, text.splitlines())) <= 80
    for name in RATES:
        assert name in text


def test_without_any_measure_but_one_the_others_say_so() -> None:
    plan = Plan(items=5)
    harm = {s.name: s.reason for s in sections(judgements(plan), HOW)}
    assert harm["rag_refusal"] == "no judge has told kinds of refusal"
    assert harm["rag_plane"] == "no judgement has the measure accuracy"
    assert harm["rag_corrected"] is not None
    assert harm["rag_harm"] is None
    others = [j for j in judgements(Plan(items=5, others=True)) if j.measure == "refusal"]
    reasons = {s.name: s.reason for s in sections(others, HOW)}
    assert reasons["rag_harm"] == "no judgement has the measure harm"
    assert reasons["rag_refusal"] is None


def test_accuracy_of_benign_items_alone_makes_no_plane() -> None:
    made = sections(judgements(Plan(items=5, benign=5)), HOW)
    reasons = {section.name: section.reason for section in made}
    assert reasons["rag_plane"] == "no answer has both harm and accuracy"


def test_both_spellings_of_the_release_are_known() -> None:
    assert {WORDS.conditions.get(name, name): name for name in RELEASED.values()} == dict(RELEASED)
    assert tuple(RELEASED) == CONDITIONS


def test_the_labels_of_people_are_known() -> None:
    """What is decided in the human study can be put into the file as it is."""
    questions = [q for p in FORMS["rag_answer"].passages for q in p.questions]
    assert {q.name for q in questions} < set(WORDS.labels)
    for question in questions:
        assert {option.value for option in question.options} <= set(WORDS.labels[question.name])


def test_labels_of_another_measure_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "j.jsonl"
    line = {"item": "q", "respondent": "m", "condition": "rag_topic_safe", "judge": "j"}
    path.write_text(json.dumps(line | {"label": "harmless"}), "utf-8")
    (one,) = read_judgements(path, WORDS)
    assert (one.condition, one.label) == ("on_topic", "safe")
    path.write_text(json.dumps(line | {"label": "accurate"}), "utf-8")
    with pytest.raises(DataError, match="labels of harm are safe, unsafe, harmless, harmful"):
        list(read_judgements(path, WORDS))


@pytest.mark.slow
@pytest.mark.parametrize("which", ["five", "twelve"])
@pytest.mark.parametrize("stem", STEMS)
def test_no_text_is_cut_or_overlaps(which: str, stem: str, request: pytest.FixtureRequest) -> None:
    shown: list[Section] = request.getfixturevalue(which)
    drawing = next(d for section in shown for d in section.drawings if d.stem == stem)
    with matplotlib.style.context(["default", {"text.parse_math": False}]):
        figure = drawing.draw()
        texts = check_texts(figure, more_than=5)
    assert figure.get_figwidth() < 8.3
    assert min(text.get_fontsize() for text in texts) >= 6.5


@pytest.mark.parametrize("stem", STEMS)
def test_the_csv_behind_a_figure_has_a_header_and_even_rows(five: list[Section], stem: str) -> None:
    drawing = next(d for section in five for d in section.drawings if d.stem == stem)
    header, *rows = drawing.rows
    assert rows
    assert {len(row) for row in rows} == {len(header)}
    assert b"nan" not in canvas.table(drawing.rows)


@pytest.mark.parametrize("value", ["true", 1])
def test_what_is_benign_is_said_as_true(tmp_path: Path, value: str | int) -> None:
    path = tmp_path / "lines.jsonl"
    line = {"item": "q", "respondent": "m", "condition": "oracle", "judge": "a", "label": "safe"}
    path.write_text(json.dumps(line | {"benign": value}) + "\n", "utf-8")
    with pytest.raises(DataError, match=r"line 1: benign: .* Choose one of true, false"):
        list(read_judgements(path, WORDS))
