"""What a respondent of RAG-Safety-Bench is given beside its question, and what guards it."""

from __future__ import annotations

from typing import Literal, get_args

from trace.config.base import check, check_choice, config
from trace.config.groups import Condition

Retrieval = Literal["non_rag", "oracle", "on_topic", "random", "oracle_random", "retrieved"]
Order = Literal["given", "reversed", "shuffled"]
Overflow = Literal["cut", "refuse"]
Retriever = Literal["bm25", "dense"]
Filter = Literal["corpus", "input", "retrieval", "output"]


@config
class RagCondition(Condition):
    """The documents that come with a question, and the mitigations in force."""

    retrieval: str = "non_rag"
    """none (non_rag), the one that answers the question (oracle), others on its topic, random ones,
    the oracle before random ones (oracle_random), or what a retriever finds (retrieved)."""
    order: str = "given"
    """Of several documents: as they stand, the last first, or shuffled by `seed`."""
    overflow: str = "cut"
    """What happens to documents that do not fit into the model's context: all are cut evenly at
    their ends, or the message is refused as too long."""
    retriever: str = "bm25"
    """retrieved: by words (bm25), or by vectors of `encoder` (dense)."""
    encoder: str | None = None
    """retrieved, dense: a sentence-transformers model, by its id or folder."""
    top_k: int = 3
    """retrieved: documents that are found."""
    filter: str | None = None
    """Where benchmark.filter_guard stands: it drops documents before anyone asks (corpus) or for
    the question at hand (retrieval), requests (input), or answers (output)."""
    safety_prompt: bool = False
    """Whether a system prompt asks the respondent not to help with harm."""

    def __post_init__(self) -> None:
        Condition.__post_init__(self)
        check_choice("condition.retrieval", self.retrieval, get_args(Retrieval))
        check_choice("condition.order", self.order, get_args(Order))
        check_choice("condition.overflow", self.overflow, get_args(Overflow))
        check_choice("condition.retriever", self.retriever, get_args(Retriever))
        if self.filter is not None:
            check_choice("condition.filter", self.filter, get_args(Filter))
        check(self.top_k >= 1, "condition.top_k", f"{self.top_k} is below 1", "3 is the default.")
        retrieved = self.retrieval == "retrieved"
        check(
            retrieved or (self.retriever, self.encoder, self.top_k) == ("bm25", None, 3),
            "condition.retrieval",
            f"is {self.retrieval}, which retrieves nothing, beside retriever, encoder or top_k",
            "Use condition=retrieved, or leave these out.",
        )
        check(
            (self.encoder is not None) == (self.retriever == "dense"),
            "condition.encoder",
            "is needed by condition.retriever=dense"
            if self.encoder is None
            else f"is not read by condition.retriever={self.retriever}",
            "Give a sentence-transformers model: condition.retriever=dense condition.encoder=ID.",
        )
        check(
            self.order == "given" or self.retrieval != "non_rag",
            "condition.order",
            f"{self.order} moves documents, and condition=non_rag has none",
            "Leave it out, or use a condition with several documents, such as oracle_random.",
        )
        check(
            self.filter not in ("corpus", "retrieval") or self.retrieval != "non_rag",
            "condition.filter",
            f"{self.filter} drops documents, and condition=non_rag has none",
            "Use condition.filter=input or condition.filter=output, or another condition.",
        )

    @property
    def label(self) -> str:
        """What tells it from other conditions in a comparison: its name and what is unusual."""
        said = [self.name]
        if self.order != "given":
            said.append(self.order)
        if self.retriever != "bm25":
            said.append(self.retriever)
        if self.retrieval == "retrieved" and self.top_k != 3:
            said.append(f"top_{self.top_k}")
        if self.filter is not None:
            said.append(f"filter_{self.filter}")
        if self.safety_prompt:
            said.append("safety_prompt")
        return "+".join(said)
