"""The judges of a study of respondents: what identifies each, and how each is asked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from trace import config
from trace.errors import ConfigError
from trace.models.askable import refusal
from trace.models.open import open_model
from trace.records import Completion, Json, Request, digest
from trace.tasks.answers import addressed, answers


@dataclass(kw_only=True)
class Asking:
    """Puts requests to one judge after the other; only one of them is in memory at a time.

    `used` is what each paid service counted, by the key of its judge; `fresh` whether any
    completion was made now.
    """

    output_dir: str
    used: dict[str, Json] = field(default_factory=dict)
    fresh: bool = False

    def put(self, key: str, model: config.Model, requests: Sequence[Request]) -> list[Completion]:
        """The completions in the order of the requests; nothing is opened where there are none."""
        if not requests:
            return []
        opened = open_model(model)
        asked = addressed(requests, model)
        title = f"{model.name} ({key})"
        made, new = answers(opened, model.name, asked, self.output_dir, title=title)
        self.fresh = self.fresh or new
        if opened.usage:
            self.used[key] = dict(opened.usage)
        return made


def identity_of(key: str, model: config.Model, asked: Sequence[Request]) -> dict[str, Json]:
    """What identifies a judge. No weights are loaded.

    Raises:
        TraceError: it cannot be asked one of the requests.
    """
    if isinstance(model, config.RuleModel):
        if model.rule != config.OWN_RULE:
            raise ConfigError(
                f"{key}: there is no rule {model.rule!r} here. Use {key}=own_rule, which looks for "
                "the rubric's cues, or leave it out."
            )
        return {"rule": model.rule}
    requests = addressed(asked, model)
    if (why := refusal(model, requests)) is not None:
        raise ConfigError(f"{key}: {why}")
    opened = open_model(model)
    opened.prepare(requests[0])
    return dict(opened.identity)


def refuse_twins(found: Mapping[str, Json]) -> None:
    """A model has one vote, whatever its seats are called.

    Args:
        found: seat -> what identifies its judge.

    Raises:
        ConfigError: two seats have the same judge.
    """
    first: dict[str, str] = {}
    for seat, identity in found.items():
        if (twin := first.setdefault(digest(identity), seat)) != seat:
            raise ConfigError(
                f"judges.models.{seat}: is the same model as {twin}, and would vote twice. "
                f"Leave one out: '~model@judges.models.{seat}', or name another."
            )
