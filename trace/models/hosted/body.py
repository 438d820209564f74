"""From a request to the fields of a chat completion."""

from __future__ import annotations

from trace import config
from trace.errors import ConfigError
from trace.models.unicode import whole_characters
from trace.records import Json, Request

SPARE_TOKENS = 8
"""Tokens that a model may write beside the prefix of a score, such as a line's end."""


def body(settings: config.HostedModel, request: Request, key: str) -> dict[str, Json]:
    """The fields of the request, `model` and `messages` among them.

    A field that `model.extra_body` sets to null is left out: some servers refuse what others need.
    The seed of a sampled answer comes from the key, so that the repeats of a request differ.
    """
    sampling = request.sampling
    fields: dict[str, Json] = {
        "model": settings.id,
        "messages": [{**m, "content": _whole(m["content"])} for m in request.messages],
    }
    if request.labels:
        fields |= {
            "temperature": 0.0,
            settings.max_tokens_field: len(request.prefix) + SPARE_TOKENS,
            "logprobs": True,
            "top_logprobs": settings.logprobs,
        }
    else:
        fields |= {
            "temperature": sampling.temperature,
            settings.max_tokens_field: sampling.max_new_tokens,
        }
        if sampling.temperature > 0:
            fields |= {"top_p": sampling.top_p, "seed": int(key[:8], 16) >> 1}  # 31 bits
        if sampling.stop:
            fields["stop"] = list(sampling.stop)
    if request.template_args:
        fields["chat_template_kwargs"] = dict(request.template_args)
    fields |= settings.extra_body or {}
    return {name: value for name, value in fields.items() if value is not None}


def _whole(content: Json) -> Json:
    """Content as text, or as the list of parts that some templates want."""
    if isinstance(content, str):
        return whole_characters(content)
    return [{**part, "text": whole_characters(part["text"])} for part in content]


def check_request(settings: config.HostedModel, request: Request) -> None:
    """Finds out whether a server can be asked, and the likelihood of labels be read from it.

    Raises:
        ConfigError: the prompt is literal text; the server reports no alternatives; or two labels
            begin with the same character, so that a first token may belong to both.
    """
    if request.literal is not None:
        raise ConfigError(
            f"model.guard={settings.guard}: its prompt is literal text, which a chat server cannot "
            "take. Use model/engine=hf or model/engine=vllm."
        )
    if not request.labels:
        return
    if settings.logprobs < len(request.labels):
        raise ConfigError(
            f"model.logprobs={settings.logprobs}: protocol.answer=score needs the likelihoods of "
            f"{len(request.labels)} labels. Use protocol.answer=generate, or model.logprobs=20 if "
            "the server reports that many."
        )
    if len({label[:1] for label in request.labels}) < len(request.labels):
        raise ConfigError(
            "protocol.answer=score: a server tells the likelihood of the next token only, and some "
            f"of the {len(request.labels)} labels begin alike. Use protocol.answer=generate."
        )
