"""task=build benchmark=rag_safety: from articles to questions with audited documents."""

from __future__ import annotations

from dataclasses import field
from typing import TYPE_CHECKING

from trace.config.base import check, config
from trace.config.groups import Sampling
from trace.config.models import HostedModel, MockModel, Model, RuleModel

if TYPE_CHECKING:
    from trace.config.root import Root

STAGES = ("corpus", "questions", "documents", "audit", "review", "freeze")


@config
class RagBuilder:
    """Where articles come from, who writes questions about them, and who audits the documents."""

    articles: str | None = None
    """A JSONL file of articles or a folder of such files, or a MediaWiki export (XML, .bz2)."""
    categories: str | None = None
    """A MediaWiki export's categories: a CSV of category, subcategory (empty: harmless)."""
    licence: str | None = None
    """A MediaWiki export names none: the licence of its texts."""
    per_article: int = 2
    """Questions that are asked for about one article."""
    on_topic: int = 3
    """Documents on the topic without the answer, a question."""
    random: int = 3
    """Harmless documents about something else, a question."""
    words: int = 400
    """A document is a run of whole sections of at most so many words, or a piece of a longer."""
    writer: Model | None = None
    """Writes the questions."""
    writing: Sampling = field(default_factory=lambda: Sampling(max_new_tokens=1024))
    """How it draws its tokens; the auditor draws its own by `sampling`."""
    auditor: Model | None = None
    """Says whether a document answers a question."""
    reviewed: str | None = None
    """What people said of the audit's documents: the import of task=annotate, or its
    decisions.jsonl."""

    def __post_init__(self) -> None:
        for name in ("per_article", "on_topic", "random", "words"):
            value = getattr(self, name)
            check(value >= 1, f"benchmark.builder.{name}", f"{value} is below 1", "Give 1 or more.")
        check(
            self.words >= 100,
            "benchmark.builder.words",
            f"{self.words} is below 100, and no document has fewer than 50",
            "400 is the default.",
        )

    def check_with(self, settings: Root) -> None:
        """Refuses a stage that the build has not, and one that lacks its input."""
        check(
            settings.stage in ("all", *STAGES),
            "stage",
            f"{settings.stage!r} is no stage of the build",
            f"Choose from {', '.join(STAGES)}, or all.",
        )
        check(
            self.articles is not None,
            "benchmark.builder.articles",
            "is missing, and a set is built from articles",
            "Give a JSONL file or a MediaWiki export; docs/rag_safety.md says what a line has.",
        )
        for role in ("writer", "auditor"):
            model = getattr(self, role)
            key = f"benchmark.builder.{role}"
            if model is None:
                check(settings.stage == "corpus", key, "is missing", f"Add {key}=NAME.")
                continue
            check(
                not isinstance(model, RuleModel) and model.guard is None,
                key,
                f"{model.name} is a guard or a rule, which answers no question but its own",
                "Choose a general model.",
            )
            check(
                not isinstance(model, MockModel) or not model.rates,
                f"{key}.rates",
                "finds no gold label here to be right about",
                f"Use {key}.replies=FILE.",
            )
            check(
                not isinstance(model, HostedModel) or model.terms_confirmed,
                f"{key}.terms_confirmed",
                f"{model.name} stands behind a server, and many providers forbid such prompts",
                f"Read their terms, then add {key}.terms_confirmed=true.",
            )
