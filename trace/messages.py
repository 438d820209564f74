"""Hydra's and OmegaConf's errors as one sentence that says what to type instead."""

from __future__ import annotations

import dataclasses
import errno
import re
from collections.abc import Iterator
from typing import Any, get_args, get_type_hints

from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from omegaconf.errors import OmegaConfBaseException
from yaml import YAMLError

from trace import config
from trace.config.benchmarks import MODEL_PANELS
from trace.errors import TraceError

_OF_THE_DISK = {
    *(errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO),
    *(errno.EFBIG, errno.ESTALE),
}
"""What a disk refuses and a user can mend. Any other error of the system is a fault of ours."""


def status_of(error: BaseException) -> int:
    """The exit status for an error that `explain` has a message for."""
    return error.exit_status if isinstance(error, TraceError) else 2


def explain(error: BaseException) -> str | None:
    """The message for an error that a user can mend; None for any other error."""
    if isinstance(error, BrokenPipeError):
        return None
    chain = list(_chain(error))
    for link in chain:
        if isinstance(link, TraceError):
            return str(link)
    if isinstance(error, OSError) and error.errno in _OF_THE_DISK:
        place = f"{error.filename}: " if error.filename else ""
        return (
            f"{place}{error.strerror}. What was finished is kept: make room or give another "
            "place (output_dir=FOLDER), then run the same command again."
        )
    if isinstance(error, MissingConfigException):
        return _missing(error)
    if isinstance(error, OverrideParseException):
        key, equals, value = str(error.override).partition("=")
        if value.startswith("{") and not value.endswith("}"):
            return (
                f"{error.override}: cut off at a blank. Put the whole of it between single quotes: "
                f"'{key}={{default: 0.8}}'."
            )
        if not equals or key != key.strip():
            return f"{error.override}: cannot be read. Write key=value, without spaces around =."
        escaped = value.replace("\\", "\\\\").replace('"', '\\"')
        return f"{error.override}: the value has to be quoted. Type '{key}=\"{escaped}\"'."
    if isinstance(error, YAMLError):
        return f"{' '.join(str(error).split())}. Correct the file in conf/."
    if isinstance(error, ValueError) and "Config group override must be" in str(error):
        return "a group cannot be null here. Leave it out, or choose one of its files."
    if isinstance(error, AssertionError) and str(error) == "Unexpected type: None":
        return (
            "a key is set inside a group that is null. Choose the group first: judges=panel, for "
            "a key that begins with judges."
        )
    if not isinstance(error, HydraException | OmegaConfBaseException):
        return None
    texts = [
        _first_line(k) for k in chain if isinstance(k, HydraException | OmegaConfBaseException)
    ]
    for text in texts:
        if match := re.search(r"Could not override '([^']+)'", text):
            key = match[1]
            if any(t.startswith("Key ") or "not in struct" in t for t in texts[1:] or texts):
                if key.rpartition(".")[0] in MODEL_PANELS:
                    return f"{key}: nobody has that seat. Add somebody: +model@{key}=MODEL."
                return f"{key}: no such key{config.nearest(key, list(known_keys()))}"
    if twice := re.search(r"(\S+) appears more than once", texts[0]):
        return f"{twice[1].removeprefix('schema/')}: is chosen twice. Leave one out."
    if "'sweeps'" in texts[0]:
        return "sweeps: a sweep is added with a plus: +sweeps=NAME -m."
    if match := re.search(r"Error merging override (.+)", texts[0]):
        reasons = [t for t in texts if "$" not in t]  # OmegaConf chains its unfilled template too
        if "ListConfig" in reasons[-1]:
            key, _, value = match[1].partition("=")
            return f"{key}: wants a list. Type '{key}=[{value}]'."
        return f"{match[1]}: {reasons[-1]}."
    return f"{texts[0]}."


def _chain(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__ or seen.__context__


def _first_line(error: BaseException) -> str:
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    # "In 'model/mine': … raised while composing config:" and, on the next line, what is wrong.
    said = lines[:2] if lines[0].endswith(":") else lines[:1]
    return " ".join(said).rstrip(".")


def _missing(error: MissingConfigException) -> str:
    group, _, name = str(error.missing_cfg_file).rpartition("/")
    choices = sorted(error.options or ["(none)"])
    near = config.nearest(name, choices)
    return f"{group}={name}: no such {group}{near} There are: {', '.join(choices)}."


def known_keys(cls: type = config.Root, at: str = "") -> Iterator[str]:
    """Every key of the typed configuration, those of all subclasses too."""
    for kind in _kinds(cls):
        hints = get_type_hints(kind)
        for field in dataclasses.fields(kind):
            path = f"{at}{field.name}"
            yield path
            for hint in (hints[field.name], *get_args(hints[field.name])):
                if dataclasses.is_dataclass(hint) and isinstance(hint, type):
                    yield from known_keys(hint, f"{path}.")


def _kinds(cls: type[Any]) -> Iterator[type[Any]]:
    yield cls
    for kind in cls.__subclasses__():
        yield from _kinds(kind)
