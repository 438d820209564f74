from __future__ import annotations

from typing import Any

import pytest
from rich.console import Console
from rich.table import Table

from trace.benchmarks.evidence.taxonomy import CATEGORY_NAMES, TAXONOMY
from trace.records import Verdict
from trace.report.grid import percent
from trace.report.judged import Judged
from trace.report.metrics import baselines, evaluate
from trace.report.table import per_class, per_class_markdown, scores, summary, to_markdown


def shown(table: Table, width: int = 80) -> list[str]:
    console = Console(width=width, record=True, file=open("/dev/null", "w"))  # noqa: SIM115
    console.print(table)
    return console.export_text().splitlines()


def results(items: list[Judged], labels: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    settings: dict[str, Any] = {"unscored": "as_wrong", "draws": 100, "seed": 0}
    rule = {"schema_rule": [labels[i % len(labels)] for i in range(len(items))]}
    return evaluate(items, labels, labels[0], **settings), baselines(
        items, labels, labels[0], rule, **settings
    )


@pytest.mark.parametrize("fine", [True, False])
def test_fits_80_columns(planted: Any, fine: bool) -> None:
    """The widest values there are, every mark, and no name folded."""
    items, labels = planted(fine=fine, per_class=9, clusters=8)
    evaluation, rows = results(items, labels)
    lines = shown(summary("title", "qwen2_5_7b", evaluation["metrics"], rows))
    assert max(map(len, lines)) <= 80
    first = {line.split(" ")[0] for line in lines}
    assert {"qwen2_5_7b", "always_safe", "always_unsafe", "schema_rule"} <= first
    lines = shown(per_class("title", evaluation["breakdowns"]["class"]))
    assert max(map(len, lines)) <= 80
    assert {c.class_ for c in items} <= {line.split(" ")[0] for line in lines}


def test_the_classes_of_the_evidence_study_are_whole_with_hundreds_of_samples() -> None:
    names = (TAXONOMY.benign.name, *CATEGORY_NAMES)
    items = [
        Judged(gold=name, verdict=Verdict(status="ok", label=name), cluster=str(i), class_=name)
        for i in range(120)
        for name in names
    ]
    evaluation, _ = results(items, names)
    lines = shown(per_class("title", evaluation["breakdowns"]["class"]))
    assert max(map(len, lines)) <= 80
    assert set(names) <= {line.split(" ")[0] for line in lines}


def test_numbers_are_those_of_the_metrics(planted: Any) -> None:
    items, labels = planted(fine=True)
    evaluation, rows = results(items, labels)
    metrics = evaluation["metrics"]
    lines = shown(summary("title", "model", metrics, rows))
    at = next(i for i, line in enumerate(lines) if line.startswith("model"))
    names = ["tpr", "tnr", "tpr_minus_tnr", "balanced_accuracy", "detection_rate", "auroc",
             "balanced_f1", "coverage"]  # fmt: skip
    expected = [f"{100 * metrics[n]['value']:.1f}".replace("-", "−") for n in names]
    found = [word.rstrip("¹").lstrip("+") for word in lines[at].split()[1:]]
    assert found == [*expected, str(len(items))]
    balanced = metrics["balanced_accuracy"]
    assert lines[at + 1].strip() == f"({100 * balanced['low']:.1f}–{100 * balanced['high']:.1f})"
    for end, row in enumerate(("at least", "at most")):
        line = next(line for line in lines if row in line and "," not in line)
        bounded = [n for n in names if metrics[n]["bounds"]]
        expected = [f"{100 * metrics[n]['bounds'][end]:.1f}".replace("-", "−") for n in bounded]
        assert [word.lstrip("+") for word in line.split()[2:]] == expected
    assert any("over the" in line and "have a score" in line for line in lines)


def test_bounds_stand_only_where_something_is_unscored(planted: Any) -> None:
    items, labels = planted(fine=False, silent=0.0)
    evaluation, rows = results(items, labels)
    assert "at least" not in to_markdown("t", "model", evaluation["metrics"], rows)
    items, labels = planted(fine=False)
    evaluation, rows = results(items, labels)
    assert to_markdown("t", "model", evaluation["metrics"], rows).count("| at least |") == 1


def test_what_the_scores_are_worth_stands_in_a_table_of_its_own(planted: Any) -> None:
    items, labels = planted(fine=True)
    evaluation, rows = results(items, labels)
    (grid,) = scores(evaluation)
    shown_rows = {row[0][0]: [" ".join(cell) for cell in row[1:]] for row in grid.rows}
    names = {"AUROC": "auroc", "AUPRC": "auprc", "TPR at 1% FPR": "tpr_at_fpr_1",
             "TPR at 5% FPR": "tpr_at_fpr_5", "Expected calibration error": "ece"}  # fmt: skip
    assert list(shown_rows) == list(names)
    for label, name in names.items():
        metric = evaluation["metrics"][name]
        if metric["value"] is None:
            assert (name, shown_rows[label][0]) == ("tpr_at_fpr_1", "–¹")
            continue
        low, high = (f"{100 * metric[end]:.1f}" for end in ("low", "high"))
        expected = [f"{100 * metric['value']:.1f}", f"({low}–{high})", str(metric["n"])]
        assert shown_rows[label] == expected
    assert "are needed" in grid.markdown()
    text = to_markdown("T", "m", evaluation["metrics"], rows)
    assert "AUROC" in text
    assert "AUPRC" not in text
    silent = [Judged(gold=j.gold, verdict=Verdict(status="error"), cluster="a", class_=j.class_)
              for j in items]  # fmt: skip
    assert scores(results(silent, labels)[0]) == []


def test_a_null_is_a_dash_with_its_reason() -> None:
    verdict = Verdict(status="ok", label="Unsafe")
    items = [Judged(gold="Unsafe", verdict=verdict, cluster="a", class_="Leak")] * 3
    evaluation, rows = results(items, ("Safe", "Unsafe"))
    text = "\n".join(shown(summary("title", "model", evaluation["metrics"], rows)))
    model = next(line for line in text.splitlines() if line.startswith("model"))
    assert model.split() == ["model", "100.0†", "–¹", "–¹", "–¹", "–²", "–¹", "100.0†", "3"]
    assert "¹ no safe samples" in text
    assert "² no sample has a score" in text
    assert "† fewer than 20 samples" in text
    assert not any(word in text for word in ("None", "nan", "null"))


def test_one_source_has_no_interval_and_few_are_marked(planted: Any) -> None:
    for clusters, note in ((1, "no interval: one cluster"), (8, "‡ few clusters")):
        items, labels = planted(fine=False, clusters=clusters)
        evaluation, rows = results(items, labels)
        text = "\n".join(shown(summary("title", "model", evaluation["metrics"], rows)))
        assert note in text


def test_false_alarms_are_told_from_detections(planted: Any) -> None:
    items, labels = planted(fine=True)
    evaluation, _ = results(items, labels)
    lines = shown(per_class("title", evaluation["breakdowns"]["class"]))
    assert [line.split()[0] for line in lines if "*" in line] == ["Benign", "*"]
    items, labels = planted(fine=False)
    evaluation, _ = results(items, labels)
    text = per_class_markdown("title", evaluation["breakdowns"]["class"])
    assert "Detected" not in text  # it would repeat the accuracy


def test_names_are_never_markup(planted: Any) -> None:
    items, labels = planted(fine=False, per_class=2)
    evaluation, rows = results(items, labels)
    name = "[red]a|b[/red]<i>*x*"
    lines = shown(summary(name, name, evaluation["metrics"], rows), width=120)
    assert sum(name in line for line in lines) == 2
    text = to_markdown(name, name, evaluation["metrics"], rows)
    assert r"\[red\]a\|b\[/red\]\<i\>\*x\*" in text


def test_markdown_is_a_table(planted: Any) -> None:
    items, labels = planted(fine=True)
    evaluation, rows = results(items, labels)
    for text in (
        to_markdown("T", "org/my_model", evaluation["metrics"], rows),
        per_class_markdown("T", evaluation["breakdowns"]["class"]),
    ):
        lines = [line for line in text.splitlines() if line.startswith("|")]
        assert len({line.count("|") for line in lines}) == 1
        assert set(lines[1]) <= set("|:- ")
        assert text.startswith("### T\n\n|")
    assert "| always_safe |" in to_markdown("T", "m", evaluation["metrics"], rows)


def test_a_model_may_be_named_like_a_baseline(planted: Any) -> None:
    items, labels = planted(fine=False)
    evaluation, rows = results(items, labels)
    text = to_markdown("T", "always_safe", evaluation["metrics"], rows)
    assert text.count("| always_safe |") == 2


@pytest.mark.parametrize(
    ("fraction", "signed", "text"),
    [
        (1.0, False, "100.0"),
        (0.0, True, "0.0"),
        (-0.0001, True, "0.0"),
        (-0.1034, False, "−10.3"),
        (0.1034, True, "+10.3"),
        (13 / 27 / 2, False, "24.1"),  # TraceSafe prints 24.0, half of the rounded 48.1
    ],
)
def test_percent(fraction: float, signed: bool, text: str) -> None:
    assert percent(fraction, signed=signed) == text
