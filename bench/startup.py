"""How long `--cfg job` takes against a bare Hydra app, as the ratio of medians in one run."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BARE = """
import hydra
@hydra.main(version_base="1.3", config_path=None)
def app(cfg): ...
app()
"""
PAIRS = 9


def seconds(*command: str) -> float:
    """Wall time of one command."""
    began = time.perf_counter()
    subprocess.run([sys.executable, *command, "--cfg", "job"], cwd=ROOT, check=True,
                   capture_output=True)  # fmt: skip
    return time.perf_counter() - began


def main() -> None:
    """Interleaved pairs, so that a busy moment hits both."""
    with tempfile.TemporaryDirectory() as folder:
        bare = Path(folder, "bare.py")
        bare.write_text(BARE)
        pairs = [(seconds("-m", "trace.run"), seconds(str(bare))) for _ in range(PAIRS)]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(f"--cfg job: {ours:.2f} s, a bare Hydra app {theirs:.2f} s, ratio {ours / theirs:.2f}")


if __name__ == "__main__":
    main()
