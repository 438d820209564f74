"""How long a log of 200,000 lines takes to read, against reading it as JSON, in one run."""

from __future__ import annotations

import json
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from trace.models.log import CompletionLog
from trace.records import Completion, digest

LINES = 200_000
PAIRS = 5


def seconds(work: Callable[[], object]) -> float:
    """Wall time of `work`."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def main() -> None:
    """Interleaved pairs: a thousand keys by our reader, every line by the standard library."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with CompletionLog(folder) as log:
            for first in range(0, LINES, 1000):
                log.append(
                    [Completion(key=digest(n), text="a reply of some length " * 20)
                     for n in range(first, first + 1000)]
                )  # fmt: skip
        (segment,) = folder.glob("*.jsonl")
        some = [digest(n) for n in range(0, LINES, LINES // 1000)]

        def plainly() -> None:
            with segment.open(encoding="utf-8") as file:
                for line in file:
                    json.loads(line)

        pairs = [
            (seconds(lambda: CompletionLog(folder).read(some)), seconds(plainly))
            for _ in range(PAIRS)
        ]
    ours, theirs = (statistics.median(side) for side in zip(*pairs, strict=True))
    print(
        f"log of {LINES:,} lines: a thousand keys {ours:.2f} s, all as JSON {theirs:.2f} s, "
        f"ratio {ours / theirs:.2f}"
    )


if __name__ == "__main__":
    main()
