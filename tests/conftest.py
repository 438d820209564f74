"""What tests share: the repository's root, and a home of their own."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent

settings.register_profile("untimed", deadline=None)  # a busy machine is no fault of the code
settings.load_profile("untimed")


def hear_interrupts() -> None:
    """For Popen's `preexec_fn`: SIGINT is heard, whatever the suite was started with.

    A suite in the background ignores it, and so would the processes that it starts.
    """
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.fixture(autouse=True)
def _from_the_root(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hydra finds sweeps/ in the working directory; W&B must never find a real login."""
    monkeypatch.chdir(ROOT)
    monkeypatch.delenv("WANDB_API_KEY", raising=False)


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Real released records beside the checkout; tests that need them are skipped without."""
    folder = ROOT.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip("the released records are not here")
    return folder
