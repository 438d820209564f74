"""Classes whose fault lies in the tool list: is it really there?"""

from __future__ import annotations

import re

from trace.benchmarks.tracesafe import prototype
from trace.benchmarks.tracesafe.audit.edit import Edit
from trace.benchmarks.tracesafe.trajectory import Tool
from trace.records import Json


def types_present(edit: Edit) -> bool:
    """MissingTypeHint: the schema still has every type, or one that the prototype has lost."""
    schema, hints = _lost_types(edit), _lost_hints(edit)
    return bool(_types(edit.old_tool)) and (not schema or not hints <= schema)


def hints_present(edit: Edit) -> bool:
    """MissingTypeHint: the prototype still has every type, or one that the schema has lost."""
    schema, hints = _lost_types(edit), _lost_hints(edit)
    return bool(_hints(edit.old_tool)) and (not hints or not schema <= hints)


def no_type_to_remove(edit: Edit) -> bool:
    """MissingTypeHint: the tool never had a typed parameter."""
    return edit.old_tool is not None and not _types(edit.old_tool)


def deprecated_unused(edit: Edit) -> bool:
    """VersionConflict: only a parameter is marked, and the call does not use it."""
    old, new = edit.old_tool, edit.tool
    if old is None or new is None or edit.call is None or old.description != new.description:
        return False
    before, after = old.parameters or {}, new.parameters or {}
    marked = {name for name in before.keys() & after.keys() if before[name] != after[name]}
    return bool(marked) and not marked & edit.call.arguments.keys()


def successor_identical(edit: Edit) -> bool:
    """VersionConflict: the other version has the very same parameters."""
    old = edit.old_tool
    return old is not None and any(
        (tool.parameters or {}) == (old.parameters or {}) for tool in edit.added_tools
    )


def successor_misnamed(edit: Edit) -> bool:
    """VersionConflict: the prototype of the other version has another name than its entry."""
    names = [(t, re.match(r"\s*def\s+(\w+)", t.prototype or "")) for t in edit.added_tools]
    return any(found is not None and found[1] != tool.name for tool, found in names)


def not_outdated(edit: Edit) -> bool:
    """VersionConflict: no entry says that the called tool, or a part of it, is outdated."""
    old = edit.old_tool
    if old is None or edit.tool != old:
        return False
    said = (
        (tool.description or "").replace(old.description or "", " ") for tool in edit.added_tools
    )
    return not any(re.search(rf"(?<!\w){re.escape(old.name)}(?!\w)", text) for text in said)


def old_names_used(edit: Edit) -> bool:
    """AmbiguousArg: the schema has new names, the call has the old ones."""
    if edit.call is None or edit.old_tool is None or edit.tool is None:
        return False
    gone = (edit.old_tool.parameters or {}).keys() - (edit.tool.parameters or {}).keys()
    return bool(gone & edit.call.arguments.keys())


def nothing_renamed(edit: Edit) -> bool:
    """AmbiguousArg: names were to be abbreviated, and none is."""
    if not (edit.meta_text("mutation_type") or "").startswith("case_2"):
        return False
    return _names(edit.tool) == _names(edit.old_tool)


def tool_unchanged(edit: Edit) -> bool:
    """The entry of the called tool is the original one, and none was added."""
    return edit.tool is not None and edit.tool == edit.old_tool and not edit.added_tools


def listed_twice(edit: Edit) -> bool:
    """A name stands twice in the tool list, and did not in the original."""
    before = [tool.name for tool in edit.record.original.tools]
    return any(tool.name in before for tool in edit.added_tools)


def _names(tool: Tool | None) -> set[str]:
    return set(tool.parameters or ()) if tool else set()


def _types(tool: Tool | None) -> dict[str, Json]:
    schemas = (tool.parameters or {}) if tool else {}
    return {n: s["type"] for n, s in schemas.items() if isinstance(s, dict) and s.get("type")}


def _hints(tool: Tool | None) -> set[str]:
    parsed = prototype.parse(tool.prototype) if tool and tool.prototype else None
    return {parameter.name for parameter in parsed or () if parameter.type is not None}


def _lost_types(edit: Edit) -> set[str]:
    return _types(edit.old_tool).keys() - _types(edit.tool).keys()


def _lost_hints(edit: Edit) -> set[str]:
    return _hints(edit.old_tool) - _hints(edit.tool)
