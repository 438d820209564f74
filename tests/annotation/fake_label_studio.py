"""Stands in for Label Studio's command: notes how it was started, and answers /health.

What it does besides is told by a file `behave` in its data folder: a word for each wish.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass

    def do_GET(self) -> None:
        status = 200 if self.path == "/health" else 404
        self.send_response(status)
        self.end_headers()


def main() -> None:
    folder = Path(sys.argv[sys.argv.index("--data-dir") + 1])
    port = int(sys.argv[sys.argv.index("--port") + 1])
    wishes = (folder / ".behave").read_text().split() if (folder / ".behave").exists() else []
    started = {"argv": sys.argv, "environ": dict(os.environ), "cwd": os.getcwd()}
    (folder / "label_studio.sqlite3").write_text("")
    (folder / "started.json").write_text(json.dumps(started))
    if "die" in wishes:
        print("a line before\nthe database is locked by", os.environ["LABEL_STUDIO_PASSWORD"])
        sys.exit(3)
    if "child" in wishes:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
        (folder / "child").write_text(str(child.pid))
    server = HTTPServer(("127.0.0.1", 0 if "evade" in wishes else port), Handler)
    if "short" in wishes:
        server.timeout = 5
        server.handle_request()
        print("out of memory")
        sys.exit(1)
    server.serve_forever()


if __name__ == "__main__":
    main()
