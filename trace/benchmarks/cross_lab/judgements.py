"""From run directories to judgements: a line an answer and judge, as from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trace.benchmarks.cross_lab.rubric import Rubrics, read_rubrics
from trace.errors import DataError
from trace.records import Verdict
from trace.report.judgements import Judgement
from trace.report.run_folder import AGAIN, config_of
from trace.tracking.files import read_jsonl

NAME = "cross_lab"


def judgements(folders: Iterable[Path]) -> Iterator[Judgement]:
    """What every judge of some runs called every answer; a vote that was set aside is left out.

    The respondent's own seat goes by the respondent's name, however the panel calls it. An answer
    that there was nothing to judge of has its status as that of every judge.

    Args:
        folders: run directories of this benchmark.

    Raises:
        DataError: one cannot be read, or two judge the same answers in the same arm.
    """
    places: dict[tuple[str, str, str], Path] = {}
    for folder in folders:
        try:
            settings = config_of(folder)
            cell = (
                settings["model"]["name"],
                settings["condition"]["name"],
                settings["benchmark"]["arm"],
            )
            if (first := places.setdefault(cell, folder)) != folder:
                raise DataError(
                    f"{folder}: judges {cell[0]} under {cell[1]} in the arm {cell[2]}, and so does "
                    f"{first}. Leave one of the runs out, or rename one respondent: "
                    "model.name=NAME."
                )
            yield from _of_run(folder, settings)
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
        manifest = json.loads((folder / "manifest.json").read_bytes())
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


def _of_run(folder: Path, settings: Mapping[str, Any]) -> Iterator[Judgement]:
    respondent, seats = settings["model"]["name"], list(settings["judges"]["models"])
    own = set(json.loads((folder / "manifest.json").read_bytes())["own"])
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
                judge=respondent if seat in own else seat,
                measure=sample["category"],
                label=verdict.label,
                status=verdict.status,
                epoch=line["epoch"],
                arm=settings["benchmark"]["arm"],
                columns={
                    "category": sample["category"],
                    "split": sample["split"],
                    "underspecified": sample["underspecified"],
                },
            )
