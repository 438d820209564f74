"""Ask a respondent in one wording, let its peers label the answers, and write the run directory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console

from trace import config
from trace.benchmarks.cross_lab import tables
from trace.benchmarks.cross_lab.outcomes import Outcome
from trace.benchmarks.cross_lab.samples import Agenda, agenda
from trace.benchmarks.cross_lab.scores import DEFINITION, measure
from trace.records import Json
from trace.report.canvas import write_drawings
from trace.report.plan import Plan
from trace.tasks.administer import Administration
from trace.tasks.beside import Beside, read_beside
from trace.tasks.peers import Peers
from trace.tasks.planning import work
from trace.tasks.results import track_results, write_results
from trace.tasks.unscored import refuse_unscored, scores_would_help
from trace.tracking.manifest import provenance, write_manifest
from trace.tracking.rundir import check_writable
from trace.tracking.tracked import last_lines, tracked_run


@dataclass(frozen=True, kw_only=True)
class _Begun:
    """What is asked of whom, before anyone is."""

    agenda: Agenda
    administration: Administration
    peers: Peers
    beside: Beside


def run(settings: config.Root, *, group: str | None) -> None:
    """Carries the study of a respondent in one condition out.

    Raises:
        TraceError: something the user can change; nothing half-written is left.
        UnscoredError: complete, but too many answers have no label.
    """
    console = Console(highlight=False)
    check_writable(settings.output_dir)
    begun = _begun(settings)
    respondent = begun.administration.prepare()
    peers, origin = begun.peers.introduce(respondent)
    origin = {"data": dict(begun.agenda.fingerprint), "model": respondent, **origin}
    origin |= begun.beside.origin
    notes = (*begun.agenda.notes, *_warnings(peers), *begun.beside.notes, DEFINITION)
    for note in notes:
        console.print(f"note: {note}", markup=False, soft_wrap=True)
    assert settings.judges is not None
    panel = settings.judges.name
    parts = (settings.benchmark.name, settings.model.name, settings.condition.name)
    name = f"{'/'.join(parts)} judged by {panel}"
    with tracked_run(
        settings,
        parts=("runs", *parts),
        stem=peers.benchmark.arm,
        hashed={"config": config.of_result(settings), **origin},
        group=group,
        name=name,
    ) as (run_dir, tracker):
        manifest = provenance() | {
            "run": run_dir.digest,
            **origin,
            "licence": begun.agenda.licence,
            "notes": list(notes),
        }
        given, used, fresh = begun.administration.respond()
        heard = peers.judge(given, begun.beside.excluded)
        outcomes = heard.outcomes
        result = measure(
            outcomes,
            begun.agenda.rubrics,
            {name: name for name in peers.seats},
            draws=settings.scoring.bootstrap_draws,
            seed=settings.seed,
        )
        lines = [o.to_json(settings.condition.name, settings.protocol.name) for o in outcomes]
        _write(run_dir.path, settings, lines, result, title=name, notes=notes)
        used_of = {**({settings.model.name: used} if used else {}), **heard.used}
        manifest |= _spent(settings.model.name, outcomes, used_of)
        write_manifest(run_dir.path, manifest, fresh=fresh or heard.fresh)
        track_results(tracker, run_dir.path, lines, result)
    for grid in (tables.labels(name, result), *tables.further(result)):
        console.print(grid.terminal())
    console.print(last_lines(run_dir.path, tracker), markup=False, soft_wrap=True)
    judged = [o.verdict.status for o in outcomes if o.answer.unjudged is None]
    names = [rubric.names for rubric in begun.agenda.rubrics.of.values()]
    helped = scores_would_help(settings, names[0], judged)
    refuse_unscored(
        [o.verdict.status for o in outcomes if o.answer.response.finish != "content_filter"],
        settings.scoring.max_unscored,
        lack="answers have no label",
        instead="Look at records.jsonl: `response` says whether the model or the judges failed"
        + (", or try protocol.answer=score, which cannot fail to parse." if helped else "."),
    )


def plan(settings: config.Root) -> Plan:
    """What `run` would do; no model is opened."""
    begun = _begun(settings)
    responding = work(settings.model, begun.administration.planned())
    parts = (settings.benchmark, settings.model, settings.condition)
    assert settings.judges is not None
    counts = {
        category: sum(item.category == category for item in begun.agenda.items)
        for category in begun.agenda.rubrics.of
    }
    return Plan(
        what=f"evaluate {'/'.join(part.name for part in parts)}, judged by {settings.judges.name}",
        work=(responding, *begun.peers.work(begun.administration.tokens)),
        arms={category: n for category, n in counts.items() if n},
        notes=(*begun.agenda.notes, *begun.beside.notes),
    )


def _begun(settings: config.Root) -> _Begun:
    """Reads what there is to ask.

    Raises:
        DataError: items, rubrics or files beside them cannot be read.
    """
    benchmark = settings.benchmark
    assert isinstance(benchmark, config.CrossLab)
    asked = agenda(benchmark, limit=settings.limit, seed=settings.seed)
    administration = Administration(settings=settings, benchmark=benchmark, agenda=asked)
    return _Begun(
        agenda=asked,
        administration=administration,
        peers=Peers(
            settings=settings,
            benchmark=benchmark,
            agenda=asked,
            wording=administration.wording,
        ),
        beside=read_beside(settings, {item.id for item in asked.items}),
    )


def _warnings(peers: Peers) -> tuple[str, ...]:
    """What a configuration that can work still makes doubtful."""
    settings = peers.settings
    assert settings.judges is not None
    voting = len(peers.seats) - len(peers.own)
    notes = []
    if peers.own:
        notes.append(f"The vote of {', '.join(sorted(peers.own))} is the respondent's own.")
    if voting < settings.judges.min_valid:
        notes.append(
            f"{voting} peers cannot give {settings.judges.min_valid} votes (judges.min_valid): "
            "no answer will have a label."
        )
    if settings.epochs > 1 and settings.sampling.temperature == 0:
        notes.append(
            f"epochs={settings.epochs} at sampling.temperature=0 ask for the same answer again."
        )
    return tuple(notes)


def _spent(
    respondent: str, outcomes: Sequence[Outcome], used: Mapping[str, Json]
) -> dict[str, Json]:
    """Seconds that the models took, as the log has them, and what paid services counted."""
    seconds = {respondent: sum(o.answer.response.seconds for o in outcomes)}
    for outcome in outcomes:
        for name, vote in outcome.votes.items():
            if vote.completion is not None:
                key = f"judges.{name}"
                seconds[key] = seconds.get(key, 0.0) + vote.completion.seconds
    spent: dict[str, Json] = {"seconds": {k: round(v, 1) for k, v in seconds.items()}}
    return spent | ({"usage": dict(used)} if used else {})


def _write(
    folder: Path,
    settings: config.Root,
    lines: Sequence[Json],
    result: dict[str, Json],
    *,
    title: str,
    notes: Sequence[str],
) -> None:
    write_drawings(folder / "figures", tables.drawings(title, result))
    report = [
        tables.labels(title, result).markdown(),
        *(grid.markdown() for grid in tables.further(result)),
    ]
    write_results(folder, settings, lines, result, report=report, notes=notes)
