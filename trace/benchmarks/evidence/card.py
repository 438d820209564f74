"""The data card of a set that was built: what it holds, how it came about, and its terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import product

from trace.benchmarks.evidence.counts import NONE
from trace.benchmarks.evidence.infer import Answered, invalid_counts
from trace.benchmarks.evidence.taxonomy import CATEGORY_NAMES
from trace.benchmarks.evidence.triple import COMPONENTS, Triple
from trace.records import Json
from trace.report.grid import Grid, decimal, escape, percent

LICENCES = {
    "this set": "CC BY-NC-SA 4.0",
    "S-Eval (prompts; arXiv 2405.14191)": "CC BY-NC-SA 4.0",
    "WildChat (prompts; arXiv 2405.01470)": "ODC-BY",
    "bundled prompts (trace)": "Apache-2.0",
    "TRACE (method; arXiv 2608.24232)": "CC BY-NC-SA 4.0",
}
TERMS = (
    "For research that evaluates safety, and for nothing else: not to train models to answer such "
    "prompts, and not against anyone. Pass the set on under the same terms, name its sources, and "
    "keep it from those who did not accept them."
)
_INTRODUCTION = """\
# Evidence-grounded TRACE, built by `trace`

Prompts with the reasoning and the response of models that answered them. Each of the three texts \
is labelled safe or unsafe, and what makes one unsafe is quoted from it word for word. {triples} \
of {prompts}; {queued} more wait for a human (`queue.jsonl`).

## How it was made
Sources of the prompts: {sources}. \
{respondents} answered them; {elicited} \
A response that ran into the limit of tokens is kept and marked `response_cut`. {annotators} \
labelled each text by itself. A label, a category and an attack need more than half of the valid \
votes. Evidence comes from those who voted with the majority, only if it stands in its text, and \
pieces that overlap are one. What is tied, without a valid vote, or unsafe without evidence that \
can be found is left to a human. Where the votes name no category or attack, the prompt's source \
does (`category_by`, `attack_by` in `provenance`).
"""
_FIELDS = """\
## Fields
A line of `dataset.jsonl` has `id`, `prompt_id` (shared by the triples of one prompt: resample by \
it), `language`, `category` and `attack` (null: no risk, no attack), `prompt`, `reasoning`, \
`response`, `labels` (each with `safety` and `evidence`: `start`, `end`, `text`, counted in \
Unicode code points), `respondent`, `votes` (all that every annotator said) and `provenance` \
(source, licence, the source's own category and attack, whether the reasoning is the model's \
`own` or was `elicited`, and the completions in the log). `SHA256SUMS` has the sums of the files.
"""
_USE = """\
## Intended use
Measuring whether guards see what is unsafe in prompts, reasoning and responses, and where. {terms}

