from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest

from tests.test_config import typed
from trace.tracking import tracked
from trace.tracking.tracker import Tracker


@pytest.mark.parametrize(
    ("benchmark", "online", "upload", "said"),
    [
        ("evidence", True, "all", True),
        ("evidence", True, "metrics", False),
        ("evidence", False, "all", False),
        ("tracesafe", True, "all", False),
    ],
)
def test_that_unsafe_texts_leave_the_machine_is_said(
    benchmark: str,
    online: bool,
    upload: str,
    said: bool,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = SimpleNamespace(url="http://127.0.0.1/run", dir=str(tmp_path / "files"))

    @contextmanager
    def tracker(*_: object, **__: object) -> Iterator[Tracker]:
        yield Tracker(run, upload=upload, online=online)

    monkeypatch.setattr(tracked, "track", tracker)
    settings = typed(f"benchmark={benchmark}", f"output_dir={tmp_path}")
    with (
        caplog.at_level(logging.WARNING),
        tracked.tracked_run(settings, parts=("runs",), stem=None, hashed={}, group=None),
    ):
        pass
    assert ("tracking.upload=metrics" in caplog.text) == said
