"""Files in the released format: one JSON object a line, or one JSON array."""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import jsonlines

from trace.benchmarks import lines
from trace.config import nearest
from trace.errors import DataError
from trace.records import Json

_SUFFIXES = (".json", ".jsonl")
_BUILT = "dataset.jsonl"  # of our own builds, which write other JSON beside it
_UNFROZEN = ("inferred.jsonl", "corpus.jsonl")  # of a build that did not come to its end
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_MEND = "Mend or remove the line, or fetch the file anew."


@dataclass(frozen=True, slots=True, kw_only=True)
class RawRecord:
    """One JSON object, the stem of its file, and its place for messages."""

    value: dict[str, Json]
    stem: str
    place: str


def data_files(path: Path) -> list[Path]:
    """The file itself, or the *.json and *.jsonl files of a folder, sorted by name.

    Of a folder with dataset.jsonl it is that file alone.

    Raises:
        DataError: the path does not exist or cannot be listed, or the folder holds no such file.
    """
    try:
        return _data_files(path)
    except OSError as error:
        raise DataError(f"benchmark.path: {path} cannot be read ({error.strerror}).") from error


def _data_files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    if not path.is_dir():
        siblings = sorted(p.name for p in path.parent.iterdir()) if path.parent.is_dir() else []
        where = "" if path.parent.is_dir() else f" The folder {path.parent} does not exist either."
        raise DataError(
            f"benchmark.path: {path} does not exist{nearest(path.name, siblings)}{where}"
        )
    if (path / _BUILT).is_file():
        return [path / _BUILT]
    if any((path / name).is_file() for name in _UNFROZEN):
        raise DataError(
            f"benchmark.path: {path} is a build that is not frozen. Type its command again with "
            "stage=freeze."
        )
    files = sorted(p for p in path.iterdir() if p.suffix in _SUFFIXES)
    if not files:
        inside = sorted(p.name for p in path.iterdir() if p.is_dir())
        hint = f" It has the folders {', '.join(inside)}: name one of them." if inside else ""
        raise DataError(f"benchmark.path: {path} holds no *.json or *.jsonl file.{hint}")
    return files


def read_file(path: Path) -> tuple[list[RawRecord], str]:
    """The records of one file and the sha256 of its bytes.

    Lines end at a line feed only: U+2028 and U+0085 may stand inside a string.

    Raises:
        DataError: the file is empty, a Git LFS pointer, not UTF-8, or not JSON; with the line.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
    if data.startswith(lines.LFS):
        raise lines.lfs_pointer(str(path))
    text = _decode(data, path)
    if not text.strip():
        raise DataError(f"{path}: the file is empty.")
    read = _array if text.lstrip().startswith("[") else _lines
    records = list(read(text, path))
    if not records:
        raise DataError(f"{path}: the file holds no record.")
    return records, hashlib.sha256(data).hexdigest()


def _decode(data: bytes, path: Path) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise DataError(
            f"{path}: the file is UTF-16. Convert it: iconv -f UTF-16 -t UTF-8 {path.name} > new"
        )
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        at = error.start + (3 if data.startswith(b"\xef\xbb\xbf") else 0)
        line = data.count(b"\n", 0, at) + 1
        raise DataError(
            f"{path}:{line}: not UTF-8 at byte {at} (0x{data[at]:02x}). The file may mix "
            f"encodings; write it as UTF-8 throughout."
        ) from error


def _finite(digits: str) -> float:
    value = float(digits)
    return value if math.isfinite(value) else _no_constant(digits)


def _loads(text: str | bytes) -> Json:
    value = json.loads(text, parse_constant=_no_constant, parse_float=_finite)
    if _SURROGATE.search(str(text)):  # half a character cannot be written again
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not a JSON value")


def _array(text: str, path: Path) -> Iterator[RawRecord]:
    try:
        values = _loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}:{error.lineno}: not JSON: {error.msg}.") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON: {error}.") from error
    for number, value in enumerate(values, start=1):
        place = f"{path}, record {number}"
        if not isinstance(value, dict):
            raise DataError(f"{place}: should be an object.")
        yield RawRecord(value=value, stem=path.stem, place=place)


def _lines(text: str, path: Path) -> Iterator[RawRecord]:
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        place = f"{path}:{number}"
        try:
            value = jsonlines.Reader([line], loads=_loads).read(type=dict)
        except jsonlines.InvalidLineError as error:
            why = error.__cause__ or "it should hold one JSON object"
            raise DataError(f"{place}: broken line: {why}. {_MEND}") from error
        except RecursionError as error:
            raise DataError(f"{place}: broken line: nested too deeply. {_MEND}") from error
        yield RawRecord(value=value, stem=path.stem, place=place)
