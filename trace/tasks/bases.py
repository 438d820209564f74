"""The base trajectories of a build: ground truth, a file, or those of an agent driven live."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from trace import assets, config
from trace.benchmarks.tracesafe.bfcl import BaseTrajectory
from trace.benchmarks.tracesafe.live.drive import drive
from trace.benchmarks.tracesafe.live.outcome import note
from trace.benchmarks.tracesafe.samples import bases
from trace.errors import DataError
from trace.records import Sampling, digest
from trace.tasks.helpers import Helpers


@dataclass(frozen=True, slots=True, kw_only=True)
class Origin:
    """Base trajectories, what identifies them, where they come from, and what to say of them."""

    bases: Sequence[BaseTrajectory]
    fingerprint: Mapping[str, str]
    source: str
    notes: tuple[str, ...] = ()


def origin_of(settings: config.Root, benchmark: config.TraceSafe, helpers: Helpers) -> Origin:
    """The base trajectories of a build; an agent that takes part is asked now.

    Raises:
        DataError: a file cannot be read, or no trajectory of the agent is accurate.
        AssetError: BFCL cannot be had.
    """
    ask, agent = helpers.ask("agent"), benchmark.builder.agent
    if ask is None or agent is None:
        found, fingerprint = bases(benchmark)
        source = (
            f"those of {Path(benchmark.base).name}, whose accuracy was not checked"
            if benchmark.base is not None
            else f"the ground truth of BFCL v4 multi-turn ({', '.join(benchmark.splits)}), "
            "executed in its own simulators and accurate by construction"
        )
        return Origin(bases=found, fingerprint=fingerprint, source=source)
    outcomes = drive(
        assets.fetch("bfcl"),
        benchmark.splits,
        ask,
        sampling=Sampling(**config.plain(settings.sampling)),
        template_args={},  # the role's own are added when it is asked
        agent=agent.name,
        limit=settings.limit,
    )
    said = note(outcomes, agent.name)
    accurate = [outcome for outcome in outcomes if outcome.accurate]
    if not accurate:
        raise DataError(
            f"benchmark.builder.agent={agent.name}: nothing can be built. {said} Its replies are "
            "logged. Choose a stronger agent, or leave it out: BFCL's ground truth needs none."
        )
    return Origin(
        bases=accurate,
        fingerprint={
            "bfcl": assets.fingerprint("bfcl"),
            "agent": digest([outcome.trajectory.to_json() for outcome in accurate]),
        },
        source=f"{agent.name}, driven live on BFCL v4 multi-turn ({', '.join(benchmark.splits)}) "
        f"in its own simulators; of {len(outcomes)} tasks the {len(accurate)} that BFCL's own "
        "checker passes whole",
        notes=(said,),
    )
