"""A Label Studio of the tests' own, and an annotator who is logged in to it."""

from __future__ import annotations

import os
import shutil
import socket
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from trace import config
from trace.annotation import process, server
from trace.annotation.folder import Credentials

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

    from tests.annotation.browser.work import Work

NAMES = ("chromium", "chromium-browser", "google-chrome")
PATIENCE = 60_000
"""Milliseconds; other work may keep the machine busy."""

# Python's own audit events: https://docs.python.org/3/library/audit_events.html
_WATCH = """
import os, sys
def note(event, arguments):
    if event == "socket.getaddrinfo":
        place = arguments[0]
    elif event == "socket.connect":
        place = arguments[1][0] if isinstance(arguments[1], tuple) else "unix"
    else:
        return
    with open(os.environ["WATCHED"], "a") as file:
        file.write(f"{event} {place!r}\\n")
sys.addaudithook(note)
"""


@dataclass
class Lab:
    """A running server, and what left the machine or tried to."""

    server: server.Server
    settings: config.Annotate
    watched: Path
    requests: list[str] = field(default_factory=list)
    """Every address that a page asked for."""

    def reached(self) -> set[str]:
        """Every host that the server asked for or looked up."""
        lines = self.watched.read_text("utf-8").splitlines() if self.watched.exists() else []
        return {line.split(" ", 1)[1].strip("'b") for line in lines}


@pytest.fixture(scope="session")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Lab]:
    if not process.PROGRAM.is_file():
        pytest.skip("there is no Label Studio here: make annotate-env")
    base = tmp_path_factory.mktemp("label-studio")
    (base / "watch").mkdir()
    (base / "watch" / "sitecustomize.py").write_text(_WATCH, "utf-8")
    watched = base / "watched.txt"
    extra = {"PYTHONPATH": str(base / "watch"), "WATCHED": str(watched)}
    plain = process.environment

    def environment(folder: Path, known: Credentials) -> Mapping[str, str]:
        return plain(folder, known) | extra

    with socket.socket() as free:
        free.bind((process.HOST, 0))
        port = free.getsockname()[1]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(process, "environment", environment)
        with server.running(base / "data", port) as running:
            settings = config.Annotate(action="status", data_dir=str(base / "data"))
            yield Lab(running, settings, watched)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    driver = pytest.importorskip("playwright.sync_api", reason="Playwright: make test-annotate")
    chromium = next(filter(None, map(shutil.which, NAMES)), None)
    if chromium is None:
        pytest.skip("there is no Chromium here: apt-get install chromium")
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []  # Chromium's sandbox refuses root
    driver.expect.set_options(timeout=PATIENCE)
    with driver.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=chromium, args=arguments)
        yield opened
        opened.close()


@pytest.fixture
def page(browser: Browser, lab: Lab) -> Iterator[Page]:
    """A page of 1300 × 1100 pixels, logged in. What it asks for is noted in `lab.requests`."""
    context = browser.new_context(viewport={"width": 1300, "height": 1100})
    context.set_default_timeout(PATIENCE)
    context.on("request", lambda request: lab.requests.append(request.url))
    made = context.new_page()
    made.goto(f"{lab.server.url}/user/login/")
    known = lab.server.credentials
    made.fill("input[name=email]", known.email)
    made.fill("input[name=password]", known.password)
    made.click("button[type=submit]")
    made.wait_for_url(lambda url: "/login" not in url)
    yield made
    context.close()


@pytest.fixture
def work(page: Page) -> Work:
    from tests.annotation.browser.work import Work

    return Work(page)
