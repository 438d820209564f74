"""The door: `python -m trace.run key=value … [-m]`.

It composes the configuration, checks every job before the first starts, carries the jobs out, and
turns whatever happens into one message a failure and an exit status.
"""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NoReturn

import hydra
from hydra.core.hydra_config import HydraConfig
from omegaconf import DictConfig

from trace import config, sweep
from trace.errors import UnsupportedError
from trace.messages import explain, status_of

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"

config.register()

_left: list[tuple[str, str, int]] = []
"""Of the jobs of this process that gave no result: error or unsupported, the name, exit status."""


def job(composed: DictConfig) -> None:
    """Carries one composed configuration out. Launchers of other processes call it too.

    A failure is reported when it happens, with the job's name; it leaves the other jobs alone.
    """
    try:
        settings = config.to_typed(composed)
        config.check_files(settings)
        from trace import tasks

        tasks.carry_out(settings, group=sweep.group())
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        name = ""
        if HydraConfig.initialized():
            name = " ".join(HydraConfig.get().overrides.task)
        kind = "unsupported" if isinstance(error, UnsupportedError) else "error"
        print(f"{kind}: {f'{name}: ' if name else ''}{message}", file=sys.stderr)
        _left.append((kind, name, status_of(error)))


def main(arguments: Sequence[str]) -> int:
    """Runs the command line `arguments` and returns the exit status.

    0 complete, 1 too much is unscored, 2 wrong configuration or input, 130 interrupted; of several
    jobs the highest.
    """
    os.environ["HYDRA_FULL_ERROR"] = (
        "1"  # its exceptions come through instead of ending the process
    )
    _left.clear()
    try:
        plan = sweep.plan(list(arguments), CONF)
        if plan.single is not None:
            job(plan.single)
        else:
            sys.argv = [sys.argv[0], *plan.arguments]
            hydra.main(version_base="1.3", config_path=str(plan.conf), config_name="config")(job)()
            name_again()
    except KeyboardInterrupt:
        print("interrupted. What was finished is kept: the same command goes on.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return status_of(error)
    return max((status for *_, status in _left), default=0)


def name_again() -> None:
    """Names, after all jobs, those that gave no result: their messages stand far above."""
    for kind, said in (("unsupported", "left out as unsupported"), ("error", "failed")):
        if names := [name for one, name, _ in _left if one == kind]:
            print(f"{said} ({len(names)}):", *names, sep="\n  ", file=sys.stderr)


def cli() -> NoReturn:
    """The entry of `python -m trace.run`."""

    def interrupt(*_: Any) -> NoReturn:
        raise KeyboardInterrupt

    signal.signal(signal.SIGTERM, interrupt)  # what a cluster sends before it takes the machine
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")  # a terminal that knows no † still gets its table
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    from trace.run import cli as entry  # so that the job pickles under its real name

    entry()
