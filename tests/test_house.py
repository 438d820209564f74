"""The shape of the house: which room may know which, and what a quick command must not load."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import ROOT

ROOMS = [  # from the top; a room imports only rooms below its own line
    {"run"},
    {"sweep", "messages"},
    {"tasks"},
    {"benchmarks", "interp"},
    {"annotation", "judging", "models", "report", "tracking", "config"},
    {"stats", "assets", "records", "errors", "reasoning"},
]
LEVEL = {room: level for level, rooms in enumerate(ROOMS) for room in rooms}
SIDEWAYS = {("messages", "config"), ("sweep", "messages")}
MODULES = sorted((ROOT / "trace").rglob("*.py"))


def imports(path: Path) -> set[str]:
    found = set()
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("trace.")}


def room(path: Path) -> str:
    return path.relative_to(ROOT / "trace").parts[0].removesuffix(".py")


@pytest.mark.parametrize("path", MODULES, ids=lambda p: str(p.relative_to(ROOT)))
def test_arrows_point_down(path: Path) -> None:
    here = room(path)
    for other in imports(path) - {here}:
        if here == "__init__" or (here, other) in SIDEWAYS:
            continue
        assert LEVEL[here] <= LEVEL[other], f"{here} must not know {other}"


def test_a_benchmark_never_meets_a_model() -> None:
    for path in MODULES:
        if room(path) == "benchmarks":
            assert "models" not in imports(path), path
        if room(path) == "models":
            assert not imports(path) & {"benchmarks", "judging"}, path


@pytest.mark.parametrize("arguments", [["--cfg", "job"], ["--help"]])
def test_quick_commands_load_nothing_heavy(arguments: list[str]) -> None:
    code = (
        "import sys; from trace.run import main; status = main(sys.argv[1:]);"
        "heavy = {'torch', 'transformers', 'wandb', 'pandas', 'sklearn'} & set(sys.modules);"
        "sys.exit(f'loaded {heavy}' if heavy else status)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, *arguments], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr
    assert "benchmark" in ran.stdout


def test_the_standard_librarys_names_are_forwarded() -> None:
    code = "import trace; trace.Trace(count=1, trace=0).runfunc(len, []); trace.CoverageResults"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT)
