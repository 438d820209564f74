"""The folder of the local Label Studio: for its owner alone, with the credentials inside."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path

import platformdirs

from trace.errors import ConfigError, DataError
from trace.records import Json
from trace.tracking.files import TEMPORARY

CREDENTIALS = "credentials.json"
DATABASE = "label_studio.sqlite3"


@dataclass(frozen=True, slots=True)
class Credentials:
    """Of the one local account. Nothing of it but the e-mail is ever shown."""

    email: str
    password: str = field(repr=False)
    token: str = field(repr=False)


def default_folder() -> Path:
    """Beside the user's other data and not in a cache: people's work lies here."""
    return platformdirs.user_data_path("trace-lab") / "label-studio"


def own(folder: Path) -> Path:
    """Makes the folder if needed and closes it to others; gives its absolute path.

    Raises:
        ConfigError: it is somebody else's, holds other things, or cannot be written.
    """
    folder = folder.expanduser().absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        present = {entry.name for entry in folder.iterdir()}
        if DATABASE in present and CREDENTIALS not in present:
            raise ConfigError(
                f"annotate.data_dir: {folder} has a database and no {CREDENTIALS}, so its password "
                "is unknown. Put that file back, or give another folder."
            )
        if CREDENTIALS not in present and any(not name.startswith(".") for name in present):
            raise ConfigError(
                f"annotate.data_dir: {folder} holds other things. Give a folder that is empty or "
                "does not exist yet."
            )
        folder.chmod(0o700)
    except OSError as error:
        raise ConfigError(
            f"annotate.data_dir: {folder} cannot be used ({error.strerror}). Give a folder of "
            "your own."
        ) from None
    return folder


def prepare(folder: Path) -> None:
    """Puts credentials into a new folder, and closes those of an old one to others.

    Raises:
        DataError: as for `credentials`.
    """
    if (folder / CREDENTIALS).exists():
        credentials(folder)
        (folder / CREDENTIALS).chmod(0o600)
    else:
        _write(folder / CREDENTIALS, _made())


def credentials(folder: Path) -> Credentials:
    """Reads the credentials.

    Raises:
        DataError: the file is broken.
    """
    line = read_json(folder / CREDENTIALS)
    names = {f.name for f in fields(Credentials)}
    if isinstance(line, Mapping) and line.keys() == names:
        return Credentials(**line)
    raise DataError(
        f"{folder / CREDENTIALS}: does not hold an e-mail, a password and a token. Put the file "
        "back as it was; annotate.data_dir=FOLDER begins anew in another folder."
    )


def read_json(path: Path) -> Json:
    """A small file; None where it is absent or broken."""
    try:
        return json.loads(path.read_bytes())
    except (OSError, ValueError):
        return None


def _made() -> Credentials:
    return Credentials(
        email="lab@localhost.localdomain",
        password=secrets.token_urlsafe(18),
        token=secrets.token_hex(20),  # Label Studio's column has 40 characters
    )


def _write(path: Path, known: Credentials) -> None:
    """Never readable by others, not for a moment, and whole or absent."""
    temporary = path.with_name(f"{TEMPORARY}{secrets.token_hex(4)}-{path.name}")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        json.dump(asdict(known), file, indent=2)
        file.write("\n")
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
