"""Provenance: the code, the machine and the command that made a run."""

from __future__ import annotations

import hashlib
import importlib.metadata
import os
import platform
import re
import shlex
import socket
import subprocess
import sys
import tomllib
from datetime import UTC, datetime
from pathlib import Path

from trace.records import Json
from trace.tracking.files import write_json
from trace.tracking.secrets import redact_command

SCHEMA = 1
ROOT = Path(__file__).resolve().parents[2]
"""The repository that holds the running code."""


def provenance() -> dict[str, Json]:
    """What is known when a run starts. `completed` adds what is known when it ends.

    The environment is never recorded, and the command line only without credentials. An unknown
    value is None; under `code` a `reason` stands beside it.
    """
    return {
        "schema": SCHEMA,
        "code": code(ROOT),
        "command": shlex.join(redact_command(["python", *sys.orig_argv[1:]])),
        "python": platform.python_version(),
        "packages": packages(),
        "platform": platform.platform(),
        "host": socket.gethostname(),
        "hardware": hardware(),
        "started": now(),
        "ended": None,
    }


def completed(manifest: dict[str, Json]) -> dict[str, Json]:
    """The manifest of a run that ends now, on the hardware seen now (torch is loaded late)."""
    return {**manifest, "hardware": hardware(), "ended": now()}


def write_manifest(folder: Path, manifest: dict[str, Json], *, fresh: bool) -> None:
    """Writes the manifest of a run that ends now.

    A repeat that made nothing (not `fresh`) leaves it: who made the completions, and when, stays.
    """
    path = folder / "manifest.json"
    if fresh or not path.is_file():
        write_json(path, completed(manifest))


def now() -> str:
    """The time in UTC, ISO 8601, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def code(root: Path) -> dict[str, Json]:
    """The git commit checked out in `root` and whether the files differ from it.

    `changes` is the sha256 of the difference, untracked files included: equal hashes mean equal
    code. All three are None where `root` is not the top of a checkout, and `commit` and `changes`
    where nothing was committed yet.
    """
    unknown: dict[str, Json] = {"commit": None, "dirty": None, "changes": None}
    try:
        top = _git(root, "rev-parse", "--show-toplevel").decode().rstrip("\n")
        if Path(top).resolve() != root.resolve():
            return unknown | {"reason": "not a git checkout"}
        dirty = bool(_git(root, "status", "--porcelain"))
    except FileNotFoundError:
        return unknown | {"reason": "git is not installed"}
    except subprocess.CalledProcessError as error:
        return unknown | {"reason": f"git: {_first_line(error.stderr) or 'failed'}"}
    try:
        commit = _git(root, "rev-parse", "--verify", "--quiet", "HEAD").decode().strip()
    except subprocess.CalledProcessError:
        return unknown | {"dirty": True, "reason": "no commit yet"}
    changes = _changes(root) if dirty else None
    return {"commit": commit, "dirty": dirty, "changes": changes}


def packages() -> dict[str, str]:
    """The installed version of every direct dependency; those of development aside."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = [
        one
        for name, extra in project.get("optional-dependencies", {}).items()
        if name != "dev"
        for one in extra
    ]
    found = {}
    for requirement in (*project["dependencies"], *extras):
        name = re.split(r"[^A-Za-z0-9._-]", requirement, maxsplit=1)[0]
        try:
            found[name] = importlib.metadata.version(name)
        except importlib.metadata.PackageNotFoundError:
            continue
    return dict(sorted(found.items()))


def hardware() -> dict[str, Json]:
    """The processor, cores this process may use, memory (bytes), and GPUs.

    `gpus` is None until something else has loaded torch: to ask costs seconds otherwise.
    """
    torch = sys.modules.get("torch")
    return {
        "cpu": _processor(),
        "cores": len(os.sched_getaffinity(0))
        if hasattr(os, "sched_getaffinity")
        else os.cpu_count(),
        "memory": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        if hasattr(os, "sysconf")
        else None,
        "gpus": None
        if torch is None
        else [torch.cuda.get_device_name(i) for i in range(torch.cuda.device_count())],
    }


def _processor() -> str | None:
    listing = Path(
        "/proc/cpuinfo"
    )  # Linux, where platform.processor() is empty or the architecture
    if listing.exists():
        named = re.search(r"^model name\s*:\s*(.+)$", listing.read_text(), re.MULTILINE)
        if named:
            return named[1].strip()
    return platform.processor() or None


def _git(root: Path, *arguments: str) -> bytes:
    # A hook or an editor may have pointed git elsewhere; a look must take no lock either.
    environment = {k: v for k, v in os.environ.items() if not k.startswith("GIT_")}
    return subprocess.run(
        ["git", "-C", str(root), *arguments],
        check=True,
        capture_output=True,
        env=environment | {"GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C"},
    ).stdout


def _changes(root: Path) -> str:
    total = hashlib.sha256(_git(root, "diff", "--binary", "--no-ext-diff", "HEAD"))
    untracked = _git(root, "ls-files", "--others", "--exclude-standard", "-z").split(b"\0")
    for name in sorted(filter(None, untracked)):
        file = root / os.fsdecode(name)
        content = file.read_bytes() if file.is_file() else b""
        total.update(b"\0" + name + b"\0" + hashlib.sha256(content).digest())
    return total.hexdigest()


def _first_line(text: bytes) -> str:
    return text.decode(errors="replace").strip().partition("\n")[0].removeprefix("fatal: ")
