"""From run directories to judgements: a line an answer and judge, as from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from trace.benchmarks.cross_lab import traces
from trace.benchmarks.cross_lab.arms import arms
from trace.benchmarks.cross_lab.rubric import Rubrics, read_rubrics
from trace.errors import DataError
from trace.records import Verdict, digest
from trace.report.cross_lab.traced import Trace, Traces
from trace.report.cross_lab.words import MAIN
from trace.report.judgements import Judgement
from trace.report.run_folder import AGAIN, config_of
from trace.tracking.files import read_jsonl

NAME = "cross_lab"


def judgements(folders: Iterable[Path]) -> Iterator[Judgement]:
    """What every judge of some runs called every answer; a vote that was set aside is left out.

    A seat that is a respondent goes by the respondent's name in all runs, however panels call it:
    otherwise its votes on itself and on others would be those of two judges. An answer
    that there was nothing to judge of has its status as that of every judge.

    Args:
        folders: run directories of this benchmark.

    Raises:
        DataError: one cannot be read, or they are not arms of one comparison (see `arms`).
    """
    runs = {folder: config_of(folder) for folder in folders}
    parts = arms(runs)
    known: dict[str, str] = {}
    for folder in parts:
        with _readable(folder):
            manifest = _manifest(folder)
            for seat in manifest["own"]:
                known.setdefault(digest(manifest["judges"][seat]), runs[folder]["model"]["name"])
    for folder, arm in parts.items():
        with _readable(folder):
            yield from _of_run(folder, runs[folder], arm, known)


def traces_of(folders: Iterable[Path]) -> Traces:
    """What the traces of the main arm were called, where a run had somebody read them.

    Raises:
        DataError: as for `judgements`.
    """
    runs = {folder: config_of(folder) for folder in folders}
    read = []
    for folder in [folder for folder, arm in arms(runs).items() if arm == MAIN]:
        with _readable(folder):
            lines = list(read_jsonl(folder / "records.jsonl"))
            first = min((line["epoch"] for line in lines), default=0)
            read += [
                Trace(
                    item=line["id"],
                    respondent=runs[folder]["model"]["name"],
                    condition=line["condition"],
                    label=line["trace"].get("label"),
                )
                for line in lines
                if line["trace"] and line["epoch"] == first
            ]
    return Traces(category=traces.CATEGORY, labels=traces.RUBRIC.names, read=read)


@contextmanager
def _readable(folder: Path) -> Iterator[None]:
    """Says which run is of another version."""
    try:
        yield
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None


def rubrics_of(folders: Iterable[Path]) -> Rubrics:
    """The rubrics that all of some runs were judged by.

    Args:
        folders: run directories, at least one.

    Raises:
        DataError: they were judged by different ones or asked different items, or the file has
            changed since.
    """
    known: dict[str, tuple[Any, Path]] = {}
    for folder in folders:
        manifest = _manifest(folder)
        try:
            told = {"rubrics": manifest["rubrics"]}
            told |= {f"data {name}": sha256 for name, sha256 in manifest["data"].items()}
        except KeyError as error:
            raise DataError(f"{folder}: is of another version ({error!r}). {AGAIN}") from None
        for name, value in told.items():
            first, where = known.setdefault(name, (value, folder))
            if first != value:
                raise DataError(
                    f"{folder}: has other {name} than {where}. Compare runs on the same items and "
                    "rubrics: leave one of them out."
                )
    wanted, where = known["rubrics"]
    path = config_of(where)["benchmark"]["rubrics"]
    rubrics = read_rubrics(path)
    if rubrics.hash != wanted:
        raise DataError(
            f"{where}: was judged by rubrics that {path or 'the bundled file'} no longer holds. "
            "Restore the file, or run it again: answers are in the log, and only judges are asked."
        )
    return rubrics


def min_valid_of(folders: Iterable[Path]) -> int:
    """How many votes of peers a label needed in some runs.

    Raises:
        DataError: they do not agree.
    """
    found = {int(config_of(folder)["judges"]["min_valid"]): folder for folder in folders}
    if len(found) > 1:
        (a, first), (b, second), *_ = found.items()
        raise DataError(
            f"{first} needs {a} votes, and {second} {b} (judges.min_valid). Type one of the "
            "commands again with the number of the other: no model is asked anew."
        )
    return next(iter(found))


def _of_run(
    folder: Path, settings: Mapping[str, Any], arm: str, known: Mapping[str, str]
) -> Iterator[Judgement]:
    respondent, seats = settings["model"]["name"], list(settings["judges"]["models"])
    names = _names(_manifest(folder), respondent, seats, known)
    for line in read_jsonl(folder / "records.jsonl"):
        sample = line["sample"]
        nothing = {"status": line["verdict"]["status"]}
        for seat in seats:
            vote = line["judges"].get(seat, nothing)
            if vote.get("excluded"):
                continue
            verdict = Verdict(status=vote["status"], label=vote.get("label"))
            yield Judgement(
                item=line["id"],
                respondent=respondent,
                condition=line["condition"],
                judge=names[seat],
                measure=sample["category"],
                label=verdict.label,
                status=verdict.status,
                epoch=line["epoch"],
                arm=arm,
                columns={
                    "category": sample["category"],
                    "split": sample["split"],
                    "underspecified": sample["underspecified"],
                },
            )


def _names(
    manifest: Mapping[str, Any], respondent: str, seats: Sequence[str], known: Mapping[str, str]
) -> dict[str, str]:
    """Seat -> judge. `known` are the names of respondents by the hash of what identifies them."""
    names = {}
    for seat in seats:
        name = known.get(digest(manifest["judges"][seat]), seat)
        taken = name in (respondent, *seats) and name != seat
        names[seat] = respondent if seat in manifest["own"] else seat if taken else name
    return names


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_bytes())
    return found
