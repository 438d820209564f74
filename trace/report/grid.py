"""A table before it has a form: for a terminal of 80 columns, or as Markdown."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich import box
from rich.table import Table
from rich.text import Text

from trace.report.entry import Metric

THIN = 20
"""A number over fewer samples than this is marked."""

_SUPERSCRIPT = str.maketrans("0123456789", "⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(kw_only=True)
class Grid:
    """Rows of cells. A cell is its lines; a note is a mark and a sentence.

    `places` are 1 for the best and 2 for the second-best cells, by row and column: their first line
    is bold, or underlined.
    """

    title: str
    header: list[str]
    rows: list[list[tuple[str, ...]]] = field(default_factory=list)
    ends: list[int] = field(default_factory=list)
    notes: dict[str, str] = field(default_factory=dict)
    reasons: list[str] = field(default_factory=list)
    places: dict[tuple[int, int], int] = field(default_factory=dict)

    def rank(
        self, column: int, values: Sequence[float | None], *, higher_is_better: bool = True
    ) -> None:
        """Marks the best and the second-best cells of a column; equal ones share their place.

        Args:
            column: which one.
            values: of the first rows, None where there is none; with one value nothing is best.
            higher_is_better: whether the best is the highest.
        """
        known = sorted({v for v in values if v is not None}, reverse=higher_is_better)
        if len(known) > 1:
            for row, value in enumerate(values):
                if value in known[:2]:
                    self.places[row, column] = 1 + known.index(value)

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

    def coefficient(self, metric: Metric) -> tuple[str, ...]:
        """The lines of a coefficient: its value and its interval, with two decimals."""
        if metric["value"] is None:
            return ("–" + self.mark(metric["reason"]),)
        text = decimal(metric["value"]) + self.missing_interval(metric)
        if metric["low"] is None:
            return (text,)
        warning = self.interval(metric).partition(")")[2]  # that there are few clusters
        return (text, f"({decimal(metric['low'])} to {decimal(metric['high'])}){warning}")

    def missing_interval(self, metric: Metric) -> str:
        """The footnote number of the reason why no interval could be resampled, if so."""
        reason = metric.get("bootstrap", {}).get("reason")
        return self.mark(f"no interval: {reason}") if reason else ""

    def footnotes(self) -> list[str]:
        """One line a note, the numbered reasons last."""
        marks = [str(i + 1).translate(_SUPERSCRIPT) for i in range(len(self.reasons))]
        pairs = [*self.notes.items(), *zip(marks, self.reasons, strict=True)]
        return [f"{mark} {text}".strip() for mark, text in pairs]

    def terminal(self) -> Table:
        """The table for a terminal. Text is shown as it is: it is never read as markup."""
        table = Table(
            title=Text(one_line(self.title)),
            title_justify="left",
            caption=Text("\n".join(map(one_line, self.footnotes()))),
            caption_justify="left",
            box=box.SIMPLE_HEAD,
            padding=0,
            show_edge=False,
        )
        first, *others = self.header
        table.add_column(Text(first), overflow="fold")
        for name in others:
            table.add_column(Text(name), justify="right", no_wrap=True)
        for i, row in enumerate(self.rows):
            table.add_row(
                *(self._shown(cell, self.places.get((i, j))) for j, cell in enumerate(row)),
                end_section=i + 1 in self.ends,
            )
        return table

    def _shown(self, cell: tuple[str, ...], place: int | None) -> Text:
        text = Text("\n".join(filter(None, map(one_line, cell))))
        if place is not None:
            text.stylize("bold" if place == 1 else "underline", 0, len(cell[0]))
        return text

    def markdown(self) -> str:
        """The table in Markdown, under its title."""
        lines = [
            [
                name.replace("-\n", "").replace("\n−", "−").replace("\n", " ")
                for name in self.header
            ],
            [":--", *("--:" for _ in self.header[1:])],
        ]
        cells = [[escape(cell) for cell in line] for line in lines]
        cells += [
            [_marked(cell, self.places.get((i, j))) for j, cell in enumerate(row)]
            for i, row in enumerate(self.rows)
        ]
        body = ["| " + " | ".join(line) + " |" for line in cells]
        notes = [f"- {escape(note)}" for note in self.footnotes()]
        return "\n".join([f"### {escape(self.title)}", "", *body, "", *notes, ""])


def _marked(cell: tuple[str, ...], place: int | None) -> str:
    lines = [escape(line) for line in cell if line]
    if place is not None:
        lines[0] = f"**{lines[0]}**" if place == 1 else f"<ins>{lines[0]}</ins>"
    return " ".join(lines)


def percent(fraction: float, *, signed: bool = False) -> str:
    """A fraction in percent with one decimal; `signed` writes a plus too, for differences."""
    text = f"{100 * fraction:.1f}"
    if float(text) == 0:
        return "0.0"
    return ("+" if signed and fraction > 0 else "") + text.replace("-", "−")


def decimal(value: float) -> str:
    """A coefficient with two decimals and a real minus sign."""
    return f"{value:.2f}".replace("-", "−")


def many(number: int, noun: str) -> str:
    """A number and its noun, in the plural but for one."""
    return f"{number:,} {noun}{'s' * (number != 1)}"


def one_line(text: str) -> str:
    """A text without its line breaks: names are what others wrote."""
    return " ".join(text.splitlines())


def escape(text: str) -> str:
    """What Markdown or HTML would read as markup, made plain; an underscore in a word is plain."""
    marks = r"[\\`*\[\]<>|~&]|(?<![A-Za-z0-9])_|_(?![A-Za-z0-9])"
    return re.sub(marks, r"\\\g<0>", " ".join(text.split()))


def probability(value: float | None) -> str:
    """A p or q in a cell."""
    return "–" if value is None else f"{value:.4f}" if value >= 1e-4 else f"{value:.1e}"
