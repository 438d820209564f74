"""A claim of a file beside what it is compared with: is it registered, or post hoc?"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path

from trace import config
from trace.benchmarks.cross_lab.items import read_items
from trace.benchmarks.cross_lab.registration import ALL, Registration
from trace.benchmarks.cross_lab.rubric import Rubrics
from trace.benchmarks.cross_lab.stamp import Responded, read, verify
from trace.models.log import log_folder
from trace.report.cross_lab.registered import Announced
from trace.report.run_folder import config_of
from trace.tracking.files import read_jsonl

_KEY = re.compile(rb'\{"schema": \d+, "key": "([0-9a-f]{64})"')


def of_judgements(path: Path, benchmark: config.CrossLab, rubrics: Rubrics) -> Announced:
    """The claim of a file beside judgements that were made elsewhere: nobody knows when.

    Raises:
        DataError: the file is not as it should be.
    """
    files = read_items(benchmark.path).fingerprint.values()
    return _announced(path, rubrics, files, None)


def of_runs(path: Path, folders: Sequence[Path], rubrics: Rubrics) -> Announced:
    """The claim of a file beside runs of one set of items.

    Args:
        path: of the claim, stamped or not.
        folders: finished run directories.
        rubrics: that all of them were judged by.

    Raises:
        DataError: the file is not as it should be.
    """
    manifests = [json.loads((folder / "manifest.json").read_bytes()) for folder in folders]
    files = {sha256 for manifest in manifests for sha256 in manifest["data"].values()}
    return _announced(path, rubrics, files, folders)


def _announced(
    path: Path, rubrics: Rubrics, files: Collection[str], folders: Sequence[Path] | None
) -> Announced:
    claim, stamp = read(path)
    given = None if folders is None else responded(folders, claim)
    doubts = verify(claim, stamp, rubrics=rubrics.hash, files=files, responded=given)
    return claim.announced(doubts)


def responded(folders: Iterable[Path], claim: Registration) -> dict[str, Responded]:
    """Model of a claim -> when the first of all its responses can have been made, by the log.

    The log is the one beside its runs. A segment of it is named by when it was begun, and its
    completions are no older. Nobody knows where the log lacks a response: the runs were moved, or
    the log was removed.
    """
    keys: dict[tuple[str, Path], set[str]] = defaultdict(set)
    items: dict[str, set[str]] = defaultdict(set)
    for folder in folders:
        settings = config_of(folder)
        name = settings["model"]["name"]
        if name not in claim.models:
            continue
        log = log_folder(folder.absolute().parents[4], name)
        for line in read_jsonl(folder / "records.jsonl"):
            keys[name, log].add(line["response"]["key"])
            sample = line["sample"]
            if (line["condition"], sample["category"]) == (claim.condition, claim.category):
                items[name] |= {line["id"]} if claim.split in (ALL, sample["split"]) else set()
    found: dict[str, Responded] = {}
    for (name, log), wanted in keys.items():
        made = dict(_made(log, wanted))
        first = min(made.values()) if made.keys() == wanted else None
        before = found[name].first if name in found else first
        known = None if first is None or before is None else min(first, before)
        found[name] = Responded(first=known, items=len(items[name]))
    return found


def _made(log: Path, wanted: Collection[str]) -> Iterator[tuple[str, datetime]]:
    """Each wanted key that a log has, with when its segment was begun; the first segment last."""
    for segment in sorted(log.glob("*.jsonl"), reverse=True):
        try:
            begun = datetime.strptime(segment.name.split("-")[0], "%Y%m%dT%H%M%S.%f%z")
        except ValueError:  # somebody's own file, without a time
            continue
        for line in segment.read_bytes().split(b"\n"):
            if (key := _KEY.match(line)) and key[1].decode() in wanted:
                yield key[1].decode(), begun
