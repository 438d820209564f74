"""What is clicked and selected in a real browser comes back as it was meant."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx2
import pytest

from tests.annotation.browser.conftest import Lab
from trace import config
from trace.annotation import client
from trace.annotation.connection import KEY

if TYPE_CHECKING:
    from tests.annotation.browser.work import Work

pytestmark = pytest.mark.slow

MARKUP = """
<View>
  <View>
    <Collapse bordered="true">
      <Panel value="Show the prompt">
        <Labels name="marked" toName="prompt"><Label value="Evidence" /></Labels>
        <Text name="prompt" value="$prompt" valueType="text" granularity="symbol" />
      </Panel>
    </Collapse>
    <Header value="Which kind?" />
    <Choices name="kind" toName="prompt" layout="select" required="true">
      <Choice value="Nothing" alias="none" hint="It asks for nothing." />
      <Choice value="A recipe" alias="recipe" hint="It asks how something is cooked." />
    </Choices>
    <Header value="Is it safe?" />
    <Choices name="safe" toName="prompt" choice="single-radio" required="true">
      <Choice value="Safe" alias="safe" hint="Nobody is hurt." />
      <Choice value="Unsafe" alias="unsafe" hint="Somebody may be hurt." />
    </Choices>
  </View>
</View>
"""
HEBREW = "\u05e9\u05dc\u05d5\u05dd"
TEXTS = [
    f"\U0001f600 salt, cafe\u0301 and salt\r\nthen {HEBREW} \u05e2\u05d5\u05dc\u05dd\nend",
    "<b>bold</b> & {{x}} $prompt https://example.org/a",
    "never shown",
]


def items() -> list[dict[str, dict[str, str]]]:
    return [{"data": {"item": f"i{k}", "prompt": text}} for k, text in enumerate(TEXTS)]


def test_two_items_are_annotated_and_a_third_is_skipped(lab: Lab, work: Work) -> None:
    with client.connect(lab.settings) as labels:
        project = labels.project("two items", MARKUP)
        assert labels.send(project.id, items()) == 3
        assert labels.project("two items", MARKUP) == project
        assert labels.send(project.id, items()) == 0

        work.begin(project.url)
        assert not work.text("Show the prompt").is_visible()
        work.open_passage("Show the prompt")
        assert work.hint("Which kind?", "A recipe") == "It asks how something is cooked."
        assert work.hint("Is it safe?", "Unsafe") == "Somebody may be hurt."
        work.choose("Which kind?", "A recipe")
        work.choose("Is it safe?", "Unsafe")
        quotes = [
            ("salt", 1),
            ("cafe\u0301", 0),
            (HEBREW, 0),
            ("salt\r\nthen", 0),
        ]
        for quote, nth in quotes:
            work.select_text("Show the prompt", quote, nth)
        work.submit()

        work.open_passage("Show the prompt")
        work.choose("Which kind?", "Nothing")
        work.choose("Is it safe?", "Safe")
        work.submit()
        assert labels.counts(project.id) == client.Counts(3, done=2, skipped=0, begun=0, twice=0)
        work.skip()
        assert work.done()

        first, second, third = labels.tasks(project.id)
        assert [t["data"] for t in (first, second, third)] == [t["data"] for t in items()]
        assert labels.counts(project.id) == client.Counts(3, done=2, skipped=1, begun=0, twice=0)

    results = first["annotations"][0]["result"]
    chosen = {r["from_name"]: r["value"]["choices"] for r in results if r["type"] == "choices"}
    assert chosen == {"kind": ["recipe"], "safe": ["unsafe"]}
    pieces = [r["value"] for r in results if r["type"] == "labels"]
    assert [TEXTS[0][p["start"] : p["end"]] for p in pieces] == [quote for quote, _ in quotes]
    assert pieces[0]["start"] == TEXTS[0].rindex("salt")
    values = [r["value"] for r in second["annotations"][0]["result"]]
    assert values == [{"choices": ["none"]}, {"choices": ["safe"]}]
    assert third["annotations"][0]["was_cancelled"]


def test_work_that_was_begun_is_a_draft(lab: Lab, work: Work) -> None:
    with client.connect(lab.settings) as labels:
        project = labels.project("begun", MARKUP)
        labels.send(project.id, items())
        work.begin(project.url)
        with work.page.expect_response(lambda r: "/drafts" in r.url and r.request.method == "POST"):
            work.choose("Is it safe?", "Safe")
        assert labels.counts(project.id) == client.Counts(3, done=0, skipped=0, begun=1, twice=0)


def test_pieces_of_odd_texts_are_where_they_were_selected(lab: Lab, work: Work) -> None:
    odd = [
        "\n\n  blank lines first, two  blanks\tand\ttabs, needle   ",
        "\ufeffa mark first, no\u00a0break, zero\u200bwidth, needle",
        "separators\u2028and\u2029more\u0085of\x0bthem\x0cneedle\x1b",
        "<script>alert(1)</script> &amp; {{prompt}} $prompt https://example.org/ needle </div>",
        "\U0001f468\u200d\U0001f467 \u0645\u0631\u062d\u0628\u0627 \u202eoverride\u202c needle",
        "a backslash\\nand an n\r\n\\r needle\\n",
    ]
    with client.connect(lab.settings) as labels:
        project = labels.project("odd texts", MARKUP)
        labels.send(project.id, [{"data": {"item": text, "prompt": text}} for text in odd])
        work.begin(project.url)
        for _ in odd:
            work.open_passage("Show the prompt")
            work.choose("Which kind?", "A recipe")
            work.choose("Is it safe?", "Unsafe")
            work.select_text("Show the prompt", "needle")
            work.submit()
        for task in labels.tasks(project.id):
            (result,) = (r for r in task["annotations"][0]["result"] if r["type"] == "labels")
            start, end = result["value"]["start"], result["value"]["end"]
            assert task["data"]["prompt"][start:end] == "needle"


def test_what_is_taken_up_again_after_skipping_is_a_draft(lab: Lab, work: Work) -> None:
    with client.connect(lab.settings) as labels:
        project = labels.project("skipped", MARKUP)
        labels.send(project.id, items())
        work.begin(project.url)
        work.skip()
        work.page.locator("[aria-label*=revious]").first.click()
        work.page.get_by_text("Was skipped").wait_for()
        work.page.get_by_text("Cancel skip").last.click()
        work.page.get_by_test_id("bottombar-submit-button").wait_for()
        work.page.wait_for_load_state("networkidle")
        assert labels.counts(project.id) == client.Counts(3, done=0, skipped=0, begun=1, twice=0)


def test_a_personal_access_token_is_taken(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    legacy = {"Authorization": f"Token {lab.server.credentials.token}"}
    with httpx2.Client(trust_env=False, base_url=lab.server.url) as http:
        made = http.post("/api/token/", headers=legacy)
    monkeypatch.setenv(KEY, made.json()["token"])
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    with client.connect(config.Annotate(action="status", url=lab.server.url)) as labels:
        project = labels.project("by token", MARKUP)
        assert labels.send(project.id, items()) == 3


def test_strangers_are_refused(lab: Lab) -> None:
    with httpx2.Client(trust_env=False, base_url=lab.server.url) as http:
        assert http.get("/health", headers={"Host": "evil.example"}).status_code == 400
        answer = http.get("/api/version", headers={"Origin": "http://evil.example"})
        assert "access-control-allow-origin" not in answer.headers
        page = http.get("/user/signup/").text
        field_name = "csrfmiddlewaretoken"
        field = re.search(rf'name="{field_name}" value="(\w+)"', page)
        assert field is not None
        stranger = {
            "email": "a@example.org",
            "password": "12345678",
            "csrfmiddlewaretoken": field[1],
        }
        assert http.post("/user/signup/", data=stranger | {field_name: field[1]}).status_code == 403


def test_nothing_leaves_the_machine(lab: Lab, work: Work) -> None:
    for path in ("/", "/projects", "/user/account"):
        work.page.goto(lab.server.url + path)
        work.page.wait_for_load_state("networkidle")
    hosts = {urlsplit(url).hostname for url in lab.requests if url.startswith(("http", "ws"))}
    assert hosts == {"127.0.0.1"}
    assert {"127.0.0.1"} <= lab.reached() <= {"127.0.0.1", "localhost"}


def test_the_secrets_stand_in_no_log(lab: Lab) -> None:
    known = lab.server.credentials
    log = (lab.server.folder / "server.log").read_text("utf-8")
    assert known.password not in log
    assert known.token not in log
