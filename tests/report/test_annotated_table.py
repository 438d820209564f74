from __future__ import annotations

from rich.console import Console

from tests.report.made_annotations import answer, form, item, measure, reannotated, words
from trace.annotation.item import Lost
from trace.report.annotated_table import annotation_grids
from trace.report.grid import Grid


def titles(grids: list[Grid]) -> list[str]:
    return [grid.title for grid in grids]


def test_every_table_of_three_annotators() -> None:
    marked = {"en": form(marked="unsafe")}
    items = [
        item(f"i{i}", "unsafe" if i % 2 else "safe", spans={"text": words(0)} if i % 2 else {})
        for i in range(4)
    ]
    answers = [
        answer(who, i.id, i.labels["safety"], spans=i.spans) for who in "ABC" for i in items[:3]
    ]
    answers[0] = answer("A", "i0", "unsafe", problems={"text": "unsafe, with nothing marked"})
    grids = annotation_grids(measure(items, answers, forms=marked))
    assert titles(grids) == [
        "Work",
        "What cannot be used",
        "How questions were decided",
        "People against the benchmark",
        "People against each other",
        "All annotators",
    ]
    work, problems, how, benchmark, *_ = grids
    assert work.rows[0] == [(x,) for x in ("A", "4", "3", "0", "0", "1", "0", "0", "0", "1")]
    assert problems.rows == [[("text",), ("unsafe, with nothing marked",), ("1",)]]
    assert how.rows == [[(x,) for x in ("safety", "0", "2", "1", "0", "1")]]
    assert [row[1] for row in benchmark.rows] == [("all together",), ("A",), ("B",), ("C",)]
    assert benchmark.rows[1][2][0] == "66.7†"
    # po = 2/3, pe = 1/3 * 2/3 + 2/3 * 1/3
    assert benchmark.rows[1][3][0] == "0.40"
    assert benchmark.rows[1][-1] == ("3", "of 4")


def test_an_undefined_kappa_has_its_reason() -> None:
    grids = annotation_grids(measure([item("i0", "safe")], [answer("A", "i0", "safe")]))
    (grid,) = (g for g in grids if g.title == "People against the benchmark")
    assert grid.rows[0][3] == ("–¹",)
    assert "¹ every vote is 'safe'" in grid.footnotes()
    assert "TokenF1" not in grid.header


def test_few_sources_are_marked() -> None:
    items, answers = reannotated(200, 0.5, 0.5, 0, per_cluster=20)
    grids = annotation_grids(measure(items, answers))
    (grid,) = (g for g in grids if g.title == "People against the benchmark")
    assert grid.rows[0][3][1].endswith(")‡")
    assert "‡" in grid.notes


def test_what_people_changed_stands_by_frequency() -> None:
    said = {"i0": "safe", "i1": "safe", "i2": "unsafe", "i3": "unsafe"}
    gold = {"i0": "unsafe", "i1": "unsafe", "i2": "safe", "i3": "unsafe", "i4": "safe"}
    items = [item(i, label) for i, label in gold.items()]
    answers = [*(answer("A", i, label) for i, label in said.items()), answer("A", "i4")]
    *_, grid = annotation_grids(measure(items, answers))
    assert grid.title == "Where what was decided is not what the benchmark says"
    assert grid.rows == [
        [("safety",), ("unsafe",), ("safe",), ("2",)],
        [("safety",), ("safe",), ("unsafe",), ("1",)],
    ]


def test_tables_fit_a_terminal_and_are_markdown() -> None:
    marked = {"en": form(marked="unsafe")}
    items = [item(f"i{i}", "unsafe", spans={"text": words(i % 3)}) for i in range(30)]
    answers = [answer(w, i.id, "unsafe", spans=i.spans) for w in ("A1", "A2") for i in items]
    answers[3] = answer("A1", "i3", "safe")
    lost = {"A1": Lost(twice=1000)}
    long = ("research_assistant_A", "research_assistant_B")
    longer = [answer(w, i.id, "unsafe", spans=i.spans) for w in long for i in items]
    grids = annotation_grids(measure(items, answers, forms=marked, lost=lost))
    grids += annotation_grids(measure(items, longer, forms=marked))
    for grid in grids:
        console = Console(width=80, record=True, file=None, quiet=True)
        with console.capture() as shown:
            console.print(grid.terminal())
        assert "…" not in shown.get()
        assert {len(row) for row in grid.rows} == {len(grid.header)}
        text = grid.markdown()
        assert text.startswith(f"### {grid.title}")


def test_what_nothing_is_said_about_has_no_row() -> None:
    items = [item(f"i{i}") for i in range(3)]
    found = measure(items, [answer(who, i.id, "safe") for who in "AB" for i in items])
    assert "People against the benchmark" not in titles(annotation_grids(found))
    (pairs,) = (g for g in annotation_grids(found) if g.title == "People against each other")
    assert pairs.rows[0][-1] == ("3", "")
    assert pairs.ends == [1]


def test_a_second_pass_has_its_own_work() -> None:
    found = measure([item("i0", "safe")], [answer("A", "i0", "safe")])
    work = {"J": dict.fromkeys(found["breakdowns"]["work"]["A"], 7)}
    found["breakdowns"]["second"] = {"work": work, "problems": {"text": {"not in the text": 2}}}
    first, second, problems, *_ = annotation_grids(found)
    assert (first.title, second.title) == ("Work", "Work of the second pass")
    assert second.rows == [[("J",), *[("7",)] * 9]]
    assert problems.title == "What of it cannot be used"
    assert problems.rows == [[("text",), ("not in the text",), ("2",)]]
