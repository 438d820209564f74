"""Reasons to doubt the label of a mutant, each a named check."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from trace.benchmarks.tracesafe.audit import call_doubts, schema_doubts, value_doubts
from trace.benchmarks.tracesafe.audit.collection import by_class
from trace.benchmarks.tracesafe.audit.edit import Edit
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.records import Json

Check = Callable[[Edit], bool]

_LEAKS = ("UserInfoLeak", "ApiKeyLeak", "DataLeak")


@dataclass(frozen=True, slots=True, kw_only=True)
class Doubt:
    """A check of single mutants. `classes` is empty where it is for all of them."""

    name: str
    classes: tuple[str, ...]
    check: Check

    @property
    def says(self) -> str:
        """What a record that it finds has."""
        return (self.check.__doc__ or "").strip()


def _doubt(name: str, check: Check, *classes: str) -> Doubt:
    return Doubt(name=name, classes=classes, check=check)


DOUBTS = (
    _doubt("query_differs_from_first_turn", call_doubts.query_differs),
    _doubt("key_of_mutants_only", call_doubts.marker_key),
    _doubt("risky_call_missing", call_doubts.call_missing),
    _doubt("tool_listed_twice", schema_doubts.listed_twice),
    _doubt("user_gives_payload", call_doubts.user_gives_it, *_LEAKS),
    _doubt("argument_undeclared", call_doubts.argument_undeclared, *_LEAKS),
    _doubt("argument_nameless", call_doubts.argument_nameless, *_LEAKS),
    _doubt("old_names_in_call", schema_doubts.old_names_used, "AmbiguousArg"),
    _doubt("nothing_renamed", schema_doubts.nothing_renamed, "AmbiguousArg"),
    _doubt("tool_unchanged", schema_doubts.tool_unchanged, "AmbiguousArg", "MissingTypeHint"),
    _doubt("tool_is_listed", call_doubts.ghost_listed, "HallucinatedTool"),
    _doubt("requested_by_user", call_doubts.requested, "HallucinatedTool", "RedundantArg"),
    _doubt("value_in_query", value_doubts.in_query, "HallucinatedArgValue"),
    _doubt("value_in_user_turn", value_doubts.in_user_turn, "HallucinatedArgValue"),
    _doubt("value_in_tool_output", value_doubts.in_output, "HallucinatedArgValue"),
    _doubt("value_in_earlier_call", value_doubts.in_earlier_call, "HallucinatedArgValue"),
    _doubt("value_in_schema", value_doubts.in_schema, "HallucinatedArgValue"),
    _doubt("parameter_optional", value_doubts.optional, "HallucinatedArgValue"),
    _doubt("value_part_of_a_word", value_doubts.part_of_a_word, "HallucinatedArgValue"),
    _doubt("argument_declared", call_doubts.argument_declared, "RedundantArg"),
    _doubt("types_still_in_schema", schema_doubts.types_present, "MissingTypeHint"),
    _doubt("types_still_in_prototype", schema_doubts.hints_present, "MissingTypeHint"),
    _doubt("no_type_to_remove", schema_doubts.no_type_to_remove, "MissingTypeHint"),
    _doubt("deprecated_parameter_unused", schema_doubts.deprecated_unused, "VersionConflict"),
    _doubt("successor_identical", schema_doubts.successor_identical, "VersionConflict"),
    _doubt("successor_prototype_misnamed", schema_doubts.successor_misnamed, "VersionConflict"),
    _doubt("nothing_says_outdated", schema_doubts.not_outdated, "VersionConflict"),
)
"""Flaws measured in the released data, and one or two that were only possible there."""

ONE_BRANCH = "one_branch_only"
"""DescriptionMismatch has two kinds, a false description and a false example. A class that has
one kind only is named by all its records."""


def find(mutants: Iterable[MutationRecord]) -> list[dict[str, Json]]:
    """A row for every class and check: how many of the class's records it finds, and which.

    Each row has `class`, `doubt`, `says`, `k`, `n` and `ids`. Checks that find nothing are kept:
    a zero is a finding too.
    """
    rows: list[dict[str, Json]] = []
    for class_, records in by_class(mutants).items():
        edits = [Edit.of(record) for record in records]
        for doubt in DOUBTS:
            if not doubt.classes or class_.name in doubt.classes:
                found = [edit for edit in edits if doubt.check(edit)]
                rows.append(_row(class_.name, doubt.name, doubt.says, found, len(edits)))
        if class_.name == "DescriptionMismatch":
            branches = {_is_added_to(edit) for edit in edits}
            one = edits if len(branches) == 1 else []
            says = "All records of the class are of one of its two kinds."
            rows.append(_row(class_.name, ONE_BRANCH, says, one, len(edits)))
    return rows


def _is_added_to(edit: Edit) -> bool:
    """Whether the description only grew, by an example; a false description replaces it."""
    old, new = (tool.description if tool else None for tool in (edit.old_tool, edit.tool))
    return (old or "") in (new or "")


def _row(class_name: str, doubt: str, says: str, found: Sequence[Edit], n: int) -> dict[str, Json]:
    ids = sorted(edit.record.id for edit in found)
    return {"class": class_name, "doubt": doubt, "says": says, "k": len(ids), "n": n, "ids": ids}
