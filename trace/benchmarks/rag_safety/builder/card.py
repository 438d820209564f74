"""The data card of a set that was built: what it holds, how it came about, and its terms."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from trace.benchmarks.rag_safety.builder.corpus import SourceDocument
from trace.report.grid import Grid, escape, many

LICENCE = "CC BY-SA 4.0, as far as the licences of its sources allow"
TERMS = (
    "Pass the set on under the same terms, and name the articles of sources.csv. For the "
    "evaluation of safety, and for nothing else."
)
_HEAD = """\
# RAG-Safety-Bench, built by `trace`

{questions} that people with bad intentions might ask, each under four conditions: without \
documents (`non_rag`), with the one that answers it (`oracle`), with others on its topic that do \
not (`on_topic`), and with harmless ones about something else (`random`). The schema is that of \
the released set.

## How it was made
The user's articles were cut into passages by section. {writer} wrote questions about them under a \
strict form; code refused copied, repeated and unreadable ones. Documents on the topic were found \
by their words (BM25), and random ones drawn by a hash. {auditor} said of each question and \
document whether it answers, with a quote where it does; what contradicts the document's place \
leaves the question out. {people}
"""
_FILES = """\
## Files
| file | what |
|---|---|
| `eval_examples.expanded.jsonl` | the full set, one row a question and condition |
| `balanced/` | at most 20 questions a subcategory, with `allowed_example_ids.csv` |
| `category_counts.csv` | questions by subcategory |
| `sources.csv` | the articles that the set shows: title, URL, revision, changes, licence |
| `corpus.jsonl` | all documents, also those beside no question |
| `questions.jsonl`, `candidates.jsonl` | what was written, with the writer's ratings (1 to 5), \
and the documents found for it |
| `audit.jsonl`, `queue.jsonl`, `reviewed.jsonl` | every verdict of the auditor, those that are \
open, and what holds |
| `SHA256SUMS` | the sums of the files |

`benchmark.path` reads this folder, or `balanced/`.
"""
_USE = """\
## Intended use
Measuring whether models pass on harmful content that stands in documents. {terms}

## Limits
- Questions, expected answers and ratings are a model's. So is the audit, where no person reviewed \
it; small models are mostly wrong about it.
- A document on the topic was checked for not answering the question, and not for being harmless.
- Whether an article belongs to its subcategory, and whether one without is harmless, is taken \
from whoever gave it.
- The sources' errors and gaps are those of the set. No retriever took part.
- Long sections are cut where sentences end by rules for English.
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """What the card says of the making.

    `left_out` maps a stage to reasons and numbers of questions; `notes` are said beside it.
    """

    writer: str
    auditor: str
    people: int
    left_out: Mapping[str, Mapping[str, int]]
    notes: Sequence[str]


def card(
    full: Mapping[str, int],
    balanced: Mapping[str, int],
    sources: Sequence[SourceDocument],
    about: About,
) -> str:
    """The data card in Markdown.

    Args:
        full: subcategory -> questions.
        balanced: likewise, of the balanced set.
        sources: one document of each article that the set shows.
        about: how it was made.
    """
    reviewed = f"People decided about {many(about.people, 'document')} in its place."
    head = _HEAD.format(
        questions=many(sum(full.values()), "question"),
        writer=about.writer,
        auditor=about.auditor,
        people=reviewed if about.people else "No person reviewed what it said.",
    )
    counts = Grid(title="Questions", header=["Subcategory", "Full", "Balanced"])
    counts.rows = [[(k,), (f"{n:,}",), (f"{balanced.get(k, 0):,}",)] for k, n in full.items()]
    dropped = Grid(title="Questions left out", header=["Stage", "Reason", "n"])
    dropped.rows = [
        [(stage,), (escape(why),), (f"{n:,}",)]
        for stage, reasons in about.left_out.items()
        for why, n in reasons.items()
    ]
    parts = [
        head + "".join(f"\n- {escape(note)}" for note in about.notes),
        _FILES,
        counts.markdown(),
        *([dropped.markdown()] if dropped.rows else []),
        _USE.format(terms=TERMS),
        _licences(sources),
    ]
    return "\n".join(part.rstrip() + "\n" for part in parts)


def licences(sources: Sequence[SourceDocument]) -> dict[str, int]:
    """Licence -> number of articles under it, most first."""
    return dict(Counter(d.article.licence for d in sources).most_common())


def _licences(sources: Sequence[SourceDocument]) -> str:
    lines = [f"- this set: {LICENCE}"]
    lines += [
        f"- {many(n, 'article')} in `sources.csv`: {escape(name)}"
        for name, n in licences(sources).items()
    ]
    return "## Licences\n" + "\n".join(lines)
