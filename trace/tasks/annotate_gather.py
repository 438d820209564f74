"""What annotators did on the server, as far as they agreed to take part."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass

from trace.annotation import briefing
from trace.annotation.client import Client
from trace.annotation.exported import Exported, consents, numbered, title
from trace.annotation.form import Form
from trace.annotation.item import Answer, Item, Lost
from trace.annotation.markup import markup, same_markup
from trace.annotation.result import returned
from trace.annotation.study import HumanStudy
from trace.annotation.task import ITEM, sent_name
from trace.errors import DataError


@dataclass(frozen=True, kw_only=True)
class Gathered:
    """The answers of an export's annotators, and what of their work was not taken."""

    answers: tuple[Answer, ...]
    lost: Mapping[str, Lost]
    notes: tuple[str, ...]

    @property
    def nothing(self) -> str:
        """Why there is no answer, where there is none."""
        without = sum(lost.no_consent for lost in self.lost.values())
        why = (
            f" {without} answers are left out: there is no consent to use them." if without else ""
        )
        return f"nobody has finished anything yet.{why}"


def gather(client: Client, exported: Exported, study: HumanStudy) -> Gathered:
    """Every annotator's answers, as far as they agreed to take part.

    Raises:
        DataError: a project is gone, or asks something else by now.
    """
    items = {item.id: item for item in exported.given.items}
    asked = consents(study.name)
    answers: list[Answer] = []
    lost: dict[str, Lost] = {}
    agreed: set[tuple[str, str]] = set()
    strangers: Counter[str] = Counter()
    for number, one in numbered(exported.given.assignments):
        if one.form in asked:
            form, item = asked[one.form]
            here = {item.id: item}
        else:
            form, here = study.forms[one.form], {id_: items[id_] for id_ in one.items}
        found, aside, unknown = _answers(
            client, title(exported.manifest["run"], number, one), one.annotator, form, here
        )
        strangers[one.annotator] += unknown
        if one.form in asked:
            agreed |= {
                (one.annotator, form.language)
                for answer in found.values()
                if answer and answer.values.get(briefing.QUESTION) == briefing.YES
            }
            continue
        was = lost.get(one.annotator, Lost())
        willing = (one.annotator, form.language) in agreed
        there = [answer for answer in found.values() if answer is not None]
        lost[one.annotator] = Lost(
            deleted=was.deleted + len(here.keys() - found.keys()),
            twice=was.twice + aside,
            no_consent=was.no_consent + (0 if willing else len(there)),
        )
        answers += there if willing else []
    notes = tuple(
        f"{n} tasks in the projects of {who} are not of this export; they are left out."
        for who, n in strangers.items()
        if n
    )
    return Gathered(answers=tuple(answers), lost=lost, notes=notes)


def _answers(
    client: Client, name: str, annotator: str, form: Form, items: Mapping[str, Item]
) -> tuple[dict[str, Answer | None], int, int]:
    """Item -> its answer, None while it has none; how many were set aside, and are not ours."""
    project = client.find(name)
    if project is None:
        raise DataError(
            f"annotate.export: there is no project {name!r} of {annotator} on this server. It was "
            "deleted or renamed, or this is another Label Studio than that of the export: see "
            "annotate.url and annotate.data_dir. The command of the export, typed again, makes a "
            "deleted one anew, without the work that was in it."
        )
    if not same_markup(project.markup, markup(form)):
        raise DataError(
            f"{project.url}/settings/labeling: somebody edited what project {name!r} asks (its "
            f"labelling configuration). Copy {form.name}.xml of the export into it (Code), save, "
            "then import again."
        )
    ids = {sent_name(id_): id_ for id_ in items}
    found: dict[str, Answer | None] = {}
    aside = unknown = 0
    for task in client.tasks(project.id):
        id_ = ids.get(str(task["data"].get(ITEM)))
        if id_ is None or id_ in found:
            unknown += 1
            continue
        back = returned(task, items[id_], form, annotator)
        found[id_] = back.answer
        aside += back.aside
    return found, aside, unknown
