from __future__ import annotations

import json
import re
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from trace.tracking.flatten import MAX_COLUMNS, columns, numbers_and_reasons

scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text()
cells = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)
rows_ = st.lists(st.dictionaries(st.sampled_from("abc") | st.text(max_size=3), cells), max_size=5)


def test_metrics_get_flat_names() -> None:
    numbers, reasons = numbers_and_reasons(
        {
            "schema": 1,
            "metrics": {
                "tpr": {
                    "value": 0.5, "low": 0.25, "high": 0.75, "n": 8, "n_unscored": 0,
                    "interval": "wilson", "unit": "share", "higher_is_better": True,
                },
                "auroc": {"value": None, "n": 0, "reason": "no score", "low": None},
            },
            "breakdowns": {
                "class": {"Benign": {"accuracy": {"value": 1.0, "n": 3}}},
                "confusion": {"rows": [[1, 2]]},
                "language": {"中文": {"n": 1}, "日本": {"n": 2}},
            },
        }
    )  # fmt: skip
    assert numbers == {
        "tpr": 0.5, "tpr_low": 0.25, "tpr_high": 0.75, "tpr_n": 8, "tpr_n_unscored": 0,
        "auroc_n": 0, "class_Benign_accuracy": 1.0, "class_Benign_accuracy_n": 3,
        "confusion_rows_0_0": 1, "confusion_rows_0_1": 2, "language_n": 1, "language_n_2": 2,
    }  # fmt: skip
    assert reasons == {"auroc_reason": "no score"}


@given(st.dictionaries(st.text(), cells))
def test_no_number_is_lost_and_names_are_fit(metrics: dict[str, Any]) -> None:
    numbers, reasons = numbers_and_reasons({"metrics": metrics})
    found = re.findall(r"-?\b\d[\d.e+-]*", json.dumps(_without_text(metrics)))
    assert len(numbers) == len(found)
    for name in (*numbers, *reasons):
        assert re.fullmatch(r"[A-Za-z][A-Za-z0-9_]*", name)


def _without_text(value: Any) -> Any:
    """The same numbers, with nothing in keys or strings that looks like one."""
    if isinstance(value, dict):
        return [_without_text(item) for item in value.values()]
    if isinstance(value, list):
        return [_without_text(item) for item in value]
    return 0 if isinstance(value, float) else "" if isinstance(value, str) else value


def test_records_become_columns() -> None:
    names, table = columns(
        [
            {"id": "a", "gold": {"label": "safe", "class": None}, "n": 1, "tags": ["x"]},
            {"id": "b", "gold": {"label": "unsafe"}, "n": 2.5, "odd": True},
            {"id": "<b>{0}</b>", "n": None, "odd": "true"},
        ]
    )
    assert names == ["id", "gold_label", "gold_class", "n", "tags", "odd"]
    assert table == [
        ["a", "safe", None, 1, '["x"]', None],
        ["b", "unsafe", None, 2.5, None, "true"],
        ["<b>{0}</b>", None, None, None, None, "true"],
    ]


def test_many_fields_stand_together_in_one_column() -> None:
    names, table = columns([{f"f{i}": i for i in range(MAX_COLUMNS + 2)}, {"f0": 1}])
    assert len(names) == MAX_COLUMNS + 1
    assert names[-1] == "more"
    assert json.loads(str(table[0][-1])) == {"f64": 64, "f65": 65}
    assert table[1][-1] is None


@given(rows_)
def test_a_table_has_one_kind_a_column_and_can_be_written(rows: list[dict[str, Any]]) -> None:
    names, table = columns(rows)
    assert len(set(names)) == len(names)
    for row in table:
        assert len(row) == len(names)
    for column in zip(*table, strict=True):
        kinds = {float if type(v) is int else type(v) for v in column if v is not None}
        assert len(kinds) <= 1
        assert kinds <= {float, bool, str}
    json.dumps(table, ensure_ascii=False).encode("utf-8")
