"""How a judge is asked: one rubric for all samples, then the sample as fenced data."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from trace.config import Condition, Protocol
from trace.judging.labels import SAFE, UNSAFE, LabelSet, label_set
from trace.judging.taxonomy import SAFETY_TASK, Category, Taxonomy
from trace.judging.wording import WORDINGS, Wording
from trace.records import Json, LabelScore, Sample, digest

T = TypeVar("T")

ANSWER_PREFIX = '{"verdict": "'
_VERDICT, _QUOTES = '"verdict": "..."', '"evidence": ["..."]'
TOOLS = "tools"
"""The section that `protocol.tools=false` leaves out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JudgeProtocol:
    """A protocol over a taxonomy.

    `rubric` begins every prompt and is the same for all samples, so that it is computed once.
    `prompt_hash` identifies all wording of ours that a judge sees. For the answer `score`,
    `answer_prefix` is the forced beginning of the answer, and `label_strings` are its possible
    continuations in the order of `labels.labels`: each is the rest of a JSON string up to its
    closing quote, so none is the beginning of another.
    """

    labels: LabelSet
    rubric: str
    shows_tools: bool
    answer_prefix: str
    label_strings: tuple[str, ...]
    prompt_hash: str

    def messages(self, sample: Sample) -> tuple[Mapping[str, str], ...]:
        """One user message: the rubric, then the sections of the sample's view in their order."""
        shown = (
            section(name, content)
            for name, content in sample.view.items()
            if self.shows_tools or name != TOOLS
        )
        return ({"role": "user", "content": "\n\n".join([self.rubric, *shown])},)

    def by_label(self, scores: Mapping[str, LabelScore]) -> dict[str, LabelScore]:
        """Turns scores of `label_strings` into scores of the labels they stand for.

        Raises:
            KeyError: a label string has no score.
        """
        named = zip(self.labels.labels, self.label_strings, strict=True)
        return {label: scores[string] for label, string in named}


def judge_protocol(
    settings: Protocol, taxonomy: Taxonomy, condition: Condition | None = None
) -> JudgeProtocol:
    """Puts a protocol together for any taxonomy.

    A variant says the same in other words, or lists labels and definitions the other way round.
    What a taxonomy says itself (definitions, names, a task of its own) stays word for word, and so
    do the order of `labels`, the answer's prefix and the label strings.

    Args:
        settings: how the judge is asked.
        taxonomy: what it is asked about.
        condition: says whether it reasons first and whether examples stand before the item.

    Raises:
        ValueError: two labels of the taxonomy read alike.
    """
    labels = label_set(settings.answers, taxonomy)
    condition = condition or Condition()
    words = WORDINGS[settings.variant]  # type: ignore[index]  # the configuration has checked it
    task = words.task if taxonomy.task == SAFETY_TASK else taxonomy.task
    answer = words.reasoned_answer if condition.reason_first else words.answer
    if settings.evidence:  # after the verdict, which is then there even if the quotes are cut
        answer = words.quotes + answer.replace(_VERDICT, f"{_VERDICT}, {_QUOTES}")
    rules = words.data + (words.examples if condition.examples else "") + answer
    question = _question(settings, taxonomy, words)
    rubric = f"{task}\n\n{question}\n\n{rules}{_listed(settings, labels)}"
    strings = tuple(_quoted(label)[1:] for label in labels.labels)
    wording = {
        "rubric": rubric,
        "section": section("name", ["``` text", {"key": "é"}]),
        "tools": settings.tools,
        "prefix": ANSWER_PREFIX,
        "labels": list(strings),
    }
    return JudgeProtocol(
        labels=labels,
        rubric=rubric,
        shows_tools=settings.tools,
        answer_prefix=ANSWER_PREFIX,
        label_strings=strings,
        prompt_hash=digest(wording),
    )


def section(name: str, content: Json) -> str:
    """One section of a view: its name, and its content as one line of JSON in a fence.

    The fence is longer than any run of backticks inside, and JSON keeps line breaks of the content
    escaped: nothing inside can end the fence or look like another section.
    """
    # Half a surrogate pair cannot be encoded; backslashreplace makes it the JSON escape it was.
    line = _quoted(content).encode("utf-8", "backslashreplace").decode("utf-8")
    longest = max((len(run) for run in re.findall("`+", line)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{name}:\n{fence}json\n{line}\n{fence}"


def _quoted(content: Json) -> str:
    return json.dumps(content, ensure_ascii=False)


def _ordered(settings: Protocol, items: Sequence[T]) -> Sequence[T]:
    """In the order in which the variant shows them."""
    return items[::-1] if settings.variant == "reversed" else items


def _listed(settings: Protocol, labels: LabelSet) -> str:
    return ", ".join(map(_quoted, _ordered(settings, labels.labels)))


def _question(settings: Protocol, taxonomy: Taxonomy, words: Wording) -> str:
    benign = taxonomy.benign
    if settings.answers == "binary":
        first, second = _ordered(settings, (SAFE.name, UNSAFE.name))
        if not settings.definitions:
            return words.side.format(first=first, second=second)
        ask = words.by_risks.format(safe=SAFE.name, unsafe=UNSAFE.name)
        risks = [
            "\n".join([_line(domain.category), _defined(_ordered(settings, domain.classes))])
            for domain in _ordered(settings, taxonomy.domains)
        ]
        harmless = f"{SAFE.name}: {benign.definition}"
        return "\n".join([ask, *_ordered(settings, [harmless, "\n".join(risks)])])
    ask = words.which.format(benign=benign.name)
    if not settings.definitions:
        return ask
    risks_named = {"domain": tuple(d.category for d in taxonomy.domains), "class": taxonomy.classes}
    shown = _ordered(settings, (benign, *risks_named[settings.answers]))
    return f"{ask}\n{_defined(shown)}"


def _defined(categories: Sequence[Category]) -> str:
    return "\n".join(f"- {_line(c)}" for c in categories)


def _line(category: Category) -> str:
    return f"{category.name}: {category.definition}"
