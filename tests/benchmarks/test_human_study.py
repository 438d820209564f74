"""From a configuration to what people are asked; and what every study's forms have in common."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hydra import compose

from tests.conftest import ROOT
from trace import config, sweep
from trace.annotation.briefing import consent
from trace.annotation.form import Form
from trace.annotation.markup import markup
from trace.annotation.study import HumanStudy
from trace.benchmarks.cross_lab import human as cross_lab
from trace.benchmarks.evidence.human_form import forms
from trace.benchmarks.human import study
from trace.benchmarks.rag_safety import human as rag_safety
from trace.benchmarks.tracesafe import human as tracesafe
from trace.errors import ConfigError

config.register()
FORMS = [
    *forms().values(),
    *rag_safety.FORMS.values(),
    tracesafe.FORM,
    cross_lab.form({"complies": "It does what is asked.", "asks": "It asks back."}),
    *(consent(language, "evidence")[0] for language in ("en", "zh")),  # type: ignore[arg-type]
]


def asked(*words: str, select: str = "random") -> HumanStudy:
    with sweep.composing(ROOT / "conf"):
        return study(config.to_typed(compose("config", list(words))), select=select)


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.name)
def test_every_form_is_sound(form: Form) -> None:
    names = [question.name for question in form.questions]
    assert len(set(names)) == len(names)
    for passage in form.passages:
        marking = passage.marking
        if marking is not None:
            (question,) = (q for q in form.questions if q.name == marking.question)
            assert marking.value in [option.value for option in question.options]
    for question in form.questions:
        values = [option.value for option in question.options]
        assert len(set(values)) == len(values) >= 2
        for option in question.options:
            assert option.shown in markup(form)
    assert json.loads(json.dumps(form.to_json()))["name"] == form.name
    assert form.digest


def test_the_benchmark_says_what_is_asked(tmp_path: Path) -> None:
    found = asked("task=annotate", "benchmark=evidence")
    assert found.name == "evidence"
    assert len(found.items) == 103
    with pytest.raises(ConfigError, match="nothing waits for people in the bundled set"):
        asked("task=annotate", "benchmark=evidence", select="queue")
    with pytest.raises(ConfigError, match=r"benchmark\.path: no value"):
        asked("task=annotate", "benchmark=tracesafe")
    with pytest.raises(ConfigError, match=r"annotate\.select: queue .* tracesafe has none"):
        asked("task=annotate", "benchmark=tracesafe", select="queue")
    with pytest.raises(ConfigError, match="people are asked nothing about ragtruth"):
        asked("task=annotate", "benchmark=ragtruth", f"benchmark.path={tmp_path}")


@pytest.mark.parametrize(
    ("form", "name", "fields"),
    [
        ("rag_answer", "rag_safety", {"question": "q", "expected": "e", "answer": "a"}),
        ("rag_document", "rag_safety", {"question": "q", "document": "d"}),
        ("cross_lab", "cross_lab", {"prompt": "p", "response": "r", "category": "c",
                                    "rubric": {"a": "A.", "b": "B."}}),
    ],
)  # fmt: skip
def test_a_file_of_answers_is_asked_about_instead(
    tmp_path: Path, form: str, name: str, fields: dict[str, Any]
) -> None:
    path = tmp_path / "made.jsonl"
    path.write_text(json.dumps({"id": "1", **fields}) + "\n", "utf-8")
    words = ("task=annotate", f"annotate.form={form}", f"annotate.source={path}")
    found = asked(*words)
    (item,) = found.items
    assert found.name == name == found.forms[item.form].study
    assert set(item.texts) == {passage.name for passage in found.forms[item.form].passages}
    assert consent("en", found.name)
    with pytest.raises(ConfigError, match=r"annotate\.select: queue"):
        asked(*words, select="queue")
