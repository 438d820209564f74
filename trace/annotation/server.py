"""Label Studio on this machine: started on the loopback interface, found again, ended."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import NoReturn

import httpx2
import psutil
from filelock import FileLock, Timeout

from trace import config
from trace.annotation import process
from trace.annotation.folder import (
    CREDENTIALS,
    Credentials,
    credentials,
    default_folder,
    own,
    prepare,
    read_json,
)
from trace.errors import BusyError, TraceError
from trace.tracking.files import write_json
from trace.tracking.progress import EVERY_SECONDS

START_WITHIN = 600.0
"""Seconds. The first start builds the database, which takes about a minute on two idle cores."""

_ADDRESS, _LOCK = "server.json", ".lock"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that runs on this machine. `since` is when its process began, in epoch seconds."""

    url: str
    pid: int
    since: float
    folder: Path

    @property
    def credentials(self) -> Credentials:
        """What it is opened with."""
        return credentials(self.folder)

    def runs(self) -> bool:
        """Whether its process still exists, and is not another one of the same number."""
        try:
            there = psutil.Process(self.pid)
            if there.status() == psutil.STATUS_ZOMBIE:
                return False
            return bool(abs(there.create_time() - self.since) < 5)  # clocks are set
        except (psutil.Error, ValueError):
            return False


def serve(settings: config.Annotate) -> None:
    """Runs Label Studio until it is told to end, which is how it is meant to end.

    Ctrl-C and SIGTERM end it, and so does the terminal when it closes; before it is up they
    interrupt the command.

    Raises:
        BusyError: it is served already.
        ConfigError: it is not installed, the port is taken, or the folder cannot be used.
        TraceError: it does not come up, or ends by itself.
    """
    folder = default_folder() if settings.data_dir is None else Path(settings.data_dir)
    with _heeding_hangup(), running(folder, settings.port) as server:
        try:
            print(
                f"Label Studio: {server.url}\n"
                f"e-mail and password: {server.folder / CREDENTIALS}\n"
                "It can be reached from this machine alone. Ctrl-C ends it; all work is kept.",
                flush=True,
            )
            while server.runs():
                time.sleep(0.5)
        except KeyboardInterrupt:
            print("stopped. Everything that was submitted is kept.", flush=True)
            return
        raise TraceError(process.failure(server.folder, "ended by itself"))


@contextmanager
def running(folder: Path, port: int) -> Iterator[Server]:
    """Starts Label Studio on 127.0.0.1, waits until it answers, and ends it after the block.

    Args:
        folder: where it keeps everything: the database, its log, the credentials. Made if needed,
            for its owner alone.
        port: where it listens.

    Raises:
        BusyError, ConfigError, TraceError: as for `serve`.
    """
    process.check_installed()
    folder = own(folder)
    with _locked(folder):
        prepare(folder)
        if (orphan := find(folder)) is not None:
            raise BusyError(
                f"{folder}: a Label Studio that was left behind still serves it at {orphan.url}. "
                f"End it with: kill {orphan.pid}. Then type the same command again."
            )
        process.check_port(port)
        with process.child(folder, port) as child:
            since = psutil.Process(child.pid).create_time()
            server = Server(f"http://{process.HOST}:{port}", child.pid, since, folder)
            address = {"pid": server.pid, "since": server.since, "url": server.url}
            write_json(folder / _ADDRESS, address)
            try:
                _wait(child, server, port)
                yield server
            finally:
                (folder / _ADDRESS).unlink(missing_ok=True)


def find(folder: Path) -> Server | None:
    """The server that runs, or starts, on a folder; None where an old file says so wrongly."""
    match read_json(folder / _ADDRESS):
        case {"pid": int(pid), "since": float(since), "url": str(url)}:
            server = Server(url, pid, since, folder)
            return server if server.runs() else None
    return None


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    lock = FileLock(folder / _LOCK, timeout=0)
    try:
        lock.acquire()
    except Timeout:
        there = find(folder)
        where = f" at {there.url}" if there else ""
        raise BusyError(
            f"{folder}: is served already{where}. Use that one, or give another folder: "
            "annotate.data_dir=FOLDER."
        ) from None
    try:
        yield
    finally:
        lock.release()


def _wait(child: subprocess.Popen[bytes], server: Server, port: int) -> None:
    began = said = time.monotonic()
    with httpx2.Client(trust_env=False, timeout=5) as http:
        while child.poll() is None and (now := time.monotonic()) - began < START_WITHIN:
            with suppress(psutil.Error, httpx2.TransportError):
                open_ = psutil.Process(child.pid).net_connections("tcp")
                places = {tuple(c.laddr) for c in open_ if c.status == psutil.CONN_LISTEN}
                if places and (process.HOST, port) not in places:  # it evades a port in use
                    raise process.taken(port)
                if places and http.get(f"{server.url}/health").status_code == 200:
                    return
            if now - said >= EVERY_SECONDS:
                said = now
                print(
                    f"Label Studio is starting: {now - began:.0f} s. The first start takes a "
                    "minute or two.",
                    file=sys.stderr,
                    flush=True,
                )
            time.sleep(0.25)
    late = child.poll() is None
    how = f"did not come up within {START_WITHIN:.0f} seconds" if late else "ended while it started"
    raise TraceError(process.failure(server.folder, how))


@contextmanager
def _heeding_hangup() -> Iterator[None]:
    """A terminal that closes interrupts us, so that no server is left behind (but: nohup)."""

    def interrupt(number: int, frame: FrameType | None) -> NoReturn:
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGHUP) is not signal.SIG_DFL:
        yield
        return
    signal.signal(signal.SIGHUP, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)
