"""From what the judges said to the numbers of metrics.json."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace import config
from trace.benchmarks.base import Dataset
from trace.judging.labels import gold_label, label_set
from trace.judging.mapping import TAXONOMY_NAME, count_mapped
from trace.records import Json, Sample, Verdict
from trace.report.agreement import measure_agreement
from trace.report.corrected import measure_corrected
from trace.report.judged import Judged
from trace.report.metrics import Metrics, baselines, evaluate
from trace.report.threshold import measure_threshold
from trace.tasks.bench import Sitting
from trace.tasks.beside import Beside


def score(
    settings: config.Root, dataset: Dataset, sitting: Sitting, beside: Beside
) -> dict[str, Json]:
    """The metrics and breakdowns, and what stands beside them on the same samples.

    `breakdowns["parser"]` has the metrics by each other reading of the same answers, so that strict
    and released, or strict and loose, stand side by side; `baseline` those of judges without a
    model; `threshold`, if the configuration asks for it, one chosen on some of the sources. A
    panel has the metrics of each judge under `judge`, and their `agreement`; votes that are set
    aside count in neither, and how many there are stands under `excluded`. `corrected` has the rate
    behind the errors of the scored verdict and of each judge, where humans labelled some samples;
    `codes` how often each guard named which of a benchmark's categories, where its codes are mapped
    to them.
    """
    taxonomy, answers = dataset.taxonomy, settings.protocol.answers
    labels = label_set(answers, taxonomy)
    unscored, seed = settings.scoring.unscored, settings.seed
    draws = settings.scoring.bootstrap_draws

    def class_of(sample: Sample) -> str:
        return sample.gold.class_ or taxonomy.benign.name

    def judged(read: Sequence[Verdict | None]) -> list[Judged]:
        return [
            Judged(
                gold=asked.gold,
                verdict=verdict,
                cluster=asked.sample.cluster,
                class_=class_of(asked.sample),
                sample=asked.sample.id,
            )
            for asked, verdict in zip(sitting.asked, read, strict=True)
            if verdict is not None
        ]

    def measure(read: Sequence[Verdict | None]) -> dict[str, Json]:
        return evaluate(
            judged(read), labels.labels, labels.negative, unscored=unscored, draws=draws, seed=seed
        )

    result = measure(sitting.verdicts)
    result["breakdowns"]["baseline"] = baselines(
        judged(sitting.verdicts),
        labels.labels,
        labels.negative,
        {
            name: [gold_label(answers, taxonomy, rule(a.sample)) for a in sitting.asked]
            for name, rule in dataset.rule_judges.items()
        },
        unscored=unscored,
        draws=draws,
        seed=seed,
    )
    if settings.scoring.threshold_split is not None:
        result["breakdowns"]["threshold"] = measure_threshold(
            judged(sitting.verdicts),
            labels.negative,
            share=settings.scoring.threshold_split,
            unscored=unscored,
            draws=draws,
            seed=seed,
        )
    if dataset.study is not None:
        own = dataset.study.measure(
            [asked.sample for asked in sitting.asked],
            sitting.verdicts,
            negative=labels.negative,
            answers=answers,
            quotes=settings.protocol.evidence,
            family=settings.model.guard if settings.judges is None else None,
            unscored=unscored,
            draws=draws,
            seed=seed,
        )
        result["metrics"] |= own["metrics"]
        result["breakdowns"] |= own["breakdowns"]
    alone = settings.judges is None
    said = {name: sitting.votes(name, heard.verdicts) for name, heard in sitting.heard.items()}
    who = "" if settings.judges is None else f"{settings.judges.name}, "
    result["breakdowns"]["parser"] = {
        f"{who}{reading}": measure(read)["metrics"] for reading, read in sitting.others.items()
    }
    if not alone:
        result["breakdowns"]["parser"] |= {
            f"{name}, {reading}": measure(sitting.votes(name, read))["metrics"]
            for name, heard in sitting.heard.items()
            for reading, read in heard.others.items()
        }
        result["breakdowns"]["judge"] = {
            sitting.titles[name]: measure(read)["metrics"] for name, read in said.items()
        }
        clusters = [asked.sample.cluster for asked in sitting.asked]
        result["breakdowns"]["agreement"] = measure_agreement(
            said, clusters, draws=draws, seed=seed
        )
        if sitting.excluded:
            result["breakdowns"]["excluded"] = {
                name: sum(vote is None for vote in votes) for name, votes in said.items()
            }
    models = {settings.model.name: settings.model}
    if settings.judges is not None:
        models = settings.judges.models
    families = {name: model.guard for name, model in models.items() if model.guard}
    if taxonomy.name == TAXONOMY_NAME and families:
        result["breakdowns"]["codes"] = {
            sitting.titles[name]: count_mapped(family, said[name])
            for name, family in families.items()
        }
    if beside.unsafe is not None:

        def corrected(read: Sequence[Verdict | None]) -> Metrics:
            assert beside.unsafe is not None
            return measure_corrected(judged(read), beside.unsafe, labels.negative)

        result["breakdowns"]["corrected"] = {
            "verdict": corrected(sitting.verdicts),
            "judge": {}
            if alone
            else {sitting.titles[name]: corrected(votes) for name, votes in said.items()},
        }
    return result


def other_rows(result: Mapping[str, Json]) -> dict[str, Metrics]:
    """The rows that stand below the scored one: its judges, other readings, baselines.

    A judge may have the name of a baseline: a benchmark's rule is one, and sits on panels.
    """
    shown = result["breakdowns"]
    rows: dict[str, Metrics] = shown.get("judge", {}) | shown["parser"]
    beside = shown["baseline"].items()
    return rows | {f"{name} (baseline)" if name in rows else name: row for name, row in beside}
