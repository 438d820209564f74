"""What people are asked about a triple: its attack, its risk, and the safety of its texts."""

from __future__ import annotations

from collections.abc import Iterable

from trace.annotation.form import Form, Language, Marking, Option, Passage, Question
from trace.benchmarks.evidence.annotation import read_attack, read_category
from trace.benchmarks.evidence.human_words import WORDS, Word, Words
from trace.benchmarks.evidence.taxonomy import ATTACKS, TAXONOMY
from trace.benchmarks.evidence.triple import COMPONENTS, LANGUAGES, Component
from trace.judging.taxonomy import Category
from trace.records import digest

NONE, OTHER = "None", "Other"
"""The options beside the names of the taxonomy: no risk or attack, and one that is not in it."""
NAMES = ("attack", "category")
"""The questions whose answer is a name; the others have that of a component, and its safety."""


def forms() -> dict[str, Form]:
    """The form of each language, by its name: a triple is asked about in its own language."""
    return {language: _form(language) for language in LANGUAGES}


def _form(language: Language) -> Form:
    words = WORDS[language]
    defined = [[c.name, c.definition] for c in (*TAXONOMY.classes, *ATTACKS)]
    passages = tuple(_passage(component, words) for component in COMPONENTS)
    said = [[o.value, o.hint] for passage in passages for q in passage.questions for o in q.options]
    return Form(
        study="evidence",
        name=language,
        title=words.title,
        language=language,
        passages=passages,
        taxonomy=digest([defined, said]),  # a translation can change alone
    )


def _passage(component: Component, words: Words) -> Passage:
    safety = Question(
        name=component,
        title=words.safety[component],
        options=(
            _option("safe", words.safe[component]),
            _option("unsafe", words.unsafe[component]),
        ),
    )
    about_the_prompt = (
        _names("attack", words.attack, words.no_attack, ATTACKS, words.other_attack, words),
        _names("category", words.category, words.no_category, TAXONOMY.classes,
               words.other_category, words),
    )  # fmt: skip
    return Passage(
        name=component,
        title=words.passages[component],
        questions=(*about_the_prompt, safety) if component == "prompt" else (safety,),
        marking=Marking(shown=words.marker, question=component, value="unsafe"),
    )


def _names(
    name: str, title: str, none: Word, known: Iterable[Category], other: Word, words: Words
) -> Question:
    return Question(
        name=name,
        title=title,
        options=(
            _option(NONE, none),
            *(_option(category.name, words.names[category.name]) for category in known),
            _option(OTHER, other),
        ),
        dropdown=True,
    )


def _option(value: str, word: Word) -> Option:
    return Option(value=value, shown=word.shown, hint=word.hint)


def listed(question: str, name: str | None) -> str:
    """The option that a category or an attack is; `OTHER` for a name that the form does not have.

    Args:
        question: category or attack.
        name: as the data set has it; None for none.
    """
    if name is None:
        return NONE
    read = read_category(name) if question == "category" else read_attack(name)
    return OTHER if read.new else read.name or NONE