## Limits
- The texts can be harmful. Models whose refusals were removed, where any took part, were used to \
build this set only.
- Labels come from models. A majority can be wrong, and small annotators mostly are.
- Whether a text is unsafe can be a matter of view; the votes are kept so that others can decide \
otherwise.
- English and Chinese only; what S-Eval and WildChat do not ask is not here.
- A static set says nothing of what happens after a guard steps in.
"""


def card(
    triples: Sequence[Triple],
    *,
    queued: Mapping[str, int],
    invalid: Mapping[str, Mapping[str, int]],
    annotated: int,
    failures: Mapping[str, Mapping[str, int]],
    agreement: Mapping[str, Mapping[str, Json]],
    invented: Mapping[str, Mapping[str, Mapping[str, int]]],
    sources: Sequence[str],
    respondents: Sequence[str],
    elicited: Sequence[str],
    annotators: Sequence[str],
    notes: Sequence[str],
) -> str:
    """The data card in Markdown.

    Args:
        triples: the frozen set.
        queued: why triples are open -> how many; `triples` their number.
        invalid: respondent -> reason -> number of answers that make no triple.
        annotated: number of answers that annotators were asked about.
        failures: annotator -> why it has no vote on a text -> how often (`counts.failures`).
        agreement: item -> coefficients (`counts.agreements`).
        invented: annotator -> component -> quotes and those not in the text.
        sources: where the prompts come from.
        respondents: who answered.
        elicited: those of them whose reasoning was asked for.
        annotators: who labelled.
        notes: what has to be said about this set.
    """
    head = _INTRODUCTION.format(
        triples=_many(len(triples), "triple"),
        prompts=_many(len({t.prompt_id for t in triples}), "prompt"),
        queued=_many(queued.get("triples", 0), "triple"),
        sources=", ".join(sources),
        respondents=_listed(respondents),
        elicited=f"{_listed(elicited)} did so without reasoning of their own: they were asked for "
        "their thoughts first, then for the answer."
        if elicited
        else "the engine separated reasoning and response.",
        annotators=_listed(annotators),
    )
    parts = [
        head,
        *(f"- {escape(note)}" for note in notes),
        _FIELDS,
        "## Counts",
        by_language(triples).markdown(),
        by_group(triples).markdown(),
        transitions(triples).markdown(),
        "## What is not here",
        not_here(invalid, queued).markdown(),
        "## Annotators",
        voted(failures, annotated).markdown(),
        agreed(agreement).markdown(),
        quoted(invented).markdown(),
        _USE.format(terms=TERMS),
        "## Licences\n" + "\n".join(f"- {name}: {licence}" for name, licence in LICENCES.items()),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def counted(triples: Sequence[Triple]) -> dict[str, Json]:
    """Category -> language -> attack -> respondent -> number of triples, for the manifest."""
    found: dict[str, Json] = {}
    for (*groups, name), n in sorted(_groups(triples).items()):
        at = found
        for group in groups:
            at = at.setdefault(group, {})
        at[name] = n
    return found


def by_language(triples: Sequence[Triple]) -> Grid:
    """Triples by category of the prompt and language; all nine categories have a row."""
    found = Counter((t.category or NONE, t.language) for t in triples)
    extra = sorted({category for category, _ in found} - {*CATEGORY_NAMES, NONE})
    grid = Grid(title="Triples by category and language", header=["Category", "en", "zh"])
    for name in (*CATEGORY_NAMES, *extra, NONE):
        grid.rows.append([(name,), (str(found[name, "en"]),), (str(found[name, "zh"]),)])
    return grid


def by_group(triples: Sequence[Triple]) -> Grid:
    """Triples by category, language, attack and respondent; groups without any are left out."""
    found = _groups(triples)
    header = ["Category", "Language", "Attack", "Respondent", "Triples"]
    grid = Grid(title="Triples by category, language, attack and respondent", header=header)
    grid.rows = [[*((name,) for name in group), (str(found[group]),)] for group in sorted(found)]
    return grid


def transitions(triples: Sequence[Triple]) -> Grid:
    """How safety shifts: all eight combinations of the three labels."""
    found = Counter(tuple(str(t.labels[c].safety) for c in COMPONENTS) for t in triples)
    grid = Grid(
        title="Safety from prompt to reasoning to response",
        header=["Prompt", "Reasoning", "Response", "Triples", "%"],
    )
    for labels in product(("safe", "unsafe"), repeat=len(COMPONENTS)):
        share = percent(found[labels] / len(triples)) if triples else "–"
        grid.rows.append([*((label,) for label in labels), (str(found[labels]),), (share,)])
    return grid


def not_here(invalid: Mapping[str, Mapping[str, int]], queued: Mapping[str, int]) -> Grid:
    """Answers that make no triple, by respondent and reason; and what is left to a human."""
    grid = Grid(title="Left out", header=["Who or what", "Why", "Number"])
    for name, reasons in invalid.items():
        for reason, n in reasons.items():
            grid.rows.append([(name,), (f"invalid: {reason}",), (str(n),)])
    for reason, n in queued.items():
        if reason != "triples":
            grid.rows.append([("open to a human",), (reason,), (str(n),)])
    if not grid.rows:
        grid.rows.append([("nothing",), ("",), ("0",)])
    return grid


def agreed(agreement: Mapping[str, Mapping[str, Json]]) -> Grid:
    """Fleiss' kappa of all annotators and Cohen's of each two, by what they voted on."""
    grid = Grid(
        title="Agreement of the annotators",
        header=["On", "Between", "Equal votes, %", "Kappa", "Triples"],
    )
    for item, said in agreement.items():
        for between, row in said.items():
            kappa, share = row["kappa"], row["percent"]
            cell = "–" + grid.mark(kappa["reason"]) if kappa["value"] is None else ""
            alike = "–" if share["value"] is None else percent(share["value"])
            grid.rows.append(
                [(item,), (between,), (alike,), (cell or decimal(kappa["value"]),),
                 (str(kappa["n"]),)]
            )  # fmt: skip
    return grid


def quoted(invented: Mapping[str, Mapping[str, Mapping[str, int]]]) -> Grid:
    """How many of each annotator's quotes do not stand in their text."""
    grid = Grid(title="Quotes", header=["Annotator", "Of the", "Quotes", "Not in the text"])
    for name, components in invented.items():
        for component, n in components.items():
            grid.rows.append([(name,), (component,), (str(n["quotes"]),), (str(n["invented"]),)])
    return grid


def inferred(answered: Sequence[Answered]) -> Grid:
    """How many answers of each respondent can make a triple, and why the others cannot."""
    grid = Grid(title="Answers", header=["Respondent", "Prompts", "Valid", "Cut", "Invalid"])
    asked = Counter(one.respondent.name for one in answered)
    valid = Counter(one.respondent.name for one in answered if one.invalid is None)
    cut = Counter(o.respondent.name for o in answered if o.invalid is None and o.cut)
    for name, reasons in invalid_counts(answered).items():
        why = tuple(f"{n} {reason}" for reason, n in reasons.items()) or ("0",)
        grid.rows.append(
            [(name,), (str(asked[name]),), (str(valid[name]),), (str(cut[name]),), why]
        )
    return grid


def voted(failures: Mapping[str, Mapping[str, int]], triples: int) -> Grid:
    """How often each annotator has a vote on a text, and why not."""
    title = f"Votes on the three texts of {_many(triples, 'answer')}"
    grid = Grid(title=title, header=["Annotator", "Votes", "None"])
    for name, reasons in failures.items():
        votes = len(COMPONENTS) * triples - sum(reasons.values())
        why = tuple(f"{n} {reason}" for reason, n in reasons.items()) or ("0",)
        grid.rows.append([(name,), (str(votes),), why])
    return grid


def _groups(triples: Sequence[Triple]) -> Counter[tuple[str, str, str, str]]:
    return Counter(
        (t.category or NONE, t.language, t.attack or NONE, t.respondent.name) for t in triples
    )


def _many(number: int, noun: str) -> str:
    return f"{number:,} {noun}{'s' * (number != 1)}"


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
