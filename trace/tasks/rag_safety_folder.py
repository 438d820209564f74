"""What the stages of a build of questions with documents write into its folder."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from trace.benchmarks.rag_safety.builder import freeze, tables
from trace.benchmarks.rag_safety.builder.card import About, card
from trace.benchmarks.rag_safety.builder.questions import left_out_grid, question_json
from trace.benchmarks.rag_safety.released import ALLOWED, EXPANDED
from trace.errors import DataError
from trace.report.grid import Grid
from trace.tasks.rag_safety_stages import Build
from trace.tracking.files import write_jsonl, write_text

SUMMED = ("corpus.jsonl", "questions.jsonl", "candidates.jsonl", "audit.jsonl", "queue.jsonl",
          "reviewed.jsonl", EXPANDED, "category_counts.csv", "sources.csv", f"balanced/{EXPANDED}",
          f"balanced/{ALLOWED}", "balanced/category_counts.csv", "card.md")  # fmt: skip
"""The files whose sums stand in SHA256SUMS: all but the manifest, which tells when and where."""

LAST = {"corpus": "corpus.jsonl", "questions": "questions.jsonl", "documents": "candidates.jsonl",
        "audit": "queue.jsonl", "review": "reviewed.jsonl", "freeze": SUMMED[-1],
        "all": SUMMED[-1]}  # fmt: skip
"""The last of them that a stage writes."""


def write(build: Build, stage: str, folder: Path, run: str, notes: Sequence[str]) -> list[Grid]:
    """Carries the stages out up to `stage`, and writes what each found.

    What was frozen before is removed where it no longer follows from that: requests that had
    failed were answered since.

    Returns:
        The tables of the last of them.

    Raises:
        DataError: nothing can be frozen.
    """
    grids = _write(build, folder, run, notes)
    sums = folder / "SHA256SUMS"
    if sums.is_file() and sums.read_text("utf-8") != _sums(folder):
        _forget(folder, LAST[stage])
    return grids


def _forget(folder: Path, last: str) -> None:
    """Removes all that is written after a file."""
    for name in (*SUMMED[SUMMED.index(last) + 1 :], "SHA256SUMS", "manifest.json"):
        (folder / name).unlink(missing_ok=True)


def _write(build: Build, folder: Path, run: str, notes: Sequence[str]) -> list[Grid]:
    write_jsonl(folder / "corpus.jsonl", (d.to_json() for d in build.corpus.documents))
    if not build.does("questions"):
        return [build.corpus.grid()]
    write_jsonl(folder / "questions.jsonl", map(question_json, build.questions.kept))
    if not build.does("documents"):
        return [build.questions.grid()]
    write_jsonl(folder / "candidates.jsonl", (c.to_json() for c in build.candidates.kept))
    found = build.candidates
    if not build.does("audit"):
        grid = left_out_grid("Questions with documents", len(found.kept), found.left_out)
        return [build.questions.grid(), grid]
    write_jsonl(folder / "audit.jsonl", (a.to_json() for a in build.audited))
    open_ = (a.to_json() for a in build.audited if a.for_people)
    write_jsonl(folder / "queue.jsonl", open_)
    if not build.does("review"):
        return [tables.audited(build.audited)]
    write_jsonl(folder / "reviewed.jsonl", (r.to_json() for r in build.reviewed))
    if not build.does("freeze"):
        return [tables.audited(build.audited), _kept(build)]
    if not build.kept.kept:
        _forget(folder, LAST["review"])
        raise _empty(build, folder)
    _freeze(build, folder, run, notes)
    return [tables.audited(build.audited), _kept(build), tables.frozen(*build.counts)]


def _freeze(build: Build, folder: Path, run: str, notes: Sequence[str]) -> None:
    full = build.kept.kept
    by_people = {one.audited.pair.question.id for one in build.reviewed if one.by_people}
    for at, frozen in ((folder, full), (folder / "balanced", build.balanced)):
        made = freeze.rows(frozen, run=run, by_people=by_people)
        write_jsonl(at / EXPANDED, (row.to_json() for row in made))
        write_text(at / "category_counts.csv", freeze.counts_csv(freeze.counts(frozen)))
    write_text(folder / "balanced" / ALLOWED, freeze.allowed_csv(build.balanced))
    sources = freeze.sources(full)
    write_text(folder / "sources.csv", freeze.sources_csv(sources))
    about = About(
        writer=build.helpers.models["writer"].name,
        auditor=build.helpers.models["auditor"].name,
        people=build.by_people,
        left_out=build.left_out(),
        notes=notes,
    )
    write_text(folder / "card.md", card(*build.counts, sources, about))
    write_text(folder / "SHA256SUMS", _sums(folder))


def _kept(build: Build) -> Grid:
    return left_out_grid("Audited questions", len(build.kept.kept), build.kept.left_out)


def _empty(build: Build, folder: Path) -> DataError:
    """Says what became of every question where none can be frozen."""
    wanted = sum(one.number for one in build.asked)
    told = Counter[str]()
    for reasons in build.left_out().values():
        told.update(reasons)
    undecided = Counter(a.found.reason for a in build.audited if a.for_people and a.found.reason)
    verdicts = f" The auditor left open: {_listed(undecided)}." if undecided else ""
    waiting = f" {folder / 'queue.jsonl'} can be given to people." if undecided else ""
    advice = (
        "All replies are logged. Small models seldom keep to the form: "
        "choose a larger writer or auditor (benchmark.builder.writer=NAME), give them more tokens "
        "(benchmark.builder.writing.max_new_tokens, sampling.max_new_tokens), or give more "
        "articles."
    )
    return DataError(
        f"task=build: no question can be frozen. Of {wanted:,} that were asked for, left out: "
        f"{_listed(told)}.{verdicts} {build.failed or advice}{waiting}"
    )


def _listed(found: Mapping[str, int]) -> str:
    return "; ".join(f"{n:,} {reason}" for reason, n in found.items())


def _sums(folder: Path) -> str:
    there = [name for name in SUMMED if (folder / name).is_file()]
    return "".join(f"{_sha256(folder / name)}  {name}\n" for name in there)


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
