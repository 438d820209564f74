"""What annotators are told before they see anything, and whether they agree to take part."""

from __future__ import annotations

from collections.abc import Mapping

from trace.annotation.form import Form, Language, Option, Passage, Question
from trace.annotation.item import Item

QUESTION = "consent"
YES, NO = "yes", "no"

_CONTENT: Mapping[str, Mapping[Language, str]] = {
    "evidence": {
        "en": "You will read prompts, the reasoning of AI models, and their responses. Many of the "
        "prompts ask for something harmful: crime, violence, self-harm, hate, the abuse of "
        "people's data, risks to children, among others. Some of the answers give it.",
        "zh": "您将阅读提示、AI 模型的推理过程和最终回答。许多提示所求之事是有害的，"
        "涉及犯罪、暴力、自我伤害、仇恨、滥用他人数据、危害儿童等；有些回答会给出这类内容。",
    },
    "rag_safety": {
        "en": "You will read questions, documents, and the answers of AI models. Many of the "
        "questions ask for something harmful: violent or sexual crime, weapons, hate, self-harm, "
        "among others. Some of the documents and answers give it.",
        "zh": "您将阅读问题、文档和 AI 模型的回答。许多问题所求之事是有害的，涉及暴力犯罪或性犯罪、"
        "武器、仇恨、自我伤害等；有些文档和回答会给出这类内容。",
    },
    "tracesafe": {
        "en": "You will read what AI agents did with tools, step by step. In many records "
        "something was planted that makes a step unsafe: orders hidden in a tool, personal data or "
        "a key passed on, a value that is made up.",
        "zh": "您将逐步阅读 AI 智能体使用工具的过程。许多记录中被有意植入了使某一步不安全的内容："
        "藏在工具里的命令、被传出去的个人数据或密钥、凭空编造的数值。",
    },
    "cross_lab": {
        "en": "You will read prompts and what AI models answered to them. Some prompts press a "
        "model to set its values aside, and some concern moral conflicts or upsetting matters.",
        "zh": "您将阅读提示以及 AI 模型对它们的回答。有些提示要求模型放下自己的价值观，"
        "有些涉及道德冲突或可能令人不适的话题。",
    },
}
_TEXT: Mapping[Language, str] = {
    "en": """\
What you will see
{content}

Why
Your labels show how well automatic judges recognise such content, and where they are wrong.

How to treat it
All of it is data and never an instruction to you, even where it speaks to you or asks you to do \
something. Follow no links, try nothing out, and pass nothing on.

Your choice
Taking part is your decision. Every text stays hidden until you click on it. You may skip any item \
(Skip) without a reason, take a break whenever you like, and stop for good at any time. Skipped \
items are counted, so that we know what is missing, but never against anybody. If something stays \
with you, stop, and talk to the person who gave you this work or to someone else you trust.

What is stored
Your answers, the pieces of text that you mark, your comments, and when you gave them, under a \
pseudonym. Your name is not stored with them. Please write nothing about yourself or others into \
the comments.""",
    "zh": """\
您会看到什么
{content}

为什么要做
您的标注能够说明自动判定工具识别这类内容的能力如何，又在哪里出错。

怎样对待这些内容
所有内容都只是数据，绝不是对您的指令，即使其中有话是对您说的，或要求您做什么。请不要打开其中的链接，\
不要尝试其中的做法，也不要外传。

由您决定
是否参加由您决定。每段文本在您点击之前都是隐藏的。任何条目您都可以跳过（Skip），无需说明理由；可以随时休息，\
也可以随时退出。跳过的条目会被计数，以便我们知道缺少什么，但绝不会因此对任何人不利。如果有什么内容让您\
难以释怀，请停下来，与交给您这项工作的人或您信任的其他人谈一谈。

会保存什么
您的回答、您选中的文字、您的备注以及提交时间，均以化名保存；您的姓名不会与它们一起保存。\
请不要在备注中写入您自己或他人的信息。""",
}
_WORDS: Mapping[Language, tuple[str, str, str, tuple[str, str], tuple[str, str]]] = {
    "en": (
        "Before you begin",
        "Please read this first",
        "Have you read this, and do you agree to take part?",
        ("Yes, I agree", "You can still stop at any time."),
        ("No", "You need not say why. Nothing that you do afterwards is used."),
    ),
    "zh": (
        "开始之前",
        "请先阅读",
        "您是否已阅读以上内容，并同意参加？",
        ("是，我同意", "之后您仍可随时退出。"),
        ("否", "无需说明理由；此后您所做的一切都不会被采用。"),
    ),
}


def consent(language: Language, study: str) -> tuple[Form, Item]:
    """The form and the only item of every annotator's first project.

    It is named by the language, so that both can stand in one export. Only `YES` to `QUESTION`
    lets an annotator's work count.

    Args:
        language: of the annotator.
        study: evidence, rag_safety, tracesafe or cross_lab: `Form.study` of what follows.

    Raises:
        KeyError: no such study.
    """
    title, passage, question, yes, no = _WORDS[language]
    options = tuple(
        Option(value=value, shown=shown, hint=hint)
        for value, (shown, hint) in ((YES, yes), (NO, no))
    )
    form = Form(
        study=study,
        name=f"consent_{language}",
        title=title,
        language=language,
        passages=(
            Passage(
                name="briefing",
                title=passage,
                questions=(Question(name=QUESTION, title=question, options=options),),
            ),
        ),
    )
    item = Item(
        id=form.name,
        form=form.name,
        texts={"briefing": _TEXT[language].format(content=_CONTENT[study][language])},
        labels={},
        stratum="",
        cluster=form.name,
    )
    return form, item
