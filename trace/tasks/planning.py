"""What a dry run says of the models that a job asks."""

from __future__ import annotations

from collections.abc import Sequence

from trace import config
from trace.models.askable import refusal
from trace.models.base import estimated_tokens
from trace.models.runnable import this_machine, verdict
from trace.records import Request
from trace.report.plan import Work


def work(model: config.Model, requests: Sequence[Request]) -> Work:
    """What a model is asked, in tokens estimated by characters, and what keeps it from that."""
    said = verdict(model, this_machine([model.id] if model.id else []))
    engine = model.engine
    return Work(
        model=model.name,
        requests=len(requests),
        read=sum(estimated_tokens(text) for request in requests for text in request.texts),
        written=sum(
            0 if request.labels else request.sampling.max_new_tokens for request in requests
        ),
        price=getattr(model, "price", None),
        max_requests=engine.max_requests if isinstance(engine, config.RemoteEngine) else None,
        max_cost_usd=engine.max_cost_usd if isinstance(engine, config.OpenAIEngine) else None,
        here=refusal(model, requests) if said.runs else said.reason,
    )
