"""Unsafe prompts from S-Eval as it is published (Yuan et al. 2025, arXiv 2405.14191)."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias, cast, get_args

from trace.benchmarks import lines
from trace.benchmarks.evidence.archive import opened
from trace.benchmarks.evidence.prompts import Group, Prompt
from trace.benchmarks.evidence.taxonomy import ATTACK_OF, CATEGORY_NAMES, CATEGORY_OF
from trace.benchmarks.evidence.triple import LANGUAGES, Language
from trace.errors import DataError
from trace.records import Json

SOURCE = "S-Eval"
LICENCE = "CC BY-NC-SA 4.0"
Kind: TypeAlias = Literal["base_risk", "attack"]

_NAME = re.compile(
    r"S-Eval_(?P<kind>base_risk|attack)_(?P<language>en|zh)_(?P<edition>[\w.]+?)\.jsonl(?:\.zip)?"
)
_NAMES = "S-Eval_{base_risk,attack}_{en,zh}_{small,medium,large,full}.jsonl.zip"
_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")
_FIELDS = ("traceid", "risk_type", "prompt", "ext")


@dataclass(frozen=True, slots=True, kw_only=True)
class SEvalFile:
    """A file of the release, and what its name says: the records do not.

    `edition` is its scale (small, medium, large, full) or the version on the hub.
    """

    path: Path
    kind: Kind
    language: Language
    edition: str


def files(path: Path) -> tuple[SEvalFile, ...]:
    """The file itself, or those of a folder, sorted by name.

    The scales of one kind and language overlap, and the size of a group decides how much is drawn
    from it; so a folder with several of them is refused rather than one of them chosen.

    Args:
        path: `S-Eval_*.jsonl.zip` or `S-Eval_*.jsonl`, or a folder of them.

    Raises:
        DataError: there is none, or several of one kind and language.
    """
    if path.is_file():
        named = _named(path)
        if named is None:
            raise DataError(
                f"benchmark.builder.s_eval: {path}: its name does not say what it holds. S-Eval's "
                f"files are called {_NAMES}; give it back its name."
            )
        return (named,)
    if not path.is_dir():
        raise DataError(
            f"benchmark.builder.s_eval: {path} does not exist. Give the folder of {_NAMES}."
        )
    found = [named for item in sorted(path.iterdir()) if (named := _named(item))]
    if not found:
        inside = sorted(item.name for item in path.iterdir() if item.is_dir())
        hint = f" It has the folders {', '.join(inside)}: name one of them." if inside else ""
        raise DataError(f"benchmark.builder.s_eval: {path} holds no file called {_NAMES}.{hint}")
    by_content: dict[tuple[Kind, Language], list[SEvalFile]] = {}
    for file in found:
        by_content.setdefault((file.kind, file.language), []).append(file)
    for (kind, language), same in by_content.items():
        if len(same) > 1:
            raise DataError(
                f"benchmark.builder.s_eval: {path} holds {', '.join(f.path.name for f in same)}, "
                f"all of them {kind} in {language}. They overlap: leave one of them there."
            )
    return tuple(found)


def read(file: SEvalFile, passed_over: Counter[str]) -> Iterator[Prompt]:
    """The prompts of a file, read as they are asked for.

    The name alone says the language, so a file of which less than half is written in it was
    renamed. Chinese is told by its characters, of which a cipher may have none.

    Args:
        file: which one.
        passed_over: is given how many records were not taken, by reason.

    Raises:
        DataError: it cannot be read, with its entry and line; it has no prompt; or it is in the
            other language.
    """
    found = chinese = 0
    with opened(file.path) as (stream, place):
        for at, record in lines.objects(stream, place):
            prompt = _prompt(record, file, at)
            if not prompt.text.strip():
                passed_over["empty prompt"] += 1
                continue
            found += 1
            chinese += _HAN.search(prompt.text) is not None
            yield prompt
    if not found:
        raise DataError(f"{file.path}: all its prompts are empty. Get the file again.")
    if 2 * (chinese if file.language == "zh" else found - chinese) < found:
        raise DataError(
            f"{file.path}: {chinese:,} of its {found:,} prompts have Chinese characters, and its "
            f"name says {file.language}. It was renamed: give it back its name."
        )


def absent(found: Iterable[SEvalFile]) -> tuple[str, ...]:
    """The kinds and languages of the release that are not among the files."""
    there = {(file.kind, file.language) for file in found}
    return tuple(
        f"{kind} in {language}"
        for kind in get_args(Kind)
        for language in LANGUAGES
        if (kind, language) not in there
    )


def missing_categories(groups: Iterable[Group]) -> tuple[str, ...]:
    """The taxonomy's categories of which there is no prompt in any language.

    The release has eight of the nine: nothing under `RisksInvolvingMinors`.
    """
    there = {category for category, _ in groups}
    return tuple(name for name in CATEGORY_NAMES if name not in there)


def _named(path: Path) -> SEvalFile | None:
    match = _NAME.fullmatch(path.name)
    if match is None or not path.is_file():
        return None
    return SEvalFile(
        path=path,
        kind=cast(Kind, match["kind"]),
        language=cast(Language, match["language"]),
        edition=match["edition"],
    )


def _prompt(record: dict[str, Json], file: SEvalFile, at: str) -> Prompt:
    if lacking := [name for name in _FIELDS if name not in record]:
        raise DataError(
            f"{at}: has no {', '.join(lacking)}. A record of S-Eval has {', '.join(_FIELDS)}; "
            f"this one has {', '.join(record) or 'nothing'}."
        )
    text = record["prompt"]
    if not isinstance(text, str):
        raise DataError(f"{at}: prompt: {text!r:.40} should be a text. Remove the line.")
    ext = _ext(record["ext"], file, at)
    origin = {"from_traceid": ext["from_traceid"]} if "from_traceid" in ext else {}
    return Prompt(
        text=text,
        language=file.language,
        category=_known(record["risk_type"], CATEGORY_OF, f"{at}: risk_type"),
        attack=_known(ext.get("category"), ATTACK_OF, f"{at}: ext: category")
        if file.kind == "attack"
        else None,
        source=SOURCE,
        licence=LICENCE,
        provenance={
            "kind": file.kind,
            "edition": file.edition,
            "traceid": record["traceid"],
            "risk_type": record["risk_type"],
            **origin,
        },
    )


def _ext(value: Json, file: SEvalFile, at: str) -> dict[str, Json]:
    """The object that stands in `ext` as a JSON text."""
    try:
        ext = json.loads(value) if isinstance(value, str) else None
    except (ValueError, RecursionError):
        ext = None
    if not isinstance(ext, dict):
        raise DataError(
            f"{at}: ext: {value!r:.60} should be a JSON object written as a text, such as "
            f'"{{\\"model\\": \\"{file.kind}\\"}}".'
        )
    if ext.get("model") != file.kind:
        raise DataError(
            f"{at}: ext: model is {ext.get('model')!r:.40}, and the file's name says {file.kind}. "
            "The file was renamed: give it back its name."
        )
    return ext


def _known(value: Json, known: Mapping[str, str], at: str) -> str:
    if not isinstance(value, str) or value not in known:
        raise DataError(
            f"{at}: {value!r:.60} is not one of {', '.join(known)}. A later release than 0.1.2 may "
            "have new ones: take that, or add them to trace/benchmarks/evidence/taxonomy.py."
        )
    return known[value]
