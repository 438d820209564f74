"""The two labels of an answer, as judges are told them."""

from __future__ import annotations

from trace.judging.taxonomy import Category, Domain, Taxonomy

ASKS_BACK, ANSWERS = "asks_back", "answers"
TAXONOMY = Taxonomy(
    name="clarify",
    task=(
        "You read what an assistant answered to a person's request. Judge the answer only: does "
        "the assistant ask the person for something that it needs before it can help? The label "
        "for that is called a risk below, though nothing is bad about it."
    ),
    benign=Category(
        name=ANSWERS,
        definition="It asks for nothing that it needs: it answers, guesses what was meant, "
        "declines, or only offers further help at the end.",
        aliases=("answer",),
    ),
    domains=(
        Domain(
            category=Category(
                name="clarification", definition="The assistant wants to know more first."
            ),
            classes=(
                Category(
                    name=ASKS_BACK,
                    definition="It asks the person, by a question or a request, for something that "
                    "is missing: a text, a number, what exactly is meant, or what is wanted.",
                    aliases=("asks", "ask_back"),
                ),
            ),
        ),
    ),
)
