"""Projects are made, filled and read, whatever the server or the network does meanwhile."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.annotation.stub import KEY, PERSONAL, Stub, reached
from trace import config
from trace.annotation import client
from trace.errors import ConfigError, DataError, TraceError

MARKUP = '<View><Text name="t" value="$text" /></View>'


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    with reached(monkeypatch) as made:
        yield made


@pytest.fixture
def lab(stub: Stub) -> Iterator[client.Client]:
    with client.connect(at(stub.url)) as connected:
        yield connected


def at(url: str | None, **given: Any) -> config.Annotate:
    return config.Annotate(action="status", url=url, **given)


def tasks(n: int) -> list[dict[str, Any]]:
    return [{"data": {"item": f"i{k}", "text": f"s3://bucket/{k}\r\n\U0001f600"}} for k in range(n)]


def items(stub: Stub, project: int = 1) -> list[str]:
    return [task["data"]["item"] for task in stub.tasks[project]]


def test_a_project_is_made_once(lab: client.Client, stub: Stub) -> None:
    stub.page = 2
    for title in ("other", "A1 trial two", "A1 trial", "a1 trial"):
        lab.project(title, MARKUP)
    found = lab.project("A1 trial", "\n" + MARKUP)
    assert found == client.Project(3, "A1 trial", f"{stub.url}/projects/3", MARKUP)
    assert len(stub.projects) == 4
    assert lab.find("trial") is None
    assert lab.find("A1 trial") == found


def test_people_may_skip_and_see_nobody_elses_work(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    [first] = stub.projects
    assert first["show_skip_button"]
    assert first["skip_queue"] == "IGNORE_SKIPPED"
    assert first["sampling"] == "Sequential sampling"
    assert not first["show_annotation_history"]


def test_a_project_that_was_edited_is_not_reused(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    stub.projects[0]["label_config"] = MARKUP.replace("$text", "$other")
    with pytest.raises(DataError, match="was edited"):
        lab.project("A1 trial", MARKUP)


def test_two_projects_of_one_title_are_not_guessed_between(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    stub.projects.append(stub.projects[0] | {"id": 2})
    with pytest.raises(DataError, match=r"2 projects are called 'A1 trial' \(1, 2\)"):
        lab.project("A1 trial", MARKUP)


def test_thousands_of_tasks_come_back_as_they_were_sent(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    sent = tasks(2345)
    assert lab.send(1, sent) == 2345
    assert [task["data"] for task in lab.tasks(1)] == [task["data"] for task in sent]
    assert max(stub.uploads) <= client.PAGE
    assert lab.send(1, sent) == 0


@pytest.mark.parametrize("stored", [0, 1, 60, 100])
def test_an_upload_that_broke_off_is_finished_by_repeating_it(
    lab: client.Client, stub: Stub, stored: int
) -> None:
    lab.project("A1 trial", MARKUP)
    stub.stores = lambda upload: stored if upload == 1 else None
    with pytest.raises(TraceError, match="type the same command again"):
        lab.send(1, tasks(250))
    assert len(items(stub)) == 100 + stored
    assert lab.send(1, tasks(250)) == 150 - stored
    assert items(stub) == [f"i{k}" for k in range(250)]


def test_an_upload_is_never_sent_twice_by_itself(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    stub.fault = lambda method, path, attempt: "503" if method == "POST" else ""
    with pytest.raises(TraceError, match="503"):
        lab.send(1, tasks(3))
    assert stub.seen["POST", "/api/projects/1/import"] == 1


def test_other_texts_under_an_items_name_are_refused(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    lab.send(1, tasks(3))
    changed = tasks(3)
    changed[1]["data"]["text"] += " "
    with pytest.raises(DataError, match="item i1 has other texts"):
        lab.send(1, changed)
    with pytest.raises(DataError, match="item i2 is not of this export"):
        lab.send(1, tasks(2))
    stub.tasks[1].append(dict(stub.tasks[1][0]))
    with pytest.raises(DataError, match="item i0 stands twice"):
        lab.send(1, tasks(3))


def test_a_deleted_task_is_sent_again_and_the_others_are_not(
    lab: client.Client, stub: Stub
) -> None:
    lab.project("A1 trial", MARKUP)
    lab.send(1, tasks(3))
    del stub.tasks[1][1]
    assert lab.send(1, tasks(3)) == 1
    assert sorted(items(stub)) == ["i0", "i1", "i2"]


def test_counts(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    lab.send(1, tasks(6))
    early, late = "2026-01-01T00:00:00Z", "2026-01-01T00:00:00.5Z"
    submitted = {"was_cancelled": False, "updated_at": early}
    skipped = submitted | {"was_cancelled": True}
    again = skipped | {"updated_at": late}
    after = submitted | {"updated_at": late}
    for task, given, drafts in zip(
        stub.tasks[1],
        [[submitted], [again, submitted], [skipped], [after, skipped], [], []],
        [[], [], [], [], [{"result": []}], []],
        strict=True,
    ):
        task |= {"annotations": given, "drafts": drafts}
    assert lab.counts(1) == client.Counts(tasks=6, done=2, skipped=2, begun=1, twice=2)


def test_an_empty_project_has_no_tasks(lab: client.Client) -> None:
    lab.project("A1 trial", MARKUP)
    assert list(lab.tasks(1)) == []
    assert lab.counts(1) == client.Counts(0, 0, 0, 0, 0)


def test_no_such_project(lab: client.Client) -> None:
    for ask in (lambda: list(lab.tasks(7)), lambda: lab.send(7, tasks(1))):
        with pytest.raises(DataError, match="/projects/7: there is no such project"):
            ask()


def test_tasks_that_are_deleted_meanwhile(lab: client.Client, stub: Stub) -> None:
    lab.project("A1 trial", MARKUP)
    lab.send(1, tasks(150))
    reading = lab.tasks(1)
    next(reading)
    del stub.tasks[1][50:]
    with pytest.raises(DataError, match="were deleted while they were read"):
        list(reading)


@pytest.mark.parametrize("fault", ["reset", "cut", "502", "503"])
def test_reading_is_tried_again(lab: client.Client, stub: Stub, fault: str) -> None:
    lab.project("A1 trial", MARKUP)
    stub.fault = lambda method, path, attempt: fault if attempt < 3 else ""
    found = lab.find("A1 trial")
    assert found is not None
    assert found.id == 1


@pytest.mark.parametrize("fault", ["reset", "cut", "503"])
def test_reading_is_given_up(lab: client.Client, stub: Stub, fault: str) -> None:
    lab.project("A1 trial", MARKUP)
    stub.fault = lambda method, path, attempt: fault
    with pytest.raises(TraceError, match="type the same command again"):
        lab.find("A1 trial")


@pytest.mark.parametrize("fault", ["html", "login", "empty"])
def test_another_service_at_the_address(lab: client.Client, stub: Stub, fault: str) -> None:
    lab.project("A1 trial", MARKUP)
    stub.fault = lambda method, path, attempt: fault
    for ask in (lambda: lab.find("A1 trial"), lambda: list(lab.tasks(1))):
        with pytest.raises(ConfigError, match=r"no Label Studio answers.*annotate\.url=URL"):
            ask()
    assert not any("elsewhere" in headers["host"] for headers in stub.headers)


def test_a_refusal_is_quoted_without_the_key(lab: client.Client, stub: Stub) -> None:
    with pytest.raises(TraceError, match="at least 3 characters"):
        lab.project("A1", MARKUP)
    stub.fault = lambda method, path, attempt: "echo"
    with pytest.raises(TraceError, match=r"not you, \[redacted\]"):
        lab.find("A1")


@pytest.mark.parametrize("key", ["f" * 40, "another.personal.token"])
def test_a_wrong_key(stub: Stub, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    with (
        client.connect(at(stub.url)) as lab,
        pytest.raises(ConfigError, match=r"refuses the key.*LABEL_STUDIO_API_KEY") as caught,
    ):
        lab.find("A1 trial")
    assert key not in str(caught.value)
    assert sum(stub.seen.values()) == 1


def test_a_personal_token_buys_new_ones_when_they_expire(
    stub: Stub, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", PERSONAL)
    stub.worth = 3
    with client.connect(at(stub.url + "/")) as lab:
        lab.project("A1 trial", MARKUP)
        lab.send(1, tasks(450))
        assert len(list(lab.tasks(1))) == 450
    assert stub.tokens > 3
    assert not any(PERSONAL in headers.get("authorization", "") for headers in stub.headers)


@pytest.mark.parametrize("key", ["", "  ", "key\u00e9", "two\nlines"])
def test_no_usable_key(stub: Stub, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", key)
    with pytest.raises(ConfigError, match="LABEL_STUDIO_API_KEY"), client.connect(at(stub.url)):
        pass
    assert not stub.seen


@pytest.mark.parametrize(
    "url",
    ["http://", "http://host:99999", "http://host:0", "http://host/?a=b", "http://me:pw@host"],
)
def test_no_address(monkeypatch: pytest.MonkeyPatch, url: str) -> None:
    monkeypatch.setenv("LABEL_STUDIO_API_KEY", KEY)
    with pytest.raises(ConfigError, match=r"annotate\.url") as caught, client.connect(at(url)):
        pass
    assert "pw" not in str(caught.value)


def test_nothing_listens(stub: Stub) -> None:
    with (
        client.connect(at("http://127.0.0.1:1")) as lab,
        pytest.raises(ConfigError, match=r"nothing answers there.*annotate\.action=serve"),
    ):
        lab.find("A1 trial")


def test_silence(lab: client.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        lab.connection.http.base_url = f"http://127.0.0.1:{mute.getsockname()[1]}"
        lab.connection.http.timeout = 0.1
        with pytest.raises(TraceError, match="is silent"):
            lab.find("A1 trial")


def test_no_server_on_this_machine(tmp_path: Path) -> None:
    message = rf"annotate\.action=serve annotate\.data_dir={tmp_path}"
    with (
        pytest.raises(ConfigError, match=message),
        client.connect(at(None, data_dir=str(tmp_path))),
    ):
        pass
