"""A form as the labelling configuration of a Label Studio project."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final
from xml.etree import ElementTree

from trace.annotation.form import Form, Language, Marking, Passage, Question
from trace.errors import DataError

COMMENT: Final = "comment"
"""The name of the free comment among the results of a task."""

# Without < > &, which Label Studio would read as they are escaped. Lines are blocks to it, which
# takes a browser many times as long to lay out where a text is one very long line.
_STYLE: Final = """
.trace-form { max-width: 60rem; }
.trace-passage { margin-bottom: 2rem; }
.trace-text { max-height: 45vh; overflow: auto; }
.trace-text span { display: inline; padding: 0; white-space: pre-wrap; overflow-wrap: anywhere; }
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wording:
    panel: str
    unanswered: str
    comment: str


_WORDING: Final[dict[Language, _Wording]] = {
    "en": _Wording(
        panel="{} (click to show or hide)",
        unanswered="Not answered yet: “{}”. You can also skip.",
        comment="Comment (optional)",
    ),
    "zh": _Wording(
        panel="{}（点击显示或隐藏）",
        unanswered="尚未回答：“{}”。也可以跳过。",
        comment="备注（可不填）",
    ),
}


def question_name(question: Question) -> str:
    """What the results of a task call a question."""
    return f"question.{question.name}"


def passage_name(passage: Passage) -> str:
    """What the results of a task call a text."""
    return f"passage.{passage.name}"


def marker_name(passage: Passage) -> str:
    """What the results of a task call the marker of a text."""
    return f"marker.{passage.name}"


def literal(text: str) -> str:
    """The text so that Label Studio takes it as it is; it looks the same.

    `$word` inside a value would be replaced by what the task has under that key, and the words true
    and false would be no text at all. A word joiner (U+2060), which is invisible, prevents both.
    """
    text = text.replace("$", "$\u2060")
    return text + "\u2060" if text in ("true", "false") else text


def markup(form: Form) -> str:
    """The form as XML: from passage to passage its text, then its questions; last a comment.

    A text is hidden until it is clicked. A task's data have it under the passage's name. Options
    are stored as `literal(option.value)`.

    Raises:
        DataError: The wording has characters that XML cannot hold.
    """
    wording = _WORDING[form.language]
    root = ElementTree.Element("View", className="trace-form")
    ElementTree.SubElement(root, "Style").text = _STYLE
    for passage in form.passages:
        section = ElementTree.SubElement(root, "View", className="trace-passage")
        _add_text(section, passage, wording)
        for question in passage.questions:
            _add_question(section, question, passage, wording)
    _add_comment(root, form.passages[0], wording)
    ElementTree.indent(root)
    try:
        xml = ElementTree.tostring(root, encoding="unicode")
        ElementTree.fromstring(xml)
    except (ElementTree.ParseError, UnicodeEncodeError) as error:
        raise DataError(
            f"form {form.name} of {form.study}: its wording has a character that a labelling "
            f"configuration cannot hold ({error}). Remove control characters and broken "
            "surrogates from titles, options and hints."
        ) from error
    return xml


def _add_text(section: ElementTree.Element, passage: Passage, wording: _Wording) -> None:
    collapse = ElementTree.SubElement(section, "Collapse", bordered="true")
    panel = ElementTree.SubElement(
        collapse, "Panel", value=wording.panel.format(literal(passage.title))
    )
    if passage.marking is not None:
        _add_marker(panel, passage, passage.marking)
    frame = ElementTree.SubElement(panel, "View", className="trace-text")
    ElementTree.SubElement(
        frame,
        "Text",
        name=passage_name(passage),
        value=f"${passage.name}",
        valueType="text",
        saveTextResult="yes",
        granularity="symbol",
    )


def _add_marker(panel: ElementTree.Element, passage: Passage, marking: Marking) -> None:
    labels = ElementTree.SubElement(
        panel, "Labels", name=marker_name(passage), toName=passage_name(passage)
    )
    ElementTree.SubElement(labels, "Label", value=literal(marking.shown))


def _add_question(
    section: ElementTree.Element, question: Question, passage: Passage, wording: _Wording
) -> None:
    ElementTree.SubElement(section, "Header", value=literal(question.title), size="5")
    choices = ElementTree.SubElement(
        section,
        "Choices",
        {"choice": "single", "layout": "select"}
        if question.dropdown
        else {"choice": "single-radio", "layout": "inline"},
        name=question_name(question),
        toName=passage_name(passage),
        required="true",
        requiredMessage=wording.unanswered.format(question.title),
    )
    for option in question.options:
        hint = {"hint": literal(option.hint)} if option.hint else {}
        ElementTree.SubElement(
            choices, "Choice", hint, value=literal(option.shown), alias=literal(option.value)
        )


def _add_comment(root: ElementTree.Element, passage: Passage, wording: _Wording) -> None:
    ElementTree.SubElement(root, "Header", value=wording.comment, size="5")
    # One entry that may be edited: what is typed counts without being added by a button first.
    ElementTree.SubElement(
        root,
        "TextArea",
        name=COMMENT,
        toName=passage_name(passage),
        rows="3",
        maxSubmissions="1",
        editable="true",
        showSubmitButton="false",
    )


def same_markup(ours: str, theirs: str) -> bool:
    """Whether two labelling configurations say the same, however they are laid out."""
    try:
        return _canonical(ours) == _canonical(theirs)
    except (ElementTree.ParseError, UnicodeEncodeError):
        return False


def _canonical(xml: str) -> str:
    root = ElementTree.fromstring(xml)
    for element in root.iter():  # blanks between words are layout too, as in the style
        element.text = " ".join((element.text or "").split())
        element.tail = " ".join((element.tail or "").split())
    return ElementTree.canonicalize(ElementTree.tostring(root, encoding="unicode"))
