"""What came out of linear probes, in sentences, and what that cannot show."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from trace.report.grid import many, one_line, percent, probability
from trace.report.interp.layers import best
from trace.report.interp.words import SIGNIFICANT, listed, scope, spelled

_OF_POSITION = {
    "prompt_end": (
        "It was read before the answer. Where the classes' prompts differ in other ways, a probe "
        "may tell the prompts apart, not what the model will do."
    ),
    "response_last": (
        "It was read after the answer was written, so it cannot show that the label was there "
        "before the model committed to it (probe.position=prompt_end can). The last token itself "
        "may leak the label: an answer that asks back ends in a question mark."
    ),
    "response_end": (
        "It was read after the answer was written, so it cannot show that the label was there "
        "before the model committed to it (probe.position=prompt_end can). An answer that was cut "
        "off has no end token, which alone may tell classes apart."
    ),
    "response_mean": (
        "It was read over the whole answer, its words included, so it cannot show that the label "
        "was there before the model committed to it (probe.position=prompt_end can)."
    ),
}


def probe_sentences(result: Mapping[str, Any]) -> list[str]:
    """What came out, significant or not: up to six sentences of plain text.

    Args:
        result: `metrics` and `breakdowns` of task=probe.
    """
    found, peak = result["breakdowns"], result["metrics"]["peak"]
    if peak["value"] is None:
        return [f"Nothing came out: {peak.get('reason') or 'not defined'}.", *scope(result)]
    sentences = [_of_peak(result), *_of_depth(found), *_of_baselines(found, peak)]
    return [*sentences, *_of_control(found), *scope(result)]


def probe_limits(result: Mapping[str, Any]) -> list[str]:
    """What the numbers cannot show, by where the stream was read; stands below them."""
    found = result["breakdowns"]
    limits = [
        "That a label can be read does not show that the model uses it: task=steer tests that."
    ]
    if found["classes"]["position"] in _OF_POSITION:
        limits.append(_OF_POSITION[found["classes"]["position"]])
    if len(found["layers"]) > 1:
        limits.append(
            "The peak is the best of its layers. Its interval does not take the choice into "
            "account, which makes it optimistic; its p does."
        )
    if found["control"] is not None:
        limits.append(
            "A control model reads the text alone. A gap to it may also come from its size and "
            "training."
        )
    return limits


def _of_peak(result: Mapping[str, Any]) -> str:
    found, peak = result["breakdowns"], result["metrics"]["peak"]
    classes, count = found["classes"], found["shuffles"]["count"]
    pair = " and ".join(f"“{listed(classes[side]['labels'])}”" for side in ("positive", "negative"))
    value = f"{spelled(peak)}, n = {peak['n']:,}"
    where, p = f"layer {peak['layer']}", found["shuffles"]["peak_p"]
    if p is None:
        return (
            f"The best layer for {pair} is {where}, with a balanced accuracy of {value}; whether "
            f"that is beyond chance is not known, for {found['shuffles']['reason']}."
        )
    if p <= SIGNIFICANT:
        return (
            f"{pair} can be told apart at {where}: balanced accuracy {value}, more than shuffled "
            f"labels give at their best layers (p = {probability(p)}, {many(count, 'shuffle')})."
        )
    floor = found["shuffles"]["floor"]
    if p <= floor + 1e-12:
        return (
            f"Too few shuffles to say whether {pair} can be told apart beyond chance: the best, "
            f"{where}, has a balanced accuracy of {value}; shuffled labels never reach as much at "
            f"their best layers, but with {many(count, 'shuffle')} p cannot be below "
            f"{probability(floor)} (probe.permutations)."
        )
    short_of = (
        f", and with so few p cannot be below {probability(floor)}" if floor > SIGNIFICANT else ""
    )
    return (
        f"No layer tells {pair} apart beyond chance: the best, {where}, has a balanced accuracy "
        f"of {value}; shuffled labels reach as much at their best layers too often "
        f"(p = {probability(p)}, {many(count, 'shuffle')}){short_of}."
    )


def _of_depth(found: Mapping[str, Any]) -> list[str]:
    shuffles = found["shuffles"]
    if shuffles["peak_p"] is None:
        return []
    first, plateau = shuffles["first_layer"], shuffles["plateau"]
    if first is None:
        return ["There is no layer from which on all later ones beat every shuffle."]
    text = f"From layer {first} on, every layer that was read beats every shuffle"
    if plateau is not None:
        text += (
            f"; from layer {plateau['from']} on, balanced accuracy stays between "
            f"{percent(plateau['low'])}% and {percent(plateau['high'])}%"
        )
    return [text + "."]


def _of_baselines(found: Mapping[str, Any], peak: Mapping[str, Any]) -> list[str]:
    known = [
        (row["balanced_accuracy"]["value"], row["name"])
        for row in found["baselines"]
        if row["balanced_accuracy"]["value"] is not None
    ]
    if not known:
        return []
    value, name = max(known)
    text = f"Of the baselines without the model, {name} is the best with {percent(value)}%: "
    if value >= peak["value"]:
        return [text + "the model's layers tell no more than that."]
    points = percent(peak["value"] - value)
    if peak["low"] is not None and value >= peak["low"]:
        return [text + f"the peak is {points} points above, and its interval includes that."]
    return [text + f"the peak is {points} points above, and its interval begins above that."]


def _of_control(found: Mapping[str, Any]) -> list[str]:
    control = found["control"]
    if control is None:
        return []
    top, gap, test = best(control["layers"]), control["gap"], control["mcnemar"]
    name = f"The control model {one_line(control['model'])}"
    if top is None or gap["value"] is None:
        return [f"{name} has no result to compare with."]
    text = (
        f"{name} reaches {percent(top['balanced_accuracy']['value'])}% at layer {top['layer']}, "
        f"a gap of {percent(gap['value'], signed=True)} points"
    )
    if gap["low"] is not None:
        low, high = (percent(gap[end], signed=True) for end in ("low", "high"))
        text += f" (95% interval {low} to {high})"
    if test is None or test["p"] is None:
        return [text + "."]
    text += f"; McNemar p = {probability(test['p'])}, "
    if test["p"] > SIGNIFICANT:
        return [text + "so it is not shown that one tells more than the other."]
    more = "more" if gap["value"] > 0 else "less"
    return [text + f"so the model tells {more} than its control."]
