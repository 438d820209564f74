"""The one JSON Lines file in a zip, beside what macOS adds to it."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO

from trace.benchmarks import lines
from trace.errors import DataError

MAX_BYTES = 2**31
"""Of an unpacked file. The largest that is published has 100,000 prompts, far below it."""


@contextmanager
def opened(path: Path) -> Iterator[tuple[IO[bytes], str]]:
    """The bytes of a JSON Lines file, or of the one in a zip; and what to call it in messages.

    Raises:
        DataError: it cannot be read, or the zip does not hold one such file.
    """
    try:
        with path.open("rb") as file:
            if path.suffix != ".zip":
                yield file, str(path)
                return
            if file.read(len(lines.LFS)) == lines.LFS:
                raise lines.lfs_pointer(str(path))
            with zipfile.ZipFile(file) as packed:
                entry = _entry(packed, path)
                with packed.open(entry) as stream:
                    yield stream, f"{path}: {entry.filename}"
    except (zipfile.BadZipFile, zlib.error, EOFError) as error:
        raise DataError(f"{path}: the zip is broken ({error}). Get it again.") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror or error}).") from error


def _entry(packed: zipfile.ZipFile, path: Path) -> zipfile.ZipInfo:
    """The one entry with prompts. zipfile reads no further than the size it declares."""
    real = [entry for entry in packed.infolist() if not entry.is_dir() and not _of_macos(entry)]
    found = [entry for entry in real if entry.filename.endswith(".jsonl")]
    if not real:
        raise DataError(
            f"{path}: holds nothing but what macOS adds to a zip (__MACOSX). Get it again: the "
            "published one holds a .jsonl as well."
        )
    if len(found) != 1:
        names = ", ".join(entry.filename for entry in real[:5])
        raise DataError(
            f"{path}: holds {names}; the published zip holds one .jsonl. Get it again, or unpack "
            "it and name the .jsonl as the zip is named."
        )
    entry = found[0]
    if entry.file_size > MAX_BYTES:
        raise DataError(
            f"{path}: {entry.filename}: would be {entry.file_size / 2**30:.1f} GiB unpacked, more "
            "than the whole release. Get it again."
        )
    if entry.flag_bits & 1:
        raise DataError(f"{path}: {entry.filename}: is encrypted. Unpack it, and name the .jsonl.")
    if entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise DataError(
            f"{path}: {entry.filename}: is packed by a method other than the published deflate. "
            "Unpack it, and name the .jsonl."
        )
    return entry


def _of_macos(entry: zipfile.ZipInfo) -> bool:
    name = PurePosixPath(entry.filename)
    return "__MACOSX" in name.parts or name.name.startswith("._") or name.name == ".DS_Store"
