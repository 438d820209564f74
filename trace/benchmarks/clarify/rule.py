"""Does an English answer ask back? A rule made for short chat answers.

A sentence asks back if it is a question to the reader (it says "you", or ends the answer), or a
request to give, show or explain something. What an answer repeats of the request, quotes, or writes
for others (code, quoted text, a letter) is not its own voice, and what closes an answer whatever it
was about (further help, further questions) wants to know nothing.
"""

from __future__ import annotations

import re

from trace.benchmarks.clarify.taxonomy import ANSWERS, ASKS_BACK
from trace.records import Sample

_NOT_ITS_OWN = re.compile(
    r"```.*?(?:```|\Z)"  # code
    r"|`[^`\n]*`"
    r"|^[ \t]*>[^\n]*"  # a quoted line
    r"|\"[^\"\n]*\"|“[^”\n]*”|«[^»\n]*»"
    # A letter: from its salutation or subject to its end; what introduces it stands before.
    r"|^[ \t*]*(?:subject:|dear\b|(?:hi|hello) (?:\[|there,$|[A-Z]\w*,$)).*",
    re.DOTALL | re.MULTILINE | re.IGNORECASE,
)
_SENTENCE = re.compile(r"[^.!?\n]+[.!?]*")
_LIST = re.compile(r"^[\s*#>-]*(?:\d+[.)])?[\s*]*")

_CLOSING = re.compile(
    r"\b(?:any|other|more|further|additional) questions?\b"
    r"|\banything else\b|\bhow else\b|\bsomething else (?:that )?(?:i|we) can\b"
    r"|\b(?:how|what) (?:can|may|could) i (?:help|assist|do for) you (?:further|more)\b"
    r"|\blet me know if\b"
    r"|\b(?:feel free|don't hesitate|do not hesitate) to (?:ask|reach|contact|let me know)\b"
    r"|\b(?:does|did) (?:that|this) (?:help|make sense|answer)\b"
    r"|\bwould you like me to\b"
    r"|\bwhy not\b|\bhow about that\b|\bright\?$|\bisn't it\b|\bguess what\b",
    re.IGNORECASE,
)
_TO_THE_READER = re.compile(r"\b(?:you|your|yours|you're|you'd|you've)\b", re.IGNORECASE)
_GIVE = (
    r"(?:provide|share|tell|give|specify|send|paste|describe|clarify|attach|upload|include|"
    r"explain|state|mention|list|enter|type|show|indicate|supply|elaborate|rephrase)"
)
_REQUEST = re.compile(
    rf"\b(?:please|kindly)\b[^.!?]*?\b{_GIVE}\b"
    rf"|\b(?:could|can|would|will) you\b[^.!?]*?\b{_GIVE}\b"
    rf"|\b(?:if|once|when|after) you(?: can| could|'d| would| have)?(?: please)? {_GIVE}(?:d|s)?\b"
    rf"|\bfeel free to {_GIVE}\b"
    rf"|\b(?:i(?:'d| would)?|i'll|we) (?:also )?need (?:you to|to know|to see|some|more|a (?:bit|"
    r"little) more|the|your|further|additional)\b"
    r"|\bi(?:'d| would) (?:like|love) to (?:know|see|hear|learn|understand)\b"
    r"|\blet me know (?:what|which|where|when|who|how|the|your|more|some|about)\b"
    rf"|^(?:just |simply )?(?:copy and )?{_GIVE} (?:me|us|your|the text|the sentence)\b"
    r"|\bask your question\b"
    r"|\bi(?:'m| am) (?:ready|waiting) (?:for|to (?:read|see|hear)) (?:you|it)",
    re.IGNORECASE,
)


def asks_back(answer: str, request: str = "") -> bool:
    """Whether the answer asks its reader for something that it needs.

    Args:
        answer: what the model wrote.
        request: what it was asked; repeating that asks for nothing.
    """
    own = _NOT_ITS_OWN.sub(" … ", _without_echo(answer, request).replace("’", "'"))
    said = [_LIST.sub("", sentence).strip() for sentence in _SENTENCE.findall(own)]
    said = [sentence for sentence in said if re.search(r"\w", sentence)]
    return any(_asks(sentence, last=i + 1 == len(said)) for i, sentence in enumerate(said))


def judged(sample: Sample) -> str:
    """The rule as a judge of samples (`items.Item.shown`)."""
    asks = asks_back(str(sample.view["answer"]), str(sample.view["request"]))
    return ASKS_BACK if asks else ANSWERS


def _without_echo(answer: str, request: str) -> str:
    """The answer without the request, or its beginning where it breaks off after four words."""
    words = [re.escape(word) for word in request.split()]
    if not words:
        return answer
    start, rest = words[:4], words[4:]
    pattern = r"\s+".join(start) + "".join(rf"(?:\s+{word}" for word in rest) + ")?" * len(rest)
    return re.sub(pattern, " … ", answer, flags=re.IGNORECASE)


def _asks(sentence: str, *, last: bool) -> bool:
    if _CLOSING.search(sentence):
        return False
    if sentence.endswith("?") and (last or _TO_THE_READER.search(sentence)):
        return True
    return _REQUEST.search(sentence) is not None
