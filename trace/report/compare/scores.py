"""Capability scores of models from a table that the user brings."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import TypeAlias

from trace.errors import DataError

COLUMNS = ("benchmark", "model", "score")
EXAMPLE = "The first line is `benchmark,model,score`, then one line each: GPQA,qwen3_14b,0.61."

Scores: TypeAlias = dict[str, dict[str, float]]
"""Benchmark -> model -> score."""


def read_scores(path: Path) -> Scores:
    """Reads a CSV with the columns benchmark, model and score, in any order.

    Higher has to mean better: an attack success rate is entered as 1 − rate.

    Raises:
        DataError: the file cannot be read, a column is missing, a score is no number, or a model
            has two scores on one benchmark.
    """
    scores: Scores = {}
    try:
        with path.open(encoding="utf-8-sig", newline="") as lines:
            rows = csv.DictReader(lines)
            if absent := set(COLUMNS) - set(rows.fieldnames or ()):
                raise DataError(f"{path}: no column {', '.join(sorted(absent))}. {EXAMPLE}")
            for row in rows:
                at = f"{path}, line {rows.line_num}"
                benchmark, model = ((row[c] or "").strip() for c in COLUMNS[:2])
                if not benchmark or not model:
                    raise DataError(f"{at}: names no benchmark or no model. {EXAMPLE}")
                of_benchmark = scores.setdefault(benchmark, {})
                if model in of_benchmark:
                    raise DataError(f"{at}: {model} has two scores on {benchmark}. Keep one.")
                of_benchmark[model] = _score(row["score"], at)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}). {EXAMPLE}") from None
    except (UnicodeDecodeError, csv.Error) as error:
        raise DataError(f"{path}: is no CSV in UTF-8 ({error}). {EXAMPLE}") from None
    if not scores:
        raise DataError(f"{path}: has no score. {EXAMPLE}")
    return scores


def _score(text: str | None, at: str) -> float:
    try:
        value = float(text or "")
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise DataError(f"{at}: {text!r} is no number. {EXAMPLE}")
    return value
