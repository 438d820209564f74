"""The door: `python -m trace.run key=value … [-m]`.

It composes the configuration, checks every job before the first starts, carries the jobs out, and
turns whatever happens into one message and an exit status.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import hydra
from omegaconf import DictConfig

from trace import config, sweep
from trace.errors import TraceError
from trace.messages import explain

ROOT = Path(__file__).resolve().parent.parent
CONF = ROOT / "conf"

config.register()


def job(composed: DictConfig) -> None:
    """Carries one composed configuration out. Launchers of other processes call it too."""
    settings = config.to_typed(composed)
    from trace import tasks

    tasks.carry_out(settings, group=sweep.group())


def main(arguments: Sequence[str]) -> int:
    """Runs the command line `arguments` and returns the exit status.

    0 complete, 1 too much is unscored or a job failed, 2 wrong configuration or input,
    130 interrupted.
    """
    os.environ["HYDRA_FULL_ERROR"] = (
        "1"  # its exceptions come through instead of ending the process
    )
    try:
        plan = sweep.plan(list(arguments), CONF)
        if plan.single is not None:
            job(plan.single)
        else:
            sys.argv = [sys.argv[0], *plan.arguments]
            hydra.main(version_base="1.3", config_path=str(plan.conf), config_name="config")(job)()
    except KeyboardInterrupt:
        print("interrupted. What was finished is kept: the same command goes on.", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `| head` has read enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    except TraceError as error:
        print(f"error: {error}", file=sys.stderr)
        return error.exit_status
    except Exception as error:
        message = explain(error)
        if message is None:
            raise
        print(f"error: {message}", file=sys.stderr)
        return 2
    return 0


def cli() -> None:
    """The entry of `python -m trace.run`."""
    sys.exit(main(sys.argv[1:]))


if __name__ == "__main__":
    from trace.run import cli as entry  # so that the job pickles under its real name

    entry()
