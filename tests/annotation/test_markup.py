from __future__ import annotations

import re
from collections import Counter
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trace.annotation.form import Form, Language, Marking, Option, Passage, Question
from trace.annotation.markup import markup, same_markup
from trace.errors import DataError

SAFETY = (
    Option(value="safe", shown="Safe", hint="no <harm> & none hinted at"),
    Option(value="unsafe", shown="Unsafe"),
)
FORM = Form(
    study="demo",
    name="en",
    title="Demo",
    language="en",
    passages=(
        Passage(
            name="prompt",
            title="Prompt",
            questions=(
                Question(name="kind", title="Which kind?", options=SAFETY, dropdown=True),
                Question(name="prompt", title='Is "it" safe?', options=SAFETY),
            ),
            marking=Marking(shown="evidence", question="prompt", value="unsafe"),
        ),
        Passage(name="reply", title="Reply"),
    ),
)
GOLDEN = """\
  <View className="trace-passage">
    <Collapse bordered="true">
      <Panel value="Prompt (click to show or hide)">
        <Labels name="marker.prompt" toName="passage.prompt">
          <Label value="evidence" />
        </Labels>
        <View className="trace-text">
          <Text name="passage.prompt" value="$prompt" valueType="text" saveTextResult="yes" \
granularity="symbol" />
        </View>
      </Panel>
    </Collapse>
    <Header value="Which kind?" size="5" />
    <Choices choice="single" layout="select" name="question.kind" toName="passage.prompt" \
required="true" requiredMessage="Not answered yet: “Which kind?”. You can also skip.">
      <Choice hint="no &lt;harm&gt; &amp; none hinted at" value="Safe" alias="safe" />
      <Choice value="Unsafe" alias="unsafe" />
    </Choices>
    <Header value="Is &quot;it&quot; safe?" size="5" />
    <Choices choice="single-radio" layout="inline" name="question.prompt" toName="passage.prompt" \
required="true" requiredMessage="Not answered yet: “Is &quot;it&quot; safe?”. You can also skip.">
      <Choice hint="no &lt;harm&gt; &amp; none hinted at" value="Safe" alias="safe" />
      <Choice value="Unsafe" alias="unsafe" />
    </Choices>
  </View>
  <View className="trace-passage">
    <Collapse bordered="true">
      <Panel value="Reply (click to show or hide)">
        <View className="trace-text">
          <Text name="passage.reply" value="$reply" valueType="text" saveTextResult="yes" \
granularity="symbol" />
        </View>
      </Panel>
    </Collapse>
  </View>
  <Header value="Comment (optional)" size="5" />
  <TextArea name="comment" toName="passage.prompt" rows="3" maxSubmissions="1" editable="true" \
showSubmitButton="false" />
</View>"""


def test_a_small_form() -> None:
    assert markup(FORM).split("</Style>\n")[1] == GOLDEN


def asked(title: str, language: Language = "en") -> Form:
    question = Question(name="q", title=title, options=SAFETY)
    passage = Passage(name="p", title=title, questions=(question,))
    return Form(study="s", name="f", title="", language=language, passages=(passage,))


def test_chinese_wording() -> None:
    xml = markup(asked("它安全吗？", "zh"))
    assert "它安全吗？（点击显示或隐藏）" in xml
    assert "尚未回答：“它安全吗？”。也可以跳过。" in xml
    assert 'value="备注（可不填）"' in xml
    assert not re.search("click|answered|optional", xml)


@pytest.mark.parametrize("bad", ["\x00", "\x0b", "\x1f", "\ud83d", "\ufffe"])
def test_what_xml_cannot_hold_is_refused(bad: str) -> None:
    with pytest.raises(DataError, match="form f of s: its wording"):
        markup(asked(f"Is {bad} safe?"))


WORDS = {
    "en": ("{} (click to show or hide)", "Comment (optional)"),
    "zh": ("{}（点击显示或隐藏）", "备注（可不填）"),
}

