"""Tables of results, for a terminal of 80 columns and as Markdown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from rich import box
from rich.table import Table
from rich.text import Text

from trace.report.entry import Metric

THIN = 20
"""A number over fewer samples than this is marked."""

_COLUMNS = {
    "tpr": "TPR",
    "tnr": "TNR",
    "tpr_minus_tnr": "TPR\n−TNR",
    "balanced_accuracy": "Balanced\naccuracy",
    "detection_rate": "Detec-\ntion",
    "auroc": "AUROC",
    "balanced_f1": "F1",
    "coverage": "Cover-\nage",
}
_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(kw_only=True)
class _Grid:
    """A table before it has a form. A cell is its lines; a note is a mark and a sentence."""

    title: str
    header: list[str]
    rows: list[list[tuple[str, ...]]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)

    def mark(self, reason: str) -> str:
        """The footnote number of a reason; equal reasons share one."""
        if reason not in self.reasons:
            self.reasons.append(reason)
        return str(self.reasons.index(reason) + 1).translate(_SUPERSCRIPT)

    def value(self, metric: Metric, *, signed: bool = False) -> str:
        """The value in percent with its marks; an en dash and the reason where there is none."""
        if metric["value"] is None:
            return "–" + self.mark(metric["reason"])
        text = percent(metric["value"], signed=signed)
        if metric["n"] < THIN:
            self.notes["†"] = f"fewer than {THIN} samples"
            text += "†"
        return text

    def interval(self, metric: Metric) -> str:
        """(low–high) in percent with its marks; empty when there is none."""
        if metric["low"] is None:
            return ""
        text = f"({percent(metric['low'])}–{percent(metric['high'])})"
        if metric.get("bootstrap", {}).get("few_clusters"):
            self.notes["‡"] = "few clusters: the interval is too narrow"
            text += "‡"
        return text

    def missing_interval(self, metric: Metric) -> str:
        """The footnote number of the reason why no interval could be resampled, if so."""
        reason = metric.get("bootstrap", {}).get("reason")
        return self.mark(f"no interval: {reason}") if reason else ""

    def footnotes(self) -> list[str]:
        """One line a note, the numbered reasons last."""
        marks = [str(i + 1).translate(_SUPERSCRIPT) for i in range(len(self.reasons))]
        pairs = [*self.notes.items(), *zip(marks, self.reasons, strict=True)]
        return [f"{mark} {text}".strip() for mark, text in pairs]


def percent(fraction: float, *, signed: bool = False) -> str:
    """A fraction in percent with one decimal; `signed` writes a plus too, for differences."""
    text = f"{100 * fraction:.1f}"
    if float(text) == 0:
        return "0.0"
    return ("+" if signed and fraction > 0 else "") + text.replace("-", "−")


def summary(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> Table:
    """The model and the baselines, a row each, for a terminal.

    Where samples are unscored, two more rows give each value if all of them were wrong and if
    all were right. Text is shown as it is: it is never read as markup.

    Args:
        title: stands above the table.
        model_name: names the first row.
        metrics: of the model, as `evaluate` gives them.
        baselines: name -> metrics.
    """
    return _terminal(_summary(title, model_name, metrics, baselines))


def to_markdown(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> str:
    """The table of `summary` in Markdown."""
    return _markdown(_summary(title, model_name, metrics, baselines))


def per_class(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> Table:
    """Accuracy and detection rate of each class, for a terminal.

    Args:
        title: stands above the table.
        classes: the breakdown `class`, as `evaluate` gives it.
    """
    return _terminal(_per_class(title, classes))


def per_class_markdown(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> str:
    """The table of `per_class` in Markdown."""
    return _markdown(_per_class(title, classes))


def _summary(
    title: str,
    model_name: str,
    metrics: Mapping[str, Metric],
    baselines: Mapping[str, Mapping[str, Metric]],
) -> _Grid:
    names = [name for name in _COLUMNS if name in metrics]
    grid = _Grid(title=title, header=["Judge", *(_COLUMNS[name] for name in names), "n"])
    grid.notes[""] = "Percent, with the 95% interval resampled by cluster."
    for judge, row in ((model_name, metrics), *baselines.items()):
        cells: list[tuple[str, ...]] = [(judge,)]
        for name in names:
            metric = row[name]
            text = grid.value(metric, signed=name == "tpr_minus_tnr")
            if name == "auroc" and metric["value"] is not None and metric["n_unscored"]:
                text += grid.mark(f"over the {metric['n']} samples that have a score")
            if name == "balanced_accuracy":
                cells.append((text + grid.missing_interval(metric), grid.interval(metric)))
            else:
                cells.append((text,))
        grid.rows.append([*cells, (str(row["coverage"]["n"]),)])
        if row["coverage"]["n_unscored"]:
            grid.notes["at least, at most:"] = "bounds, counting the unscored either way"
            for end, label in enumerate(("  at least", "  at most")):
                grid.rows.append([(label,), *(_bound(row[name], name, end) for name in names), ()])
        grid.ends.append(len(grid.rows))
    return grid


def _bound(metric: Metric, name: str, end: int) -> tuple[str, ...]:
    if metric["bounds"] is None:
        return ()
    return (percent(metric["bounds"][end], signed=name == "tpr_minus_tnr"),)


def _per_class(title: str, classes: Mapping[str, Mapping[str, Metric]]) -> _Grid:
    # With two labels the right one is any unsafe one: a column that says it again helps nobody.
    detection = any(
        row["accuracy"]["value"] != row["detection_rate"]["value"]
        for row in classes.values()
        if row["detection_rate"]["higher_is_better"]
    )
    shown = {"accuracy": "Accuracy"} | ({"detection_rate": "Detected"} if detection else {})
    header = [name for column in shown.values() for name in (column, "95% interval")]
    grid = _Grid(title=title, header=["Class", *header, "Unscored", "n"])
    grid.notes[""] = "Percent, with Wilson intervals."
    for class_name, row in classes.items():
        cells: list[tuple[str, ...]] = [(class_name,)]
        for name in shown:
            alarm = ""
            if row[name]["higher_is_better"] is False:
                alarm = "*"
                grid.notes[alarm] = "false alarms: called unsafe though it is not"
            cells += [(grid.value(row[name]) + alarm,), (grid.interval(row[name]),)]
        accuracy = row["accuracy"]
        grid.rows.append([*cells, (str(accuracy["n_unscored"]),), (str(accuracy["n"]),)])
    return grid


def _terminal(grid: _Grid) -> Table:
    table = Table(
        title=Text(grid.title),
        title_justify="left",
        caption=Text("\n".join(grid.footnotes())),
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=0,
        show_edge=False,
    )
    first, *others = grid.header
    table.add_column(Text(first), overflow="fold")
    for name in others:
        table.add_column(Text(name), justify="right", no_wrap=True)
    for i, row in enumerate(grid.rows):
        table.add_row(
            *(Text("\n".join(filter(None, cell))) for cell in row), end_section=i + 1 in grid.ends
        )
    return table


def _markdown(grid: _Grid) -> str:
    lines = [
        [name.replace("-\n", "").replace("\n−", "−").replace("\n", " ") for name in grid.header],
        [":--", *("--:" for _ in grid.header[1:])],
        *([" ".join(filter(None, cell)) for cell in row] for row in grid.rows),
    ]
    body = ["| " + " | ".join(_escape(cell) for cell in line) + " |" for line in lines]
    notes = [f"- {_escape(note)}" for note in grid.footnotes()]
    return "\n".join([f"### {_escape(grid.title)}", "", *body, "", *notes, ""])


def _escape(text: str) -> str:
    """What Markdown or HTML would read as markup, made plain; an underscore in a word is plain."""
    marks = r"[\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    return re.sub(marks, r"\\\g<0>", " ".join(text.split()))
