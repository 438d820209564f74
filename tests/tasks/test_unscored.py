"""The end of a run of which too much has no label, and what it advises."""

from __future__ import annotations

import pytest

from tests.test_config import typed
from trace.errors import UnscoredError
from trace.tasks.unscored import refuse_unscored, scores_would_help

LABELS = ('Safe"', 'Unsafe"')
SERVER = ["model=openai_compatible", "model.id=m", "model.base_url=http://127.0.0.1:9/v1"]


@pytest.mark.parametrize(
    ("overrides", "status", "helps"),
    [
        ([], "unparsable", True),
        ([], "truncated", True),
        ([], "refused", True),
        ([], "too_long", False),
        ([], "error", False),
        (["protocol.answer=score"], "unparsable", False),
        (["condition=cot"], "unparsable", False),
        (["scoring.parser=released"], "unparsable", False),
        (["model=llama_guard_3_8b"], "unparsable", False),
        (["model=mock", "model.replies=x.jsonl"], "unparsable", False),
        (["model=mock", "model.rates={default: 1}"], "unparsable", True),
        (SERVER, "unparsable", False),
        ([*SERVER, "model.logprobs=20"], "unparsable", True),
    ],
)
def test_scores_are_advised_where_they_are_possible_and_help(
    overrides: list[str], status: str, helps: bool
) -> None:
    assert scores_would_help(typed(*overrides), LABELS, ["ok", status]) == helps


def test_one_judge_that_cannot_score_is_enough() -> None:
    panel = ["judges=panel", "+model@judges.models.a=smollm2"]
    both = [*panel, "+model@judges.models.b=smollm2"]
    assert scores_would_help(typed(*both), LABELS, ["unparsable"])
    guarded = [*panel, "+model@judges.models.b=llama_guard_3_8b"]
    assert not scores_would_help(typed(*guarded), LABELS, ["unparsable"])


def test_labels_that_a_server_cannot_tell_apart_are_not_scored() -> None:
    settings = typed(*SERVER, "model.logprobs=20")
    assert not scores_would_help(settings, ("Prompt1", "Prompt2"), ["unparsable"])


def test_a_share_of_just_as_many_is_let_pass() -> None:
    status = ["ok"] * 8 + ["error", "refused"]
    refuse_unscored(status, 0.2, lack="samples have no label", instead="Look.")
    refuse_unscored([], 0.0, lack="samples have no label", instead="Look.")
    with pytest.raises(UnscoredError) as caught:
        refuse_unscored(status, 0.1, lack="samples have no label", instead="Look.")
    assert str(caught.value) == (
        '2 of 10 samples have no label ({"error": 1, "refused": 1}), more than '
        "scoring.max_unscored=0.1. Look."
    )