# What Label Studio would read as something else, among anything that XML can hold.
WORDING = st.one_of(
    st.sampled_from(
        ["true", "false", "$prompt", "costs $5", "$", "{{x}}", "a\nb\tc\rd", "<b>&'\""]
    ),
    st.text(
        st.one_of(
            st.characters(exclude_categories=("Cs", "Cc"), exclude_characters="\u2060\ufffe\uffff"),
            st.sampled_from("$<>&'\"\n\t\r"),
        ),
        max_size=12,
    ),
)


@st.composite
def forms(draw: st.DrawFn) -> Form:
    option = st.builds(Option, value=WORDING, shown=WORDING, hint=WORDING)
    passages = []
    for i in range(draw(st.integers(1, 3))):
        questions = tuple(
            Question(
                name=f"p{k}" if draw(st.booleans()) else f"q{i}{k}",
                title=draw(WORDING),
                options=tuple(draw(st.lists(option, min_size=1, max_size=3))),
                dropdown=draw(st.booleans()),
            )
            for k in range(10 * i, 10 * i + draw(st.integers(0, 2)))
        )
        marking = Marking(shown=draw(WORDING), question="q", value="v")
        passages.append(
            Passage(
                name=f"p{i}",
                title=draw(WORDING),
                questions=questions,
                marking=marking if draw(st.booleans()) else None,
            )
        )
    language: Language = "zh" if draw(st.booleans()) else "en"
    return Form(study="s", name="f", title="", language=language, passages=tuple(passages))


@given(forms())
def test_every_form_is_shown_whole_and_taken_literally(form: Form) -> None:
    root = ElementTree.fromstring(markup(form))
    nodes = list(root.iter())

    def shown(tag: str, name: str = "value") -> Counter[str]:
        found = (node.get(name) for node in nodes if node.tag == tag)
        return Counter(text.replace("\u2060", "") for text in found if text is not None)

    options = [option for question in form.questions for option in question.options]
    assert shown("Choice") == Counter(o.shown for o in options)
    assert shown("Choice", "alias") == Counter(o.value for o in options)
    assert shown("Choice", "hint") == Counter(o.hint for o in options if o.hint)
    assert shown("Label") == Counter(p.marking.shown for p in form.passages if p.marking)
    panel, comment = WORDS[form.language]
    assert shown("Panel") == Counter(panel.format(p.title) for p in form.passages)
    assert shown("Header") == Counter([*(q.title for q in form.questions), comment])

    texts = [node for node in nodes if node.tag == "Text"]
    assert [node.get("value") for node in texts] == [f"${p.name}" for p in form.passages]
    names = [node.get("name") for node in nodes if node.get("name")]
    assert len(names) == len(set(names))
    assert {n.get("toName") for n in nodes if n.get("toName")} <= {n.get("name") for n in texts}
    for node in set(nodes) - set(texts):
        value = node.get("value", "")
        assert not re.search(r"\$[\w\[\].{}]", value), "it would be replaced by data of the task"
        if node.tag in ("Choice", "Header", "Label"):
            assert not {node.get("alias"), node.get("hint")} & {"true", "false"}
    assert markup(form) == ElementTree.tostring(root, encoding="unicode")


def test_another_layout_is_the_same_and_another_wording_is_not() -> None:
    ours = markup(FORM)
    assert same_markup(ours, re.sub(r">\s+<", "><", ours))
    assert same_markup(ours, ours.replace("\n", "\r\n\t"))
    assert same_markup(ours, ours.replace(' bordered="true"', "\r\n   bordered = 'true'"))
    assert same_markup(ours, '<?xml version="1.0"?><!-- kept -->' + ours)
    assert not same_markup(ours, ours.replace('alias="unsafe"', 'alias="safe"', 1))
    assert not same_markup(ours, ours.replace('required="true" ', "", 1))
    assert not same_markup(ours, ours.replace("</View>", "", 1))
