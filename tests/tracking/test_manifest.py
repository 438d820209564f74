from __future__ import annotations

import importlib.metadata
import json
import os
import subprocess
import sys
from datetime import datetime, timedelta
from pathlib import Path

import pytest

from trace.tracking.manifest import ROOT, code, completed, packages, provenance, write_manifest

OWN = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}


def git(folder: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-c", "commit.gpgsign=false"]
    command = ["git", "-C", str(folder), *identity, *arguments]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=os.environ | OWN)
    return done.stdout.strip()


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    git(tmp_path, "init", "--quiet")
    (tmp_path / "code.py").write_text("a = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "--quiet", "-m", "first")
    return tmp_path


def test_a_clean_checkout(checkout: Path) -> None:
    commit = git(checkout, "rev-parse", "HEAD")
    assert code(checkout) == {"commit": commit, "dirty": False, "changes": None}


def test_changes_are_told_apart(checkout: Path) -> None:
    seen = []
    for change in ("a = 2\n", "a = 3\n"):
        (checkout / "code.py").write_text(change)
        seen.append(code(checkout))
        (checkout / "new.py").write_text(change)
        seen.append(code(checkout))
        (checkout / "new.py").unlink()
    assert all(state["dirty"] for state in seen)
    assert len({state["changes"] for state in seen}) == 4
    (checkout / "code.py").write_text("a = 2\n")
    assert code(checkout) == seen[0]


def test_what_git_cannot_tell_is_none_with_a_reason(
    tmp_path: Path, checkout: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    inside = checkout / "unpacked"
    inside.mkdir()
    assert code(inside)["commit"] is None  # the commit of a repository around it is not ours
    assert code(inside)["reason"] == "not a git checkout"
    fresh = tmp_path / "fresh"
    fresh.mkdir()
    git(fresh, "init", "--quiet")
    assert code(fresh) | {"reason": None} == {
        "commit": None,
        "dirty": True,
        "changes": None,
        "reason": None,
    }
    assert code(fresh)["reason"] == "no commit yet"
    monkeypatch.setenv("PATH", str(tmp_path / "empty"))
    assert code(checkout)["reason"] == "git is not installed"


def test_a_folder_without_git(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_DIR", str(ROOT / ".git"))  # as inside a hook of another repository
    assert code(tmp_path)["commit"] is None
    assert "not a git repository" in code(tmp_path)["reason"]


def test_versions_are_those_installed() -> None:
    found = packages()
    assert found["wandb"] == importlib.metadata.version("wandb")
    assert {"torch", "transformers", "hydra-core", "filelock"} <= found.keys()
    assert "pytest" not in found


def test_the_manifest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANTED_API_KEY", "p1anted-value")
    monkeypatch.setenv("PLANTED_OTHER", "0ther-value")
    command = [sys.executable, "-m", "trace.run", "note=p1anted-value", "two words"]
    monkeypatch.setattr(sys, "orig_argv", command)
    manifest = completed(provenance())
    text = json.dumps(manifest, allow_nan=False)
    assert "p1anted-value" not in text
    assert "0ther-value" not in text
    assert manifest["schema"] == 1
    assert manifest["command"] == "python -m trace.run 'note=[redacted]' 'two words'"
    assert manifest["hardware"]["cores"] >= 1
    assert manifest["hardware"]["memory"] > 2**20
    started, ended = (datetime.fromisoformat(manifest[key]) for key in ("started", "ended"))
    assert started.utcoffset() == timedelta(0)
    assert started <= ended


def test_asking_for_the_hardware_does_not_load_torch() -> None:
    ask = (
        "import sys; from trace.tracking.manifest import provenance; "
        "assert provenance()['hardware']['gpus'] is None; assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", ask], check=True, cwd=ROOT)


def test_a_repeat_that_made_nothing_leaves_who_made_it(tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    write_manifest(tmp_path, {"host": "first"}, fresh=False)  # interrupted before it was written
    first = path.read_bytes()
    assert json.loads(first)["ended"]
    write_manifest(tmp_path, {"host": "second"}, fresh=False)
    assert path.read_bytes() == first
    write_manifest(tmp_path, {"host": "third"}, fresh=True)
    assert json.loads(path.read_bytes())["host"] == "third"
