from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from trace import assets
from trace.errors import AssetError
from trace.run import main


@dataclass(frozen=True)
class Ran:
    """What one command did."""

    status: int
    out: str
    err: str

    @property
    def folder(self) -> Path:
        """The run directory, from the last line printed."""
        last = self.out.rstrip("\n").splitlines()[-1]
        assert last.startswith("run: "), self.out + self.err
        return Path(last.removeprefix("run: "))

    def metrics(self) -> dict[str, Any]:
        """metrics.json."""
        loaded: dict[str, Any] = json.loads((self.folder / "metrics.json").read_text("utf-8"))
        return loaded

    def records(self) -> list[dict[str, Any]]:
        """records.jsonl."""
        lines = (self.folder / "records.jsonl").read_text("utf-8").split("\n")
        return [json.loads(line) for line in lines if line]


Door = Callable[..., Ran]


@pytest.fixture
def door(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Door:
    """Runs a command line in this process, with its outputs in a folder of the test."""

    def run(*arguments: str, output_dir: Path | None = None) -> Ran:
        capsys.readouterr()
        out = tmp_path / "outputs" if output_dir is None else output_dir
        status = main([*arguments, f"output_dir={out}", "tracking.mode=disabled"])
        captured = capsys.readouterr()
        return Ran(status, captured.out, captured.err)

    return run


@pytest.fixture(scope="session")
def own_set() -> None:
    """Skips where the package that our own set is built from cannot be had."""
    try:
        assets.fetch("bfcl")
    except AssetError as error:
        pytest.skip(str(error))


def write_replies(path: Path, replies: Sequence[str]) -> Path:
    path.write_text("".join(json.dumps(reply) + "\n" for reply in replies), "utf-8")
    return path
