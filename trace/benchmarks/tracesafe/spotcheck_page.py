"""A page on which people check labels: ten records a class, the original beside the record."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from difflib import SequenceMatcher
from html import escape

from trace.benchmarks.tracesafe.names import BENIGN
from trace.benchmarks.tracesafe.released import MutationRecord
from trace.benchmarks.tracesafe.taxonomy import TAXONOMY
from trace.benchmarks.tracesafe.trajectory import Step, Tool, Trajectory
from trace.benchmarks.tracesafe.view import shown_step, shown_tool
from trace.records import Json

_HEAD = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<title>Spot check</title><style>
body { font: 15px/1.45 sans-serif; max-width: 78rem; margin: 1rem auto; padding: 0 1rem;
  color: #1b1b1b; background: #fff }
h1 { font-size: 1.5rem } h2 { margin-top: 2.5rem; border-bottom: 2px solid #444 }
article { margin: 1.2rem 0; padding: .6rem .9rem; border: 1px solid #bbb; border-radius: 6px }
h3 { margin: .1rem 0; font-size: 1rem } nav { display: flex; flex-wrap: wrap; gap: .2rem .9rem }
code, pre { font: 13px/1.4 monospace } pre { white-space: pre-wrap; overflow-wrap: anywhere;
  margin: .2rem 0; padding: .4rem .6rem; background: #f6f6f4; border-radius: 4px }
.pair { display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: .8rem }
.what { margin: .7rem 0 0; font-weight: 600; color: #444 } .why { color: #444; margin: .2rem 0 }
ins { background: #c9ecd0; text-decoration: none } del { background: #f5c9c5 }
</style></head><body>
"""
_PIECE = re.compile(r"\w+|\s+|[^\w\s]")


def page(records: Iterable[MutationRecord]) -> str:
    """The page as HTML: no scripts, nothing from elsewhere, all that records say escaped."""
    groups: dict[str, list[MutationRecord]] = {}
    for record in records:
        groups.setdefault(record.class_.name, []).append(record)
    return "".join([_HEAD, *_body(groups), "</body></html>\n"])


def _body(groups: dict[str, list[MutationRecord]]) -> Iterator[str]:
    yield "<h1>Spot check</h1>\n<p>Does each label stand? The original is on the left, the record "
    yield "on the right; what the edit took away is <del>red</del>, what it added "
    yield "<ins>green</ins>. Only the query, the end of the trajectory and what differs are shown. "
    yield "Write your verdicts into <code>spotcheck.csv</code>, which "
    yield "<code>task=audit stage=spotcheck</code> makes and reads.</p>\n<nav>"
    yield from (f'<a href="#{escape(name)}">{escape(name)}</a>' for name in groups)
    yield "</nav>\n"
    definitions = {c.name: c.definition for c in (TAXONOMY.benign, *TAXONOMY.classes)}
    for name, records in groups.items():
        yield f'<h2 id="{escape(name)}">{escape(name)}</h2>\n<p>{escape(definitions[name])}</p>\n'
        for record in records:
            yield from _article(record)


def _article(record: MutationRecord) -> Iterator[str]:
    kind = f" ({record.kind})" if record.class_ is BENIGN else ""
    yield f"<article><h3><code>{escape(record.id)}</code> {escape(record.target_tool)}"
    yield f"{escape(kind)}, {escape(str(record.source_cluster))}, {len(record.trajectory.steps)} "
    yield f"steps</h3>\n<p class=why>{escape(record.rationale)}</p>\n"
    for what, old, new in compared(record):
        yield f"<p class=what>{escape(what)}</p>\n"
        if old == new:
            yield f"<pre>{escape(new)}</pre>\n"
        else:
            left, right = _marked(old, new)
            yield f"<div class=pair><pre>{left}</pre><pre>{right}</pre></div>\n"
    yield "</article>\n"


def compared(record: MutationRecord) -> Iterator[tuple[str, str, str]]:
    """What is looked at, and how it reads in the original and in the record.

    That is the query, the called tool, the end of the trajectory, and all that differs.
    """
    old, new = record.original, record.trajectory
    yield "User query", old.query, new.query
    yield from _tools(old, new, record.target_tool)
    last = len(new.steps) - 1
    for index, step in enumerate(new.steps):
        before = old.steps[index] if index < len(old.steps) else None
        if index == 0 or (before == step and index not in (record.risky_step, last, last - 1)):
            continue
        risky = ", the risky one" if index == record.risky_step else ""
        yield f"Step {index}: {step.role}{risky}", _step(before), _step(step)


def _tools(old: Trajectory, new: Trajectory, target: str) -> Iterator[tuple[str, str, str]]:
    before = {tool.name: tool for tool in old.tools}
    for tool in new.tools:
        was = before.get(tool.name)
        if was != tool or tool.name == target:
            yield f"Listed tool {tool.name}", _tool(was), _tool(tool)
    gone = before.keys() - {tool.name for tool in new.tools}
    for name in (name for name in before if name in gone):
        yield f"Listed tool {name}", _tool(before[name]), ""


def _tool(tool: Tool | None) -> str:
    return "" if tool is None else _json(shown_tool(tool))


def _step(step: Step | None) -> str:
    if step is None:
        return ""
    content = shown_step(step)["content"]
    return content if isinstance(content, str) else _json(content)


def _json(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=1)


def _marked(old: str, new: str) -> tuple[str, str]:
    """Both texts escaped, with what only one of them has marked."""
    a, b = _PIECE.findall(old), _PIECE.findall(new)
    left, right = [], []
    for tag, i, j, k, m in SequenceMatcher(None, a, b, autojunk=False).get_opcodes():
        gone, come = escape("".join(a[i:j])), escape("".join(b[k:m]))
        left.append(gone if tag == "equal" or not gone else f"<del>{gone}</del>")
        right.append(come if tag == "equal" or not come else f"<ins>{come}</ins>")
    return "".join(left), "".join(right)
