"""The stamp of a registered claim, and whether a comparison can call it that."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

import yaml

from trace.benchmarks.cross_lab.items import ItemSet
from trace.benchmarks.cross_lab.registration import EXAMPLE, Registration, registration_of
from trace.benchmarks.cross_lab.rubric import Rubrics
from trace.benchmarks.fields import Fields
from trace.errors import DataError
from trace.records import Json, digest


@dataclass(frozen=True, slots=True, kw_only=True)
class Stamp:
    """When a claim was registered, and for what: `items` and `rubrics` are hashes.

    `number` is how many items the claim is about; `files` maps those of all items to their sha256.
    `code` is the commit of the running code.
    `sha256` is that of the registration and all else of the stamp.
    """

    time: str
    rubrics: str
    items: str
    number: int
    files: Mapping[str, str]
    code: Mapping[str, Json]
    sha256: str

    @classmethod
    def of(
        cls,
        registration: Registration,
        *,
        time: datetime,
        rubrics: Rubrics,
        items: ItemSet,
        code: Mapping[str, Json],
    ) -> Stamp:
        """The stamp of a claim that is registered now."""
        bare: dict[str, Json] = {
            "time": time.isoformat(),
            "rubrics": rubrics.hash,
            "items": items.hash,
            "number": len(registration.items(items)),
            "files": dict(items.fingerprint),
            "code": dict(code),
        }
        return cls(**bare, sha256=digest([registration.to_json(), bare]))

    def fits(self, registration: Registration) -> bool:
        """Whether neither the claim nor the stamp was changed since."""
        bare = {name: value for name, value in self.to_json().items() if name != "sha256"}
        return digest([registration.to_json(), bare]) == self.sha256

    def to_json(self) -> dict[str, Json]:
        """What stands in the file under `stamp`."""
        return asdict(self) | {"files": dict(self.files), "code": dict(self.code)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Responded:
    """When a model's first response was made, None where nobody knows; the claim's items asked."""

    first: datetime | None = None
    items: int = 0


def read(path: Path) -> tuple[Registration, Stamp | None]:
    """A registration, and its stamp if it has one.

    Raises:
        DataError: it cannot be read, or a field is missing, wrong or unknown.
    """
    try:
        value = yaml.safe_load(path.read_bytes())
    except OSError as error:
        raise DataError(
            f"task.registration: {path} cannot be read ({error.strerror}). Check the path."
        ) from error
    except (yaml.YAMLError, UnicodeDecodeError) as error:
        raise DataError(f"{path}: is no YAML ({error}). {EXAMPLE}".replace("\n", " ")) from error
    return registration_of(value, str(path)), _stamp(value, str(path))


def as_yaml(registration: Registration, stamp: Stamp) -> str:
    """The file of a stamped claim."""
    value = registration.to_json() | {"stamp": stamp.to_json()}
    text: str = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
    return text


def verify(
    registration: Registration,
    stamp: Stamp | None,
    *,
    rubrics: str,
    files: Collection[str],
    responded: Mapping[str, Responded] | None,
) -> tuple[str, ...]:
    """Why a claim is post hoc; nothing if it is registered.

    Args:
        registration: the claim.
        stamp: of its file.
        rubrics: the hash of those that responses were judged by.
        files: the sha256 of the files of items that were asked.
        responded: model -> when, and to how many items; None for judgements made elsewhere.
    """
    if stamp is None:
        return ("it was never stamped (task.action=register)",)
    doubts = []
    if not stamp.fits(registration):
        doubts.append("the file was changed after it was stamped")
    if stamp.rubrics != rubrics:
        doubts.append("the rubrics are not those that were registered")
    if not set(stamp.files.values()) <= set(files):
        doubts.append("the items are not those that were registered")
    if responded is None:
        return (*doubts, "no times: the judgements were made elsewhere")
    for name in registration.models:
        given = responded.get(name, Responded())
        if given.first is None:
            doubts.append(f"nobody knows when {name} responded")
        elif given.first < datetime.fromisoformat(stamp.time):
            doubts.append(f"{name} responded at {given.first.isoformat()}, before {stamp.time}")
        if given.items < stamp.number:
            doubts.append(f"{name} was asked {given.items} of the {stamp.number} items")
    return tuple(doubts)


def _stamp(value: Mapping[str, Any], at: str) -> Stamp | None:
    if "stamp" not in value:
        return None
    fields = Fields(value["stamp"], f"{at}: stamp")
    stamp = Stamp(
        time=fields.text("time"),
        rubrics=fields.text("rubrics"),
        items=fields.text("items"),
        number=fields.take("number", int),
        files=fields.take("files", dict),
        code=fields.take("code", dict),
        sha256=fields.text("sha256"),
    )
    try:
        known = datetime.fromisoformat(stamp.time).tzinfo is not None
    except ValueError:
        known = False
    if not known:
        raise DataError(f"{at}: stamp: time: {stamp.time!r} is none. Register the claim again.")
    return stamp
