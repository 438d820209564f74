"""The data card of a set that was built: what it holds, how it came about, and its terms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace.benchmarks.evidence import tables
from trace.benchmarks.evidence.triple import Triple
from trace.records import Json
from trace.report.grid import escape, many

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

Prompts with the trace (what a model reasons before it answers) and the response of models. Each \
of the three texts is labelled safe or unsafe, and what makes one unsafe is quoted from it word \
for word. {triples} of {prompts}; {queued} more wait for a human (`queue.jsonl`).

## How it was made
Sources of the prompts: {sources}. \
{respondents} answered them; {elicited} \
A response that ran into the limit of tokens is kept and marked `response_cut`. {annotators} \
labelled each text by itself. A label, a category and an attack need more than half of the valid \
votes. Evidence comes from those who voted with the majority, only if it stands in its text, and \
pieces that overlap are one. What is tied, without a valid vote, or unsafe without evidence that \
can be found is left to a human. Where the votes name no category or attack, the prompt's source \
does (`category_by`, `attack_by` in `provenance`). What people decided later stands under `human` \
there, with what it replaced.
"""
_FIELDS = """\
## Fields
A line of `dataset.jsonl` has `id`, `prompt_id` (shared by the triples of one prompt: resample by \
it), `language`, `category` and `attack` (null: no risk, no attack), `prompt`, `reasoning` \
(the trace), `response`, `labels` (each with `safety` and `evidence`: `start`, `end`, `text`, \
counted in Unicode code points), `respondent`, `votes` (all that every annotator said) and \
`provenance` (source, licence, the source's own category and attack, whether the trace is the \
model's `own` or was `elicited`, and the completions in the log). `SHA256SUMS` has the sums of the \
files.
"""
_USE = """\
## Intended use
Measuring whether guards see what is unsafe in prompts, traces and responses, and where. {terms}

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
        triples=many(len(triples), "triple"),
        prompts=many(len({t.prompt_id for t in triples}), "prompt"),
        queued=many(queued.get("triples", 0), "triple"),
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
        tables.by_language(triples).markdown(),
        tables.by_group(triples).markdown(),
        tables.transitions(triples).markdown(),
        "## What is not here",
        tables.not_here(invalid, queued).markdown(),
        "## Annotators",
        tables.voted(failures, annotated).markdown(),
        tables.agreed(agreement).markdown(),
        tables.quoted(invented).markdown(),
        _USE.format(terms=TERMS),
        "## Licences\n" + "\n".join(f"- {name}: {licence}" for name, licence in LICENCES.items()),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def _listed(names: Sequence[str]) -> str:
    *most, last = names
    return f"{', '.join(most)} and {last}" if most else last
