"""What is done with a Label Studio: projects are made, filled and read; nothing is deleted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime

from trace import config
from trace.annotation.connection import Connection, Missing, connected
from trace.annotation.markup import same_markup
from trace.errors import DataError
from trace.records import Json

PAGE = 100
"""Tasks asked for, and sent, at once; projects too."""


@dataclass(frozen=True, slots=True)
class Project:
    """A project. `url` is where it is worked on; `markup` its labelling configuration."""

    id: int
    title: str
    url: str
    markup: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How far a project is, in tasks.

    `done` were answered, `skipped` were skipped (the last of several acts counts; `twice` have
    several), and `begun` have an unfinished answer and nothing else.
    """

    tasks: int
    done: int
    skipped: int
    begun: int
    twice: int


@dataclass(frozen=True, slots=True)
class Client:
    """Speaks to one Label Studio. Its errors are those of `Connection`."""

    connection: Connection

    def project(self, title: str, markup: str) -> Project:
        """The project of that title; where there is none it is made.

        Tasks come in the order in which they were sent, everybody may skip, and a skipped task
        does not come back. Nobody sees what others said.

        Args:
            title: 3 to 50 characters, Label Studio's bounds.
            markup: the labelling configuration, XML.

        Raises:
            DataError: there are several, or it has another labelling configuration.
        """
        found = self.find(title)
        if found is None:
            answer = self.connection.post(
                "/api/projects/",
                {
                    "title": title,
                    "label_config": markup,
                    "show_skip_button": True,
                    "skip_queue": "IGNORE_SKIPPED",
                    "enable_empty_annotation": False,
                    "show_annotation_history": False,
                    "show_collab_predictions": False,
                    "maximum_annotations": 1,
                    "sampling": "Sequential sampling",
                },
            )
            found = self._read(answer)
        if not same_markup(found.markup, markup):
            raise DataError(
                f"{found.url}: project {title!r} asks something else by now, or was edited. "
                "Delete it in the browser if nobody's work is in it, or export anew with another "
                "seed=N."
            )
        return found

    def find(self, title: str) -> Project | None:
        """The project of exactly that title.

        Raises:
            DataError: there are several.
        """
        found: list[Project] = []
        page, more = 0, True
        while more:
            page += 1
            answer = self.connection.get("/api/projects/", page=page, page_size=PAGE, title=title)
            if not isinstance(answer, Mapping) or not isinstance(answer.get("results"), list):
                raise self.connection.odd(answer)
            found += [p for p in map(self._read, answer["results"]) if p.title == title]
            more = bool(answer.get("next"))
        if len(found) > 1:
            raise DataError(
                f"{self.connection.url}: {len(found)} projects are called {title!r} "
                f"({', '.join(str(p.id) for p in found)}). Rename or delete, in the browser, those "
                "that are not meant."
            )
        return found[0] if found else None

    def send(self, project: int, tasks: Sequence[Mapping[str, Json]]) -> int:
        """Puts tasks into a project in their order; those that are there already are left out.

        So an upload that was interrupted is finished by doing it again.

        Args:
            project: its number.
            tasks: `{"data": {"item": its id, …}}` each.

        Returns:
            How many were sent.

        Raises:
            DataError: there is no such project, or it holds an item with other texts, or twice.
        """
        ours = {str(task["data"]["item"]): task for task in tasks}
        assert len(ours) == len(tasks), "an item stands twice among the tasks"
        there = self._held(project, ours)
        rest = [task for item, task in ours.items() if item not in there]
        path = f"/api/projects/{project}/import"
        for start in range(0, len(rest), PAGE):
            batch = [dict(task) for task in rest[start : start + PAGE]]
            self.connection.post(path, batch, return_task_ids="true")
        if rest and len(held := self._held(project, ours)) != len(ours):
            raise self.connection.odd(f"{len(ours)} tasks were sent, and {len(held)} are there")
        return len(rest)

    def tasks(self, project: int) -> Iterator[Json]:
        """All tasks in the order of their numbers, with `annotations`, `drafts` and `data` as sent.

        Drafts are those of the account that the key belongs to.

        Raises:
            DataError: there is no such project, or tasks were deleted while they were read.
        """
        page = given = 0
        total = 1
        while given < total:
            page += 1
            try:
                answer = self.connection.get(
                    "/api/tasks/",
                    project=project,
                    page=page,
                    page_size=PAGE,
                    fields="all",
                    resolve_uri="false",  # a text that looks like an address stays a text
                )
            except Missing:
                if page == 1:
                    raise self._gone(project) from None
                raise DataError(
                    f"{self._address(project)}: tasks were deleted while they were read. Type the "
                    "same command again."
                ) from None
            if not isinstance(answer, Mapping) or not _whole(answer):
                raise self.connection.odd(answer)
            yield from answer["tasks"]
            given += len(answer["tasks"])
            total = answer["total"]

    def counts(self, project: int) -> Counts:
        """How far the work on a project is.

        Raises:
            DataError: as for `tasks`.
        """
        n: Counter[str] = Counter()
        for task in self.tasks(project):
            made = sorted(task["annotations"], key=_when)
            n["tasks"] += 1
            n["twice"] += len(made) > 1
            if made:
                n["skipped" if made[-1]["was_cancelled"] else "done"] += 1
            else:
                n["begun"] += bool(task["drafts"])
        return Counts(**{name: n[name] for name in Counts.__slots__})

    def _held(self, project: int, ours: Mapping[str, Mapping[str, Json]]) -> set[str]:
        """The items that the project holds."""
        held: set[str] = set()
        for task in self.tasks(project):
            item = str(task["data"].get("item"))
            wrong = (
                "stands twice in it"
                if item in held
                else "is not of this export"
                if item not in ours
                else "has other texts there"
                if task["data"] != ours[item]["data"]
                else ""
            )
            if wrong:
                raise DataError(
                    f"{self._address(project)}: item {item} {wrong}. Delete that task in the "
                    "browser (the one without work), then type the same command again."
                )
            held.add(item)
        return held

    def _read(self, line: Json) -> Project:
        try:
            number = int(line["id"])
            return Project(
                number, str(line["title"]), self._address(number), str(line["label_config"])
            )
        except (TypeError, KeyError, ValueError):
            raise self.connection.odd(line) from None

    def _address(self, project: int) -> str:
        return f"{self.connection.url}/projects/{project}"

    def _gone(self, project: int) -> DataError:
        return DataError(
            f"{self._address(project)}: there is no such project. It was deleted, or this is "
            "another Label Studio than that of the export: see annotate.url and annotate.data_dir."
        )


@contextmanager
def connect(settings: config.Annotate) -> Iterator[Client]:
    """A client for the server of `annotate.url`, else for the one that runs on this machine.

    Raises:
        ConfigError, DataError: as for `connection.connected`.
    """
    with connected(settings) as connection:
        yield Client(connection)


def _when(annotation: Json) -> datetime:
    return datetime.fromisoformat(annotation["updated_at"])


def _whole(page: Mapping[str, Json]) -> bool:
    """Whether a page of tasks is one, and has something on it if it should."""
    tasks, total = page.get("tasks"), page.get("total")
    if not isinstance(tasks, list) or not isinstance(total, int) or (total and not tasks):
        return False
    parts = {"data": dict, "annotations": list, "drafts": list}
    return all(
        isinstance(task, dict) and all(isinstance(task.get(k), v) for k, v in parts.items())
        for task in tasks
    )
