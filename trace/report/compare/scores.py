"""Capability scores of models from a table that the user brings."""

from __future__ import annotations

import csv
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import TypeAlias

from trace.errors import DataError

COLUMNS = ("benchmark", "model", "score")
EXAMPLE = "The first line is `benchmark,model,score`, then one line each: GPQA,qwen3_14b,0.61."
LARGEST = 1e6
"""Above it nothing is a share, a percentage or a rating, and differences of scores overflow."""

Scores: TypeAlias = dict[str, dict[str, float]]
"""Benchmark -> model -> score."""

_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?", re.ASCII)
_SEPARATORS = {";": ";", "\t": "tabs", "|": "|"}


def read_scores(path: Path) -> Scores:
    """Reads a CSV with the columns benchmark, model and score, in any order.

    Higher has to mean better: an attack success rate is entered as 1 − rate. Other columns are
    not read, nor are lines without any text.

    Raises:
        DataError: the file cannot be read, a column is missing or stands twice, a line has more or
            fewer cells than the first, a score is no number, or a model has two scores on one
            benchmark.
    """
    scores: Scores = {}
    line = 0
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = csv.reader(file, strict=True)
            header = [name.strip() for name in next(rows, [])]
            _check_header(path, header)
            line = rows.line_num
            for cells in rows:
                line = rows.line_num
                if not any(cell.strip() for cell in cells):
                    continue
                at = f"{path}, line {line}"
                if len(cells) != len(header):
                    raise DataError(
                        f"{at}: has {len(cells)} cells, the first line {len(header)}. A decimal "
                        "point is written `.`, and a text with a comma in quotation marks. "
                        f"{EXAMPLE}"
                    )
                row = dict(zip(header, cells, strict=True))
                benchmark, model = (row[column].strip() for column in COLUMNS[:2])
                if not benchmark or not model:
                    raise DataError(f"{at}: names no benchmark or no model. {EXAMPLE}")
                of_benchmark = scores.setdefault(benchmark, {})
                if model in of_benchmark:
                    raise DataError(f"{at}: {model} has two scores on {benchmark}. Keep one.")
                of_benchmark[model] = _score(row["score"].strip(), at)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). {EXAMPLE}") from None
    except UnicodeDecodeError:
        raise DataError(f"{path}: is not in UTF-8. Save it as CSV in UTF-8. {EXAMPLE}") from None
    except csv.Error as error:
        raise DataError(
            f"{path}, after line {line}: is no CSV ({error}). Look for a quotation mark that is "
            f"not closed. {EXAMPLE}"
        ) from None
    if not scores:
        raise DataError(f"{path}: has no score. {EXAMPLE}")
    return scores


def _check_header(path: Path, header: list[str]) -> None:
    if absent := sorted(set(COLUMNS) - set(header)):
        other = next((name for s, name in _SEPARATORS.items() if s in "".join(header)), None)
        instead = "" if other is None else f"It is separated by {other}; separate it by commas. "
        raise DataError(f"{path}: no column {', '.join(absent)}. {instead}{EXAMPLE}")
    if twice := sorted(name for name in COLUMNS if header.count(name) > 1):
        raise DataError(f"{path}: the column {', '.join(twice)} stands twice. Keep one.")


def _score(text: str, at: str) -> float:
    if not _NUMBER.fullmatch(text):
        raise DataError(f"{at}: {text!r} is no number. {EXAMPLE}")
    value = float(text)
    if abs(value) > LARGEST:
        raise DataError(
            f"{at}: {text} is no score: scores are at most {LARGEST:,.0f} in size. {EXAMPLE}"
        )
    return value


def doubts(scores: Scores) -> list[str]:
    """What looks like a slip in a table that could be read, a sentence each.

    Scores of one benchmark on two scales, and names that differ only in their letters' case.
    """
    said = []
    for benchmark, of in scores.items():
        shares = [model for model, score in of.items() if 0 < score < 1]
        larger = [model for model, score in of.items() if score > 1]
        if shares and larger and min(of.values()) >= 0:  # standard scores have both signs
            said.append(
                f"capability: the scores on {benchmark} may be on two scales: "
                f"{shares[0]} has {of[shares[0]]:g}, {larger[0]} has {of[larger[0]]:g}."
            )
    models = {model for of in scores.values() for model in of}
    for what, names in (("benchmarks", scores), ("models", models)):
        for alike in same_but_for_case(names).values():
            if len(alike) > 1:
                said.append(
                    f"capability: {', '.join(alike)} differ only in case: they are taken as "
                    f"{len(alike)} {what}."
                )
    return said


def unmatched(scores: Scores, runs: Collection[str], protocol: str) -> list[str]:
    """A sentence on each kind of name that stands in the table or in the runs alone.

    Args:
        scores: the table.
        runs: the models that have a run under `protocol`.
        protocol: for the sentences.
    """
    named = {model for of in scores.values() for model in of}
    alike = same_but_for_case(runs)
    said, strange = [], []
    for model in sorted(named - {*runs}):
        if others := alike.get(model.casefold()):
            said.append(
                f"capability: {model} in the table is not {', '.join(others)} of the runs: their "
                "letters differ in case. Write the name of the run."
            )
        else:
            strange.append(model)
    if strange:
        said.append(f"capability: no run under {protocol} is of {', '.join(strange)}.")
    if lacking := sorted({*runs} - named):
        said.append(f"capability: the table has no score of {', '.join(lacking)}.")
    return said


def same_but_for_case(names: Iterable[str]) -> Mapping[str, list[str]]:
    """Names by what they are in lower case."""
    found: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        found[name.casefold()].append(name)
    return found
