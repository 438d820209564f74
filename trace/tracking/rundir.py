"""The directory of a run: one for every configuration, one process at a time."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from filelock import FileLock, Timeout

from trace.errors import BusyError, ConfigError
from trace.records import Json, digest
from trace.tracking.files import TEMPORARY, safe_name

LOCK = ".lock"


@dataclass(frozen=True, slots=True)
class RunDir:
    """Where a run writes. `digest` is the sha256 of all that can change its result."""

    path: Path
    digest: str


def run_path(
    output_dir: str | Path, parts: tuple[str, ...], stem: str | None, hashed: Json
) -> Path:
    """`<output_dir>/<parts…>/<stem>-<hash8>`, every name sanitised; the hash alone without stem."""
    folders = [safe_name(part) for part in parts]
    begin = "" if stem is None else f"{safe_name(stem, 119)}-"
    return Path(output_dir, *folders, begin + digest(hashed)[:8])


@contextmanager
def open_run(
    output_dir: str | Path, parts: tuple[str, ...], stem: str | None, hashed: Json
) -> Iterator[RunDir]:
    """Makes the run directory if needed and holds it for this process.

    The operating system lets go of the lock when the process ends, however it ends. What a killed
    process left unfinished is removed.

    Args:
        output_dir: the folder that holds everything a run writes.
        parts: the folders between, such as `("runs", "tracesafe", "smollm2", "plain")`.
        stem: the beginning of the last name, such as `"schema"`; None for the hash alone.
        hashed: JSON of all that can change the result.

    Raises:
        BusyError: another process holds the directory.
        ConfigError: the directory cannot be made or written.
    """
    path = run_path(output_dir, parts, stem, hashed)
    lock = FileLock(path / LOCK, timeout=0)
    try:
        path.mkdir(parents=True, exist_ok=True)
        lock.acquire()
    except Timeout:
        raise BusyError(
            f"{path}: another process works in this run directory. "
            "Wait until it ends or stop it, then type the same command again."
        ) from None
    except OSError as error:
        raise _unwritable(path, error) from None
    try:
        for unfinished in path.rglob(f"{TEMPORARY}*"):
            unfinished.unlink()
        _refuse_another(path, digest(hashed))
        yield RunDir(path, digest(hashed))
    finally:
        if not any(entry.name != LOCK for entry in path.iterdir()):  # it came to nothing
            (path / LOCK).unlink(missing_ok=True)
            path.rmdir()
        lock.release()


def _refuse_another(path: Path, whole: str) -> None:
    """Eight digits name a directory; the manifest has them all."""
    manifest = path / "manifest.json"
    if manifest.is_file() and json.loads(manifest.read_bytes()).get("run", whole) != whole:
        raise ConfigError(
            f"{path}: holds another run whose hash begins alike. Give another output_dir=FOLDER."
        )


def check_writable(output_dir: str | Path) -> None:
    """Finds out, leaving nothing behind, whether the output folder can be made and written.

    Raises:
        ConfigError: it cannot.
    """
    folder = Path(output_dir).absolute()
    try:
        existing = next(place for place in (folder, *folder.parents) if place.exists())
        with tempfile.TemporaryFile(dir=existing):
            pass
    except OSError as error:
        raise _unwritable(folder, error) from None


def _unwritable(path: Path, error: OSError) -> ConfigError:
    return ConfigError(
        f"output_dir: {path} cannot be written ({error.strerror or error}). "
        "Give a folder that can: output_dir=FOLDER."
    )
