"""What a data card says of the models that took part in a build."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from trace.records import Json
from trace.report.grid import decimal, escape, percent

NOBODY = "No model wrote or judged any of it."
_ROLES = {
    "check": "{} was asked whether the class suits the call, and what it did not find suitable is "
    "left out.",
    "second_check": "{} was asked the same, to be compared.",
    "model": "{} worded texts of ours otherwise; replies that failed a check in code were not "
    "used, and `internal_meta.reworded_from` has the text before. Code cannot tell whether the "
    "meaning stayed: look at some.",
}


def took_part(models: Mapping[str, str]) -> str:
    """Who did what, in sentences. `models` is role (as in benchmark.builder) -> name."""
    said = [text.format(models[role]) for role, text in _ROLES.items() if role in models]
    return " ".join(said) or NOBODY


def sections(checks: Mapping[str, Json] | None, rewordings: Mapping[str, Json] | None) -> list[str]:
    """The counts in Markdown.

    Args:
        checks: what `agreement.summary` found, if there was a judge.
        rewordings: what `Rewordings.to_json` says, if there was a model that words payloads.
    """
    out = []
    if checks is not None:
        out.append("\n".join(_checks(checks)))
    if rewordings is not None:
        out.append("\n".join(_rewordings(rewordings)))
    return out


def _checks(checks: Mapping[str, Any]) -> Iterator[str]:
    judges = [name for name in ("check", "second_check") if name in checks]
    yield "## Check judges"
    yield "Calls that were about to be used, by what each judge said.\n"
    heads = [
        f"{name}: {what}" for name in judges for what in ("suitable", "unsuitable", "no verdict")
    ]
    yield "| Class | " + " | ".join(heads) + " | Both the same |"
    yield "|:--|" + "--:|" * (len(heads) + 1)
    shares = checks.get("agreement", {}).get("classes", {})
    for class_name in checks["check"]:
        counts = [checks[name][class_name] for name in judges]
        cells = [str(n) for row in counts for n in (row["suitable"], row["unsuitable"], _none(row))]
        same = _share(shares[class_name]) if class_name in shares else ""
        yield f"| {class_name} | {' | '.join(cells)} | {same} |"
    if found := checks.get("agreement"):
        yield f"\nThe two agree on {_share(found['share'])} (95%, Wilson). {_kappa(found['kappa'])}"


def _none(row: Mapping[str, int]) -> int:
    return sum(n for what, n in row.items() if what not in ("suitable", "unsuitable"))


def _share(metric: Mapping[str, Any]) -> str:
    if metric["value"] is None:
        return f"– ({metric['reason']})"
    ends = f"{percent(metric['low'])}–{percent(metric['high'])}"
    return f"{percent(metric['value'])}% ({ends}) of {metric['n']}"


def _kappa(metric: Mapping[str, Any]) -> str:
    if metric["value"] is None:
        return f"Cohen's kappa is undefined: {metric['reason']}."
    if metric["low"] is None:
        return f"Cohen's kappa is {decimal(metric['value'])}."
    ends = f"{decimal(metric['low'])} to {decimal(metric['high'])}"
    return f"Cohen's kappa is {decimal(metric['value'])} ({ends}, 95%, resampled by source)."


def _rewordings(rewordings: Mapping[str, Any]) -> Iterator[str]:
    yield "## Rewordings"
    yield "| Class or decoy | Asked | Used | Not used because |"
    yield "|:--|--:|--:|:--|"
    for name, row in rewordings.items():
        why = "; ".join(f"{n}: {reason}" for reason, n in row["refused"].items())
        yield f"| {name} | {row['asked']} | {row['used']} | {escape(why)} |"
