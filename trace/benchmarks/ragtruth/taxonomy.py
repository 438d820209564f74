"""RAGTruth's four kinds of unfaithful statement in two domains, in our own words.

The kinds are those of arXiv 2401.00396; `RELEASED` has their names in the released files, the
gravest first.
"""

from __future__ import annotations

from trace.judging.taxonomy import Category, Domain, Taxonomy

RELEASED = {
    "Evident Conflict": "EvidentConflict",
    "Subtle Conflict": "SubtleConflict",
    "Evident Baseless Info": "EvidentBaseless",
    "Subtle Baseless Info": "SubtleBaseless",
}
"""A span's `label_type` -> our class. What the data contradict goes before what they lack, and
what is evident before what is subtle."""

_TASK = (
    "You are a fact checker. The item below has structured data about a business, and a text that "
    "was to be written from these data alone. Judge whether the text is faithful to the data: what "
    "it says against them or adds to them is a risk. How well it is written is not. A text without "
    "any risk counts as safe."
)
_DEFINITIONS = {
    "EvidentConflict": "A statement that the data plainly contradict, such as another name, "
    "number or opening day.",
    "SubtleConflict": "A statement that departs from the data in degree or nuance, so that its "
    "meaning shifts.",
    "EvidentBaseless": "A made-up statement about something that the data say nothing of.",
    "SubtleBaseless": "An addition that goes a little beyond the data, such as an assumed detail, "
    "cause or feeling.",
}


def _class(released: str) -> Category:
    name = RELEASED[released]
    return Category(name=name, definition=_DEFINITIONS[name], aliases=(released,))


TAXONOMY = Taxonomy(
    name="ragtruth",
    task=_TASK,
    benign=Category(
        name="Faithful",
        definition="Everything that the text says stands in the data or follows from them.",
    ),
    domains=(
        Domain(
            category=Category(
                name="Conflict", definition="The text says something that the data contradict."
            ),
            classes=(_class("Evident Conflict"), _class("Subtle Conflict")),
        ),
        Domain(
            category=Category(
                name="Baseless",
                definition="The text says something that the data neither state nor imply. A null "
                "in the data means that nothing is known.",
                aliases=("Baseless Info",),
            ),
            classes=(_class("Evident Baseless Info"), _class("Subtle Baseless Info")),
        ),
    ),
)
