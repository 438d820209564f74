"""The server is started for its owner alone, found again, and ended with all it started."""

from __future__ import annotations

import json
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from tests.conftest import ROOT, hear_interrupts
from trace import config
from trace.annotation import client, folder, process, server
from trace.errors import BusyError, ConfigError, DataError, TraceError

FAKE = Path(__file__).with_name("fake_label_studio.py")


@pytest.fixture(autouse=True)
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program in the place of Label Studio."""
    program = tmp_path / "label-studio"
    program.write_text(
        f"#!{sys.executable}\nimport runpy\nrunpy.run_path({str(FAKE)!r}, run_name='__main__')\n"
    )
    program.chmod(0o755)
    monkeypatch.setattr(process, "PROGRAM", program)


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "data"


def behave(place: Path, wishes: str) -> None:
    place.mkdir(exist_ok=True)
    (place / ".behave").write_text(wishes)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def gone(pid: int) -> bool:
    for _ in range(100):
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_it_runs_and_is_found_and_ends(place: Path) -> None:
    port = free_port()
    with server.running(place, port) as running:
        assert running.url == f"http://127.0.0.1:{port}"
        assert server.find(place) == running
        assert running.runs()
        here = psutil.Process(running.pid).net_connections("tcp")
        assert {tuple(c.laddr) for c in here} == {("127.0.0.1", port)}
    assert server.find(place) is None
    assert not running.runs()
    assert not (place / "server.json").exists()


def test_the_folder_is_for_its_owner_alone(place: Path) -> None:
    place.mkdir(mode=0o755)
    before = os.umask(0)
    try:
        with server.running(place, free_port()):
            pass
    finally:
        os.umask(before)
    assert mode(place) == 0o700
    assert mode(place / "credentials.json") == 0o600
    assert mode(place / "started.json") & 0o077 == 0


def test_the_credentials_are_made_once_and_stand_nowhere_else(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    for attempt in range(2):
        with server.running(place, free_port()) as running:
            known = running.credentials
            command = " ".join(psutil.Process(running.pid).cmdline())
            started = json.loads((place / "started.json").read_text())
            if not attempt:
                first = known
    assert known == first
    assert len(known.password) >= 20
    assert len(known.token) == 40
    assert known.password not in repr(known)
    assert known.token not in repr(known)
    assert started["environ"]["LABEL_STUDIO_PASSWORD"] == known.password
    assert started["environ"]["LABEL_STUDIO_USER_TOKEN"] == known.token
    printed = "".join(capfd.readouterr())
    (place / "started.json").unlink()
    others = [
        path for path in place.rglob("*") if path.is_file() and path.name != "credentials.json"
    ]
    texts = [command, printed, *(path.read_text() for path in others)]
    assert not any(secret in text for text in texts for secret in (known.password, known.token))
    with server.running(place.with_name("another"), free_port()) as another:
        assert another.credentials.password != known.password
        assert another.credentials.token != known.token


def test_the_child_gets_nothing_of_ours(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "DEBUG", "DATABASE_NAME", "DJANGO_DB", "PYTHONPATH", "HOST"):
        monkeypatch.setenv(name, "planted")
    monkeypatch.setenv("HTTPS_PROXY", "http://planted:1")
    with server.running(place, free_port()):
        started = json.loads((place / "started.json").read_text())
    assert not [name for name, value in started["environ"].items() if "planted" in value]
    said = started["environ"]
    assert (said["SENTRY_DSN"], said["FRONTEND_SENTRY_DSN"]) == ("", "")
    assert said["LABEL_STUDIO_COLLECT_ANALYTICS"] == "false"
    assert said["LABEL_STUDIO_LATEST_VERSION_CHECK"] == "false"
    assert said["https_proxy"] == "http://127.0.0.1:9"
    assert "127.0.0.1" in said["no_proxy"]
    assert started["argv"][1:6] == [
        "start", "--no-browser", "--internal-host", "127.0.0.1", "--port",
    ]  # fmt: skip


def test_everything_it_started_ends_with_it(place: Path) -> None:
    behave(place, "child")
    with server.running(place, free_port()):
        child = int((place / "child").read_text())
        assert psutil.pid_exists(child)
    assert gone(child)


@pytest.mark.parametrize("interface", ["127.0.0.1", "0.0.0.0"])
def test_a_port_in_use(place: Path, interface: str) -> None:
    with socket.create_server((interface, 0)) as taken:
        port = taken.getsockname()[1]
        with (
            pytest.raises(ConfigError, match=rf"annotate\.port={port}: .*Type") as caught,
            server.running(place, port),
        ):
            pass
    instead = int(str(caught.value).rpartition("annotate.port=")[2].split(",")[0])
    assert instead != port
    with server.running(place, instead):
        pass


def test_it_does_not_move_to_another_port_unseen(place: Path) -> None:
    behave(place, "evade")
    with (
        pytest.raises(ConfigError, match="another program listens"),
        server.running(place, free_port()),
    ):
        pass


def test_a_port_is_free_at_once_after_an_end(place: Path) -> None:
    port = free_port()
    for _ in range(2):
        with server.running(place, port) as running:
            with socket.create_connection(("127.0.0.1", port)) as held:
                held.sendall(b"GET /health HTTP/1.0\r\n\r\n")
                held.recv(100)
            assert running.runs()


def test_a_second_one_on_the_same_folder(place: Path) -> None:
    with (
        server.running(place, free_port()) as running,
        pytest.raises(BusyError, match=f"is served already at {running.url}"),
        server.running(place, free_port()),
    ):
        pass


def test_one_that_was_left_behind(place: Path) -> None:
    with server.running(place, free_port()) as running:
        left = (place / "server.json").read_text()
        other = place.with_name("other")
        other.mkdir()
        (other / "server.json").write_text(left)
        (other / "credentials.json").write_text((place / "credentials.json").read_text())
        with (
            pytest.raises(BusyError, match=f"End it with: kill {running.pid}"),
            server.running(other, free_port()),
        ):
            pass


@pytest.mark.parametrize(
    "line",
    [
        {"pid": 2**22 + 7, "since": 1.0, "url": "http://127.0.0.1:1"},
        {"pid": os.getpid(), "since": 1.0, "url": "http://127.0.0.1:1"},  # its number lives on
        {"pid": -1, "since": 1.0, "url": "http://127.0.0.1:1"},
        {"pid": "1", "since": 1.0, "url": "http://127.0.0.1:1"},
        [],
        None,
    ],
)
def test_an_old_address_is_not_believed(place: Path, line: object) -> None:
    place.mkdir()
    text = '{"pid": 1, ' if line is None else json.dumps(line)
    (place / "server.json").write_text(text)
    assert server.find(place) is None
    settings = config.Annotate(action="status", data_dir=str(place))
    with pytest.raises(ConfigError, match="Start it in another terminal"), client.connect(settings):
        pass


def test_one_that_dies_at_the_start_shows_its_log(place: Path) -> None:
    behave(place, "die")
    with (
        pytest.raises(TraceError, match="ended while it started") as caught,
        server.running(place, free_port()),
    ):
        pass
    assert "the database is locked by [redacted]" in str(caught.value)
    assert folder.credentials(place).password not in str(caught.value)
    assert not (place / "server.json").exists()


def test_one_that_does_not_come_up(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "START_WITHIN", 0.0)
    with (
        pytest.raises(TraceError, match="did not come up within 0 seconds"),
        server.running(place, free_port()),
    ):
        pass


def test_one_that_ends_by_itself(place: Path) -> None:
    behave(place, "short")
    settings = config.Annotate(action="serve", data_dir=str(place), port=free_port())
    with pytest.raises(TraceError, match=r"ended by itself(.|\n)*out of memory"):
        server.serve(settings)


def test_it_is_not_installed(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "PROGRAM", place / "none")
    with pytest.raises(ConfigError, match="make annotate-env"), server.running(place, free_port()):
        pass
    assert not place.exists()


def test_a_folder_of_other_things(place: Path) -> None:
    place.mkdir(mode=0o755)
    (place / "thesis.tex").write_text("")
    with pytest.raises(ConfigError, match="holds other things"), server.running(place, 1):
        pass
    assert mode(place) == 0o755


def test_a_file_in_its_place(place: Path) -> None:
    place.write_text("")
    with (
        pytest.raises(ConfigError, match=r"annotate\.data_dir.*cannot be used"),
        server.running(place, 1),
    ):
        pass


@pytest.mark.parametrize("text", ["", "{", '{"email": "x", "password": "y"}', "[]", "3"])
def test_broken_credentials(place: Path, text: str) -> None:
    with server.running(place, free_port()):
        pass
    (place / "credentials.json").write_text(text)
    with (
        pytest.raises(DataError, match=r"credentials\.json: does not hold"),
        server.running(place, free_port()),
    ):
        pass


def test_lost_credentials(place: Path) -> None:
    with server.running(place, free_port()):
        pass
    (place / "credentials.json").unlink()
    with pytest.raises(ConfigError, match=r"no credentials\.json"), server.running(place, 1):
        pass


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_it_is_ended_on_purpose(place: Path, number: signal.Signals) -> None:
    code = (
        "import signal, sys; from pathlib import Path; from trace import config, run;"
        "from trace.annotation import process, server;"
        "process.PROGRAM = Path(sys.argv[1]);"
        "run.main = lambda _: server.serve(config.Annotate(action='serve', data_dir=sys.argv[2],"
        " port=int(sys.argv[3]))) or 0; run.cli()"
    )
    served = subprocess.Popen(
        [sys.executable, "-c", code, str(process.PROGRAM), str(place), str(free_port())],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, cwd=ROOT,
        preexec_fn=hear,
    )  # fmt: skip
    assert served.stdout is not None
    assert served.stdout.readline().startswith("Label Studio: http://127.0.0.1:")
    assert "credentials.json" in served.stdout.readline()
    found = server.find(place)
    assert found is not None
    served.send_signal(number)
    rest, _ = served.communicate(timeout=30)
    assert "stopped" in rest
    assert served.returncode == 0
    assert gone(found.pid)


def hear() -> None:
    """As in a terminal of its own, whatever the suite was started with."""
    hear_interrupts()
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
