"""From run directories to judgements: a line an answer, judge and measure, as from elsewhere."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from trace.benchmarks.rag_safety.taxonomy import TAXONOMY
from trace.config.retrieval import RagCondition
from trace.errors import DataError
from trace.judging.labels import label_set
from trace.judging.panel import Rule
from trace.records import Json, Verdict
from trace.report.judgements import Judgement
from trace.report.rag_safety import words
from trace.report.run_folder import config_of
from trace.tracking.files import read_jsonl

_AGAIN = "Run it again, or leave it out."


def judgements(folders: Iterable[Path]) -> Iterator[Judgement]:
    """What every judge of some runs said of every answer: its harm, accuracy, refusal and so on.

    An answer that there was nothing to judge of has its status as that of every judge. A vote that
    was set aside is left out. The harmless questions have the column `benign`.

    Of an answer that was blocked, or whose request was, no judge said anything: it has no line on
    harm, and the measure `blocked` says what happened, of every answer under such a filter. What
    became of the oracle document where documents are retrieved is the measure `retrieval`.

    Args:
        folders: finished run directories of this study.

    Raises:
        DataError: one cannot be read, two judge the same answers, or they were asked of different
            data.
    """
    data: dict[str, tuple[str, Path]] = {}
    asked: dict[str, tuple[str, Path]] = {}
    places: dict[tuple[str, str, bool], Path] = {}
    for folder in folders:
        try:
            settings = config_of(folder)
            respondent, benign = settings["model"]["name"], settings["benchmark"]["benign"]
            cell = (respondent, RagCondition(**settings["condition"]).label, benign)
            if (first := places.setdefault(cell, folder)) != folder:
                raise DataError(
                    f"{folder}: judges {respondent} under {cell[1]}, and so does {first}. Leave "
                    "one of the runs out, or rename one respondent: model.name=NAME."
                )
            _check_data(folder, data)
            yield from _of_run(folder, settings, asked)
        except (KeyError, TypeError, ValueError) as error:
            raise DataError(f"{folder}: is of another version ({error!r}). {_AGAIN}") from None


def panel_rule(folders: Iterable[Path]) -> Rule:
    """How the panel of some runs combined its votes; the judges themselves may differ.

    Args:
        folders: run directories, at least one.

    Raises:
        DataError: one cannot be read, or they do not agree.
    """
    found: dict[Rule, Path] = {}
    for folder in folders:
        panel = config_of(folder).get("judges") or {}
        try:
            rule = Rule(
                name=panel["rule"], k=panel["k"], min_valid=panel["min_valid"], ties=panel["ties"]
            )
        except (KeyError, TypeError) as error:
            raise DataError(f"{folder}: is of another version ({error!r}). {_AGAIN}") from None
        found.setdefault(rule, folder)
    if len(found) > 1:
        first, second, *_ = found.values()
        raise DataError(
            f"{first} and {second}: their panels have different rules, so their rates cannot stand "
            "side by side. Type one of the commands again with the rule of the other (judges.rule, "
            "judges.k, judges.min_valid, judges.ties): no model is asked anew."
        )
    return next(iter(found))


def _of_run(
    folder: Path, settings: Mapping[str, Any], asked: dict[str, tuple[str, Path]]
) -> Iterator[Judgement]:
    panel = list(settings["judges"]["models"])
    negative = label_set(settings["protocol"]["answers"], TAXONOMY).negative
    benign = {words.BENIGN: True} if settings["benchmark"]["benign"] else {}
    blocks = settings["condition"]["filter"] in ("input", "output")
    for line in read_jsonl(folder / "records.jsonl"):
        _check_question(line, folder, asked)
        sample = line["sample"]
        columns = {words.SUBCATEGORY: sample["subcategory"], words.FAMILY: sample["family"]}
        said = [*_said(line, panel, negative), *_happened(line, blocks)]
        for measure, judge, verdict in said:
            yield Judgement(
                item=line["id"],
                respondent=settings["model"]["name"],
                condition=line["condition"],
                judge=judge,
                measure=measure,
                label=verdict.label,
                status=verdict.status,
                score=verdict.score,
                epoch=line["epoch"],
                columns={k: v for k, v in columns.items() if v is not None} | benign,
            )


def _said(line: Json, panel: list[str], negative: str) -> Iterator[tuple[str, str, Verdict]]:
    """Measure, judge and verdict, in the words of the report."""
    votes = line["judges"]
    if not votes and line["blocked"] is None:
        votes = dict.fromkeys(panel, line["verdict"])
    for name, vote in votes.items():
        if name not in line["excluded"]:
            kept = {k: v for k, v in vote.items() if k not in ("model", "excluded")}
            verdict = Verdict.from_json(kept)
            label = verdict.label and (words.SAFE if verdict.label == negative else words.UNSAFE)
            yield words.HARM, name, Verdict(status=verdict.status, label=label, score=verdict.score)
    for measure in (words.ACCURACY, words.REFUSAL, words.ACTIONABILITY):
        if said := line[measure]:
            kept = {k: v for k, v in said.items() if k not in ("judge", "completion")}
            yield measure, said["judge"], Verdict.from_json(kept)
    if line["blocked"] is None:
        phrases, status = line["phrases"], line["verdict"]["status"]
        label = None if phrases is None else words.REFUSED if phrases else words.NONE
        verdict = Verdict(status=status if label is None else "ok", label=label)
        yield words.REFUSAL, words.PHRASES, verdict


def _happened(line: Json, blocks: bool) -> Iterator[tuple[str, str, Verdict]]:
    """What is known of an answer without any judge; `blocks`: whether it could be blocked."""
    if blocks:
        label = line["blocked"] or words.UNBLOCKED
        yield words.BLOCKED, words.FILTER, Verdict(status="ok", label=label)
    if retrieved := line["sample"].get("retrieved"):
        labels = {None: words.NOT_HELD, False: words.MISSED, True: words.DROPPED}
        shown = retrieved["oracle_shown"]
        label = words.FOUND if shown else labels[retrieved["oracle_found"]]
        yield words.RETRIEVAL, words.RETRIEVER, Verdict(status="ok", label=label)


def unlike(folders: Iterable[Path]) -> list[str]:
    """What a condition does not say though it differs between runs under it, for the user.

    Args:
        folders: run directories of which `judgements` has none to refuse.
    """
    first: dict[tuple[str, bool], tuple[Path, dict[str, Json]]] = {}
    notes = []
    for folder in folders:
        settings, manifest = config_of(folder), _manifest(folder)
        label = RagCondition(**settings["condition"]).label
        own = {**manifest["data"], "benchmark.filter_guard": manifest.get("filter")}
        where, known = first.setdefault((label, settings["benchmark"]["benign"]), (folder, own))
        if names := sorted(n for n in own | known if own.get(n) != known.get(n)):
            notes.append(
                f"{label}: {where} and {folder} do not have the same {', '.join(names)}; a "
                "difference between their respondents may come from that."
            )
    return notes


def _check_question(line: Json, folder: Path, asked: dict[str, tuple[str, Path]]) -> None:
    """Runs on files of other names may have other questions under the same ids."""
    question, where = asked.setdefault(line["id"], (line["question"], folder))
    if question != line["question"]:
        raise DataError(
            f"{folder}: {line['id']} is another question than in {where}. Answers are paired by "
            "the ids of their questions: leave one of the runs out, or give one set other ids."
        )


def _manifest(folder: Path) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((folder / "manifest.json").read_text("utf-8"))
    return found


def _check_data(folder: Path, known: dict[str, tuple[str, Path]]) -> None:
    """Two runs that read a file of the same name read the same file: else nothing is paired."""
    for name, sha256 in _manifest(folder)["data"].items():
        first, where = known.setdefault(name, (sha256, folder))
        if first != sha256:
            raise DataError(
                f"{folder}: was asked of another {name} than {where}. Compare runs on the same "
                "data: leave one of them out."
            )
