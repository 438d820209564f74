from __future__ import annotations

import json
import re
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest


@dataclass
class WandbServer:
    """As much of a W&B server as a run without artifacts needs. It remembers what it was sent.

    `runs` counts the history lines of each run by its id; a known run can be resumed.
    """

    url: str = ""
    sent: list[tuple[str, str]] = field(default_factory=list)
    runs: dict[str, int] = field(default_factory=dict)
    upserts: list[dict[str, Any]] = field(default_factory=list)
    history: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    summaries: dict[str, dict[str, Any]] = field(default_factory=dict)

    def graphql(self, query: str, variables: dict[str, Any]) -> dict[str, Any]:
        named = re.search(r"(?:query|mutation)\s+(\w+)", query)
        name = named[1] if named else ""
        run = str(variables.get("name"))
        project = {"id": "cA==", "name": "p", "entity": {"id": "ZQ==", "name": "me"}}
        if name == "UpsertBucket":
            self.upserts.append(variables)
            new = run not in self.runs
            self.runs.setdefault(run, 0)
            bucket = {"id": "cg==", "name": run, "displayName": variables.get("displayName"),
                      "description": "", "config": "{}", "sweepName": None,
                      "historyLineCount": self.runs[run], "project": project}  # fmt: skip
            return {"upsertBucket": {"bucket": bucket, "inserted": new}}
        if name == "RunResumeStatus":
            lines = self.runs.get(run)
            bucket = None if lines is None else {
                "id": "cg==", "name": run, "displayName": run,
                "summaryMetrics": json.dumps(self.summaries.get(run, {})),
                "logLineCount": 0, "historyLineCount": lines, "eventsLineCount": 0,
                "historyTail": json.dumps([json.dumps({"_step": lines - 1, "_runtime": 1})]),
                "eventsTail": "[]", "config": "{}", "tags": [], "notes": "",
                "wandbConfig": '{"t": {}}',
            }  # fmt: skip
            return {"model": {**project, "bucket": bucket}}
        if name == "CreateRunFiles":
            files = [{"name": f, "uploadUrl": f"{self.url}/up/{f}"} for f in variables["files"]]
            return {"createRunFiles": {"runID": "cg==", "uploadHeaders": [], "files": files}}
        return {}

    def stream(self, path: str, files: dict[str, Any]) -> None:
        run = path.split("/")[-2]
        if summary := files.get("wandb-summary.json"):
            self.summaries[run] = json.loads(summary["content"][-1])
        if lines := files.get("wandb-history.jsonl"):
            rows = [json.loads(line) for line in lines["content"]]
            kept = self.history.setdefault(run, [])
            kept[lines["offset"] :] = rows  # a file at an offset: what was there is overwritten
            self.runs[run] = len(kept)


@pytest.fixture
def wandb_server() -> Iterator[WandbServer]:
    state = WandbServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            state.sent.append((self.path, body.decode()))
            reply: dict[str, Any] = {}
            if self.path == "/graphql":
                asked = json.loads(body)
                reply = {"data": state.graphql(asked["query"], asked.get("variables") or {})}
            elif self.path.endswith("/file_stream"):
                state.stream(self.path, json.loads(body).get("files") or {})
            data = json.dumps(reply).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        do_PUT = do_POST

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        state.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield state
        server.shutdown()
        thread.join()
