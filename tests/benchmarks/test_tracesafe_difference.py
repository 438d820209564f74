from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.benchmarks.tracesafe.difference import difference

_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=10,
)


@given(_JSON)
def test_equal_values_do_not_differ(value: Any) -> None:
    assert difference(value, json.loads(json.dumps(value))) == {}


@given(st.lists(_JSON, max_size=4), st.integers(0, 4), _JSON)
def test_an_inserted_item_is_found(items: list[Any], at: int, new: Any) -> None:
    changed = [*items[:at], new, *items[at:]]
    found = difference(items, changed)
    assert list(found) == ["iterable_item_added"]
    ((path, value),) = found["iterable_item_added"].items()
    place = int(path.removeprefix("root[").removesuffix("]"))
    assert [*items[:place], value, *items[place:]] == changed


@given(st.dictionaries(st.text(max_size=3), _JSON, max_size=3), st.text(max_size=3), _JSON)
def test_an_added_key_is_found(value: dict[str, Any], key: str, new: Any) -> None:
    value.pop(key, None)
    assert difference(value, value | {key: new}) == {"dictionary_item_added": [f"root[{key!r}]"]}


@given(st.lists(_JSON, max_size=3), st.lists(_JSON, max_size=3), st.text(), st.integers())
def test_a_changed_value_is_found(head: list[Any], tail: list[Any], old: str, new: int) -> None:
    found = difference({"a": [*head, old, *tail]}, {"a": [*head, new, *tail]})
    path = f"root['a'][{len(head)}]"
    assert found == {"values_changed": {path: {"new_value": new, "old_value": old}}}


@pytest.mark.parametrize(("old", "new"), [([1, 2], [1]), ({"a": [1]}, {"a": []})])
def test_a_shorter_list_is_refused(old: Any, new: Any) -> None:
    with pytest.raises(ValueError, match="removed"):
        difference(old, new)


def test_a_removed_key_is_named() -> None:
    assert difference({"a": 1, "b": {"c": 2}}, {"b": {"d": 2}}) == {
        "dictionary_item_removed": ["root['a']", "root['b']['c']"],
        "dictionary_item_added": ["root['b']['d']"],
    }


def test_paths_and_details_are_those_of_the_release(mutants: list[Any]) -> None:
    """DeepDiff's own output, for the classes that only change short texts."""
    compared = 0
    for record in mutants:
        theirs = record["difference"]
        name = record["mutation_metadata"]["mutator_name"]
        if name in {"HallucinatedTool", "HallucinatedArgValue"}:
            assert difference(record["original_trace"], record["new_trace"]) == theirs
            compared += 1
    assert compared >= 15
