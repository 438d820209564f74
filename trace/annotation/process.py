"""Label Studio's own process: its command, its environment, its port, its log, its end."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from trace.annotation.folder import Credentials, credentials
from trace.errors import ConfigError
from trace.tracking.secrets import REDACTED

HOST = "127.0.0.1"
PROGRAM = Path(__file__).resolve().parents[2] / ".venv-annotate/bin/label-studio"

_LOG = "server.log"
_END_WITHIN = 15.0
_LINES_SHOWN = 15
_NOWHERE = f"http://{HOST}:9"  # the port of the discard protocol
_KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TMPDIR")


def environment(folder: Path, known: Credentials) -> dict[str, str]:
    """All that the server is told by its environment; nothing of ours is handed on.

    Label Studio reads bare names such as DEBUG, HOST or DATABASE_NAME, and every key of a
    provider would be there for it. Its own telemetry is off; what cannot be turned off (tips
    fetched from GitHub) goes to a proxy that does not exist.
    """
    kept = {name: os.environ[name] for name in _KEPT if name in os.environ}
    own_settings = {
        "BASE_DATA_DIR": str(folder),
        "USERNAME": known.email,
        "PASSWORD": known.password,
        "USER_TOKEN": known.token,
        "ENABLE_LEGACY_API_TOKEN": "true",
        "DISABLE_SIGNUP_WITHOUT_LINK": "true",
        "ALLOWED_HOSTS": f"{HOST},localhost",  # another name that leads here is an attack
        "CORS_ALLOW_ALL_ORIGINS": "false",
        "COLLECT_ANALYTICS": "false",
        "LATEST_VERSION_CHECK": "false",
        "SENTRY_DSN": "",
        "FRONTEND_SENTRY_DSN": "",
    }
    return (
        kept
        | {f"LABEL_STUDIO_{name}": value for name, value in own_settings.items()}
        # Read without the prefix in some places.
        | {"SENTRY_DSN": "", "FRONTEND_SENTRY_DSN": "", "LATEST_VERSION_CHECK": "false"}
        | {"HOME": str(folder), "PYTHONUNBUFFERED": "1", "PYTHONUTF8": "1"}
        | dict.fromkeys(("http_proxy", "https_proxy", "all_proxy"), _NOWHERE)
        | {"no_proxy": f"{HOST},localhost"}
    )


def check_installed() -> None:
    """Finds out whether there is a Label Studio.

    Raises:
        ConfigError: there is none.
    """
    if not PROGRAM.is_file():
        raise ConfigError(
            "annotate.action=serve: Label Studio is not installed here. Type: make annotate-env"
        )


@contextmanager
def child(folder: Path, port: int) -> Iterator[subprocess.Popen[bytes]]:
    """Runs Label Studio in a process group of its own, all of which ends with the block."""
    command = [
        str(PROGRAM), "start", "--no-browser", "--internal-host", HOST, "--port", str(port),
        "--data-dir", str(folder), "--enable-legacy-api-token",
    ]  # fmt: skip
    with (folder / _LOG).open("wb") as log:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=folder,
            env=environment(folder, credentials(folder)),
            umask=0o077,
            start_new_session=True,  # Ctrl-C is for us, who end it in order
        )
    try:
        yield process
    finally:
        try:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
            with suppress(subprocess.TimeoutExpired):
                process.wait(_END_WITHIN)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def failure(folder: Path, how: str) -> str:
    """The message about a server that failed, with the end of its log."""
    known = credentials(folder)
    log = (folder / _LOG).read_text("utf-8", errors="replace")
    for secret in (known.password, known.token):
        log = log.replace(secret, REDACTED)
    lines = [line for line in log.splitlines() if line.strip()][-_LINES_SHOWN:]
    shown = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
    return (
        f"Label Studio {how}. The end of {folder / _LOG}:\n{shown}\n"
        "Correct what it names and type the same command again; annotate.data_dir=FOLDER begins "
        "anew in another folder."
    )


def check_port(port: int) -> None:
    """Refuses a port on which somebody listens, on this interface or on all.

    Raises:
        ConfigError: as `taken` makes it.
    """
    with socket.socket() as caller:
        caller.settimeout(5)
        if caller.connect_ex((HOST, port)) == 0:
            raise taken(port)
    with socket.socket() as listener:
        # Connections that a former server closed linger for a minute and are no reason.
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
        except OSError:
            raise taken(port) from None


def taken(port: int) -> ConfigError:
    """The error for a port that cannot be had; it names one that can."""
    with socket.socket() as free:
        free.bind((HOST, 0))
        instead = free.getsockname()[1]
    return ConfigError(
        f"annotate.port={port}: cannot be had, most likely since another program listens there. "
        f"Type annotate.port={instead}, which is free."
    )
