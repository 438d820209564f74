"""Stamp a claim before there are responses: `task=compare task.action=register`."""

from __future__ import annotations

import glob
import json
import shlex
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from hydra._internal.config_loader_impl import ConfigLoaderImpl
from hydra._internal.utils import create_config_search_path
from rich.console import Console

from trace import config
from trace.benchmarks.cross_lab.items import ItemSet, read_items
from trace.benchmarks.cross_lab.registration import Registration, check
from trace.benchmarks.cross_lab.rubric import Rubrics, read_rubrics
from trace.benchmarks.cross_lab.samples import longer, questions
from trace.benchmarks.cross_lab.stamp import Stamp, as_yaml, read
from trace.errors import ConfigError, DataError, TraceError
from trace.models.log import CompletionLog, log_folder
from trace.models.open import open_model
from trace.records import Request, Sampling, digest
from trace.report.gather import find
from trace.report.plan import Plan
from trace.report.run_folder import finished
from trace.tasks import list as listing
from trace.tasks.answers import addressed
from trace.tracking.files import read_jsonl, safe_name
from trace.tracking.manifest import ROOT, code
from trace.tracking.rundir import check_writable

FOLDER = "registrations"


def run(settings: config.Root) -> None:
    """Writes the claim with its stamp: `<output_dir>/registrations/<name>-<hash8>.yaml`.

    Raises:
        ConfigError: a setting plays no part.
        DataError: the claim cannot be read or is about nothing that there is, responses exist
            already, or it was registered before.
    """
    check_writable(settings.output_dir)
    claim, rubrics, items, path = _read(settings)
    console = Console(highlight=False)
    for note in _refuse_answered(settings, claim, items):
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    stamp = Stamp.of(claim, time=datetime.now(UTC), rubrics=rubrics, items=items, code=code(ROOT))
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        with path.open("x", encoding="utf-8", newline="\n") as file:  # never over another
            file.write(as_yaml(claim, stamp))
    except FileExistsError:
        raise DataError(
            f"task.registration: {claim.name} is registered already, as {path}. Use that "
            "file; another claim has other content."
        ) from None
    console.print(f"registered: {claim.announced().text}", markup=False, soft_wrap=True)
    console.print(f"registration: {path}", markup=False, soft_wrap=True)


def plan(settings: config.Root) -> Plan:
    """What `run` would do; nothing is written.

    Raises:
        TraceError: what `run` would refuse, too.
    """
    claim, _, items, path = _read(settings)
    notes = tuple(_refuse_answered(settings, claim, items))
    return Plan(what=f"register {claim.announced().text}, as {path}", notes=notes)


def _read(settings: config.Root) -> tuple[Registration, Rubrics, ItemSet, Path]:
    """The claim, what it is about, and where it will stand."""
    benchmark, task = settings.benchmark, settings.task
    assert isinstance(task, config.Compare)
    assert task.registration is not None  # the configuration has checked it
    if not isinstance(benchmark, config.CrossLab):
        raise ConfigError(
            f"task.action=register: of {benchmark.name} no claims are registered. Add "
            "benchmark=cross_lab."
        )
    for key in ("runs", "judgements"):
        if getattr(settings, key) is not None:
            raise ConfigError(
                f"{key}: is not read by task.action=register, which comes before there are any. "
                "Leave it out."
            )
    file = Path(task.registration).expanduser()
    claim, stamp = read(file)
    if stamp is not None:
        raise DataError(
            f"task.registration: {file} was stamped at {stamp.time}. Compare with it: task=compare "
            f"task.registration={file} runs=…"
        )
    rubrics, items = read_rubrics(benchmark.rubrics), read_items(benchmark.path)
    check(claim, rubrics, items, str(file))
    known = digest([claim.to_json(), rubrics.hash, items.hash])[:8]
    return (
        claim,
        rubrics,
        items,
        Path(settings.output_dir, FOLDER, f"{safe_name(claim.name)}-{known}.yaml"),
    )


def _refuse_answered(settings: config.Root, claim: Registration, items: ItemSet) -> Iterator[str]:
    """Looks for responses of the claim's models to its items; what could not be told is noted.

    Raises:
        DataError: there are some.
    """
    wanted = {item.id for item in claim.items(items)}
    for name in claim.models:
        runs = Path(settings.output_dir, "runs", "cross_lab", safe_name(name))
        for folder in find(shlex.quote(f"{glob.escape(str(runs))}/**")) if runs.is_dir() else []:
            if _answers(folder, wanted, items):
                raise _answered(name, folder)
        logged = log_folder(settings.output_dir, name)
        if any(logged.glob("*.jsonl")):
            yield from _refuse_logged(settings, name, logged, wanted, items)


def _answers(folder: Path, wanted: set[str], items: ItemSet) -> bool:
    """Whether a run directory holds responses to the items, or may come to hold them."""
    if not finished(folder):
        return True
    data = json.loads((folder / "manifest.json").read_bytes()).get("data", {})
    same = set(items.fingerprint.values()) & set(data.values())
    return bool(same) and any(
        line.get("id") in wanted for line in read_jsonl(folder / "records.jsonl")
    )


def _refuse_logged(
    settings: config.Root, name: str, logged: Path, wanted: set[str], items: ItemSet
) -> Iterator[str]:
    """Looks for the requests themselves: an interrupted run leaves no directory."""
    doubt = (
        f"{logged} holds completions of {name}, and none can be told from others: "
        "a comparison calls the claim registered if the responses are younger than the stamp"
    )
    model = _model(name)
    if model is None:
        yield f"{doubt} ({name} is no file of conf/model)."
        return
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.CrossLab)
    those = [item for item in items.items if item.id in wanted]
    sampling = Sampling(**config.plain(settings.sampling))
    asked: list[Request] = []
    for wording in ("base", "steered"):
        asked += questions(those, wording, sampling, settings.epochs)
    asked += longer(asked, benchmark.budget)
    try:
        identity = open_model(model).identity
    except TraceError as error:
        yield f"{doubt} ({error})"
        return
    keys = [request.key(identity) for request in addressed(asked, model)]
    if CompletionLog(logged).read(keys):
        raise _answered(name, logged)


def _model(name: str) -> config.Model | None:
    """What conf/model says of a model; None where it says nothing, or lacks something."""
    loader = ConfigLoaderImpl(create_config_search_path(str(listing.CONF)))
    node = listing.composed(loader, [name])[name]
    return None if isinstance(node, str) else listing.entry(name, node).settings


def _answered(name: str, folder: Path) -> DataError:
    return DataError(
        f"task.registration: {folder} holds responses of {name} to these items, or a run that has "
        "begun, and a claim is registered before there are any. Compare without registering: it "
        "is post hoc then (task.registration=FILE takes a file without stamp, too)."
    )
