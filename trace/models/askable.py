"""Whether a model takes a request, as far as its configuration tells; nothing is opened."""

from __future__ import annotations

from collections.abc import Iterable

from trace import config
from trace.errors import ConfigError
from trace.models import mock
from trace.models.hosted import body
from trace.records import Request


def refusal(settings: config.Model, requests: Iterable[Request]) -> str | None:
    """Why the model's engine would refuse one of the requests; None where it takes them all.

    Engines that load weights may know more: their architecture is not looked at.
    """
    try:
        for request in requests:
            if isinstance(settings, config.HostedModel):
                body.check_request(settings, request)
            elif isinstance(settings, config.MockModel):
                mock.check_request(settings, request)
    except ConfigError as error:
        return str(error)
    return None
