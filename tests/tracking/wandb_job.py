"""A job that tracks in a process of its own: W&B keeps settings and a service a process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


SECRET = "p1anted-secret-0123456789"


KEY = "0123456789abcdef" * 2 + "01234567"


METRICS = {
    "schema": 1,
    "metrics": {
        "tpr": {"value": 0.8125, "low": 0.5703125, "high": 0.9375, "n": 16, "n_unscored": 1},
        "tnr": {"value": 0, "low": 0.0, "high": 0.25, "n": 12, "n_unscored": 0},
        "auroc": {"value": None, "n": 0, "n_unscored": 28, "reason": "no scores"},
    },
    "breakdowns": {"class": {"PromptInjectionOut": {"accuracy": {"value": 0.625, "n": 8}}}},
}


LOGGED = {
    "tpr": 0.8125, "tpr_low": 0.5703125, "tpr_high": 0.9375, "tpr_n": 16, "tpr_n_unscored": 1,
    "tnr": 0, "tnr_low": 0.0, "tnr_high": 0.25, "tnr_n": 12, "tnr_n_unscored": 0,
    "auroc_n": 0, "auroc_n_unscored": 28,
    "class_PromptInjectionOut_accuracy": 0.625, "class_PromptInjectionOut_accuracy_n": 8,
}  # fmt: skip


ROWS = [
    {"id": "a", "gold": {"label": "safe"}, "completion": {"text": "<b>marked</b> {x}", "n": 1}},
    {"id": "b", "gold": {"label": None}, "completion": {"text": f"lone \ud800 {SECRET}", "n": 2}},
]


JOB = """
import json, logging, os, sys
from pathlib import Path
import trace.tracking.wandb_run as wandb_run
from trace.config import Tracking

logging.basicConfig(format="%(levelname)s %(message)s")
given = json.loads(sys.argv[1])
wandb_run.INIT_SECONDS = given.get("seconds", 15)
before = dict(os.environ)
for attempt in range(given.get("attempts", 1)):
    try:
        with wandb_run.track(
            Tracking(**given["settings"]), run_id="schema-01234567", name="org/model schema",
            group="g", config={"model": {"name": "m", "key": None}, "note": given["note"]},
            folder=Path(given["out"], "wandb"),
        ) as tracker:
            print("where", tracker.where)
            tracker.metrics(given["metrics"])
            tracker.table("records", given["rows"])
            tracker.artifact(Path(given["out"], "run"))
            if given.get("fail"):
                raise RuntimeError("the job failed")
    except RuntimeError as error:
        print(error)
after = dict(os.environ)
assert after == before, set(after.items()) ^ set(before.items())
print("imported", "wandb" in sys.modules)
"""


class Job:
    """Tracks in another process, with a home of its own that has to stay empty."""

    def __init__(self, tmp_path: Path) -> None:
        self.out, self.home = tmp_path / "out", tmp_path / "home"
        run = self.out / "run"
        (run / "figures").mkdir(parents=True)
        self.home.mkdir()
        (run / "metrics.json").write_text(json.dumps(METRICS))
        (run / "figures" / "a.png").write_bytes(b"png")
        (run / ".lock").write_text("")
        (run / ".tmp-01234567-records.jsonl").write_text("half")

    def run(self, environment: dict[str, str] | None = None, **given: Any) -> tuple[str, str]:
        asked = {"out": str(self.out), "note": f"says {SECRET}", "metrics": METRICS, "rows": ROWS,
                 "settings": {"mode": "offline"}} | given  # fmt: skip
        done = subprocess.run(
            [sys.executable, "-c", JOB, json.dumps(asked)],
            cwd=ROOT,
            env=self.clean | {"PLANTED_TOKEN": SECRET} | (environment or {}),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr
        assert list(self.home.iterdir()) == []
        for file in self.files():
            assert SECRET.encode() not in file.read_bytes(), file
            assert KEY.encode() not in file.read_bytes(), file
        return done.stdout, done.stderr

    @property
    def clean(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("WANDB_", "XDG_"))}
        return kept | {"HOME": str(self.home), "NETRC": str(self.home / ".netrc")}

    def files(self) -> list[Path]:
        return [f for f in self.out.rglob("*") if f.is_file() and self.out / "run" not in f.parents]

    def logs(self) -> list[Path]:
        return sorted(f.resolve() for f in (self.out / "wandb").glob("*run-*/*.wandb"))

    def inspect(self, log: Path, *options: str) -> str:
        """What W&B's own inspector reads in a run file."""
        command = [sys.executable, "-m", "wandb", "leet", "inspect", "--json", *options, str(log)]
        elsewhere = self.clean | {"HOME": str(self.out), "WANDB_ERROR_REPORTING": "false"}
        done = subprocess.run(
            command, cwd=self.out, env=elsewhere, check=True, capture_output=True, text=True
        )
        return done.stdout
