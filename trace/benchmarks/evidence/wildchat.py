"""Safe prompts from WildChat as it is published (Zhao et al. 2024, arXiv 2405.01470)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from trace.benchmarks import lines
from trace.benchmarks.evidence.prompts import Prompt
from trace.benchmarks.evidence.triple import Language
from trace.errors import DataError
from trace.records import Json

SOURCE = "WildChat"
LICENCE = "ODC-BY"
COLUMNS: Mapping[str, tuple[str, ...]] = {
    "conversation": ("content", "role", "language", "toxic"),
    "language": (),
    "toxic": (),
    "openai_moderation": ("flagged",),
}
"""The columns that are read, and the fields of the objects in those that are lists of them."""
IDS = ("conversation_hash", "conversation_id")
"""What names a conversation, in later and in earlier releases; one of them is read too."""
LANGUAGE_OF: Mapping[str, Language] = {"English": "en", "Chinese": "zh"}

_BATCH = 512  # rows: conversations are long


def files(path: Path) -> tuple[Path, ...]:
    """The file itself, or the *.parquet and *.jsonl files of a folder, sorted by name.

    Raises:
        DataError: there is none.
    """
    if path.is_file():
        if path.suffix not in _READERS:
            raise DataError(
                f"benchmark.builder.wildchat: {path} is not called *.parquet or *.jsonl. Name "
                "WildChat's file so, or give its folder."
            )
        return (path,)
    if not path.is_dir():
        raise DataError(
            f"benchmark.builder.wildchat: {path} does not exist. Give a parquet or JSONL file of "
            "WildChat, or a folder of them."
        )
    found = sorted(item for item in path.iterdir() if item.suffix in _READERS and item.is_file())
    if not found:
        inside = sorted(item.name for item in path.iterdir() if item.is_dir())
        hint = f" It has the folders {', '.join(inside)}: name one of them." if inside else ""
        raise DataError(
            f"benchmark.builder.wildchat: {path} holds no *.parquet or *.jsonl file.{hint}"
        )
    return tuple(found)


def read(path: Path, passed_over: Counter[str]) -> Iterator[Prompt]:
    """The first user turns, in English or Chinese, that WildChat's own labels call safe.

    Those labels are `toxic`, of the conversation and of the turn (flagged by OpenAI's moderation
    or by Detoxify), and `flagged` of OpenAI's moderation, of any turn. The file is read in batches
    of rows as they are asked for.

    Args:
        path: a parquet or JSONL file.
        passed_over: is given how many conversations were not taken, by reason.

    Raises:
        DataError: it cannot be read, or has other columns; with its row or line.
    """
    for at, row in _READERS[path.suffix](path):
        prompt = _prompt(row, at)
        if isinstance(prompt, Prompt):
            yield prompt
        else:
            passed_over[prompt] += 1


def _json_rows(path: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    try:
        with path.open("rb") as stream:
            yield from lines.objects(stream, str(path))
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error


def _parquet_rows(path: Path) -> Iterator[tuple[str, dict[str, Json]]]:
    import pyarrow as pa
    from pyarrow import compute, parquet

    number = 0
    try:
        with path.open("rb") as stream:
            if stream.read(len(lines.LFS)) == lines.LFS:
                raise lines.lfs_pointer(str(path))
        with parquet.ParquetFile(path) as file:
            leaves = _leaves([column.path for column in _columns(file.schema)], path)
            for batch in file.iter_batches(_BATCH, columns=leaves):
                place = batch.schema.get_field_index("conversation")
                first = compute.list_slice(batch.column(place), 0, 1)  # its later turns are long
                for row in batch.set_column(place, "conversation", first).to_pylist():
                    number += 1
                    yield f"{path}, row {number}", row
    except (pa.ArrowException, UnicodeDecodeError) as error:
        after = f" after row {number}" if number else ""
        raise DataError(
            f"{path}: cannot be read as parquet{after} ({str(error)[:200]}). Get it again."
        ) from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error
    if not number:
        raise DataError(f"{path}: has no row. Get the file again.")


def _columns(schema: Any) -> Iterator[Any]:
    return (schema.column(place) for place in range(len(schema)))


def _leaves(paths: list[str], path: Path) -> list[str]:
    """The parquet columns of what is read: `conversation.list.element.content` and so on."""
    wanted, lacking = [], []
    for column, fields in COLUMNS.items():
        for field in fields or ("",):
            found = [
                leaf
                for leaf in paths
                if (leaf.startswith(f"{column}.") and leaf.endswith(f".{field}"))
                or (not field and leaf == column)
            ]
            wanted += found
            if not found:
                lacking.append(f"{column}[].{field}" if field else column)
    wanted += [name for name in paths if name in IDS]
    _check_columns(lacking, {leaf.split(".")[0]: None for leaf in paths}, str(path))
    return wanted


def _check_columns(lacking: list[str], found: Mapping[str, Any], at: str) -> None:
    if not any(name in found for name in IDS):
        lacking = [" or ".join(IDS), *lacking]
    if lacking:
        raise DataError(
            f"{at}: has no {', '.join(lacking)}. WildChat's columns are {IDS[0]}, "
            f"{', '.join(COLUMNS)}; this file has {', '.join(found) or 'none'}. Give the data as "
            "it is published, or rename the columns."
        )


def _prompt(row: dict[str, Json], at: str) -> Prompt | str:
    """The prompt of a conversation, or why it is not taken."""
    if not any(name in row for name in IDS) or not COLUMNS.keys() <= row.keys():
        _check_columns([name for name in COLUMNS if name not in row], row, at)
    first, turns = _first(row["conversation"], at), row["openai_moderation"]
    language = LANGUAGE_OF.get(str(row["language"]))
    if language is None or first.get("language") != row["language"]:
        return "another language"
    labels = [row["toxic"], first.get("toxic"), *_flags(turns, at)]
    if any(label is not None and not isinstance(label, bool) for label in labels):
        raise DataError(f"{at}: toxic and flagged should be true or false. Get the file again.")
    if any(labels):
        return "labelled unsafe"
    if None in labels or not turns:
        return "not labelled"
    text = first.get("content")
    if first.get("role") != "user" or not isinstance(text, str) or not text.strip():
        return "no first user turn"
    name = next(name for name in IDS if name in row)
    if row[name] is None:
        return f"no {name}"
    if not isinstance(row[name], str | int):
        raise DataError(
            f"{at}: {name}: {row[name]!r:.40} should be a text. Give the data as it is published."
        )
    return Prompt(
        text=text,
        language=language,
        category=None,
        attack=None,
        source=SOURCE,
        licence=LICENCE,
        provenance={name: row[name]},
    )


def _first(conversation: Json, at: str) -> dict[str, Json]:
    turns = [] if conversation is None else conversation
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns[:1]):
        raise DataError(
            f"{at}: conversation: should be a list of turns, each with "
            f"{', '.join(COLUMNS['conversation'])}. Give the data as it is published."
        )
    return turns[0] if turns else {}


def _flags(moderation: Json, at: str) -> list[Json]:
    turns = [] if moderation is None else moderation
    if not isinstance(turns, list) or not all(isinstance(turn, dict) for turn in turns):
        raise DataError(
            f"{at}: openai_moderation: should be a list of objects with flagged. Give the data as "
            "it is published."
        )
    return [turn.get("flagged") for turn in turns]


_READERS = {".parquet": _parquet_rows, ".jsonl": _json_rows}
