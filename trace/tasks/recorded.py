"""A finished run of a study, read back with the configuration that made it."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hydra.plugins.config_source import ConfigLoadError
from omegaconf.errors import OmegaConfBaseException

from trace import config
from trace.errors import ConfigError, DataError
from trace.records import Completion, Json, Request, Verdict
from trace.report.run_folder import AGAIN, config_of, finished
from trace.tasks.written_settings import typed_again
from trace.tracking.files import read_jsonl


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """What a run directory holds. `lines` are those of records.jsonl.

    `settings` are those of the run, but for `output_dir`, which is that of the command that reads.
    """

    path: Path
    settings: config.Root
    manifest: Mapping[str, Json]
    lines: Sequence[Json]

    @property
    def answered(self) -> Mapping[str, Json]:
        """What identifies the model that answered."""
        identity: Mapping[str, Json] = self.manifest["model"]
        return identity

    def answer(self, line: Json) -> Completion | None:
        """What the model answered; None where it was not asked.

        A respondent's answer stands beside its judges' completions; a judge's own is the only one.
        """
        field = "response" if self.settings.benchmark.asks_respondent else "completion"
        answer = line[field] and Completion.from_json(line[field])
        return answer if answer is not None and answer.key else None

    def matched(self, asked: Sequence[Request]) -> list[Request | None]:
        """The request of each line, named after its sample; None where the model was not asked.

        Args:
            asked: all that the run can have asked, as this version asks it.

        Raises:
            DataError: an answer is to none of them.
        """
        requests = {request.key(self.answered): request for request in asked}
        found: list[Request | None] = []
        strange: list[str] = []
        for line in self.lines:
            answer = self.answer(line)
            if answer is not None and answer.key not in requests:
                strange.append(line["id"])
            request = None if answer is None else requests.get(answer.key)
            found.append(request and dataclasses.replace(request, sample=line["id"]))
        if strange:
            commit = (self.manifest.get("code") or {}).get("commit") or "of an unknown commit"
            raise DataError(
                f"probe.run: {self.path}: {len(strange)} of {len(self.lines)} answers, the first "
                f"of {strange[0]}, are to prompts that this version words otherwise (the run was "
                f"made by code {commit}). Run its command again."
            )
        return found

    def check_same(self, key: str, now: Json, what: str) -> None:
        """Whether something that the manifest keeps is what it was.

        Args:
            key: where it stands in the manifest, dotted.
            now: what is found today.
            what: names it.

        Raises:
            DataError: it is not.
        """
        kept: Json = self.manifest
        for name in key.split("."):
            kept = kept.get(name) if isinstance(kept, Mapping) else None
        if kept == json.loads(json.dumps(now)):
            return
        parts = ""
        if isinstance(kept, Mapping) and isinstance(now, Mapping):
            changed = [n for n in {**kept, **now} if kept.get(n) != now.get(n)]
            parts = f" ({', '.join(changed)})"
        raise DataError(
            f"probe.run: {self.path}: {what}{parts} changed since. Put back what it was made "
            "from, or run its command again."
        )


def read_recorded(path: Path, output_dir: str) -> Recorded:
    """Reads a run directory.

    Args:
        path: the directory.
        output_dir: of the command that reads.

    Raises:
        DataError: it holds no finished evaluation, or one of another version.
    """
    if not finished(path):
        raise DataError(
            f"probe.run: {path} holds no finished run. Give the directory that an evaluation "
            "named last, after `run:`."
        )
    written = config_of(path)
    task = (written.get("task") or {}).get("name")
    if task != "evaluate":
        raise DataError(
            f"probe.run: {path} is of task={task}, and answers are judged by task=evaluate. Give "
            "the directory of such a run."
        )
    try:
        settings = typed_again(written)
        config.check_files(settings)
    except ConfigError as error:
        raise DataError(f"probe.run: {path / 'config.yaml'}: {error}") from None
    except (OmegaConfBaseException, ConfigLoadError, KeyError, TypeError) as error:
        said = str(error).splitlines()[0]
        raise DataError(
            f"probe.run: {path / 'config.yaml'}: is of another version ({said}). {AGAIN}"
        ) from None
    lines = list(read_jsonl(path / "records.jsonl"))
    if not lines:
        raise DataError(f"probe.run: {path / 'records.jsonl'}: is empty. {AGAIN}")
    manifest = json.loads((path / "manifest.json").read_bytes())
    for name, whole in (
        ("manifest.json", {"run", "data", "model"} <= manifest.keys()),
        ("records.jsonl", all(map(_whole, lines))),
    ):
        if not whole:
            raise DataError(f"probe.run: {path / name}: is of another version. {AGAIN}")
    return Recorded(
        path=path,
        settings=dataclasses.replace(settings, output_dir=output_dir),
        manifest=manifest,
        lines=lines,
    )


def _whole(line: Json) -> bool:
    """Whether a record has what every study writes."""
    try:
        Verdict.from_json(line["verdict"])
        return {"id", "epoch"} <= line.keys() and "cluster" in line["sample"]
    except (AttributeError, KeyError, TypeError, ValueError):
        return False
