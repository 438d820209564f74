"""A printed command, typed in a shell, gives Hydra the values that it stands for."""

from __future__ import annotations

import shlex
import shutil
import subprocess

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trace import sweep
from trace.tasks.annotate_command import typed

HARD = [
    "a b", "it's", 'say "x"', "a,b", "a=b", "50%", "$HOME", "`id`", "!!", "~/x", "测试", "(x)",
    "a\\b", "ends\\", "\\'", "\\\\'", "[x]", "{x}", "#x", "&", "*.jsonl", "-x", "a;b", " ", "0",
    "null", "1e5",
]  # fmt: skip


def read(words: list[str]) -> dict[str, object]:
    """What Hydra makes of the words behind the program."""
    return {override.key_or_group: override.value() for override in sweep.parse(words[3:])}


@pytest.mark.parametrize("value", HARD)
def test_hard_values_survive_a_shell(value: str) -> None:
    line = typed({"task": "annotate", "benchmark.path": value})
    assert read(shlex.split(line)) == {"task": "annotate", "benchmark.path": value}
    shell = shutil.which("bash") or shutil.which("sh")
    assert shell is not None
    printed = subprocess.run(
        [shell, "-c", line.replace("python", "printf '%s\\0' python", 1)],
        capture_output=True, check=True, text=True,
    ).stdout  # fmt: skip
    assert printed.split("\0")[:-1] == shlex.split(line)


@given(st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Cs"]), min_size=1))
@settings(max_examples=50, deadline=None)
def test_any_value_is_read_back(value: str) -> None:
    if "${" in value:  # interpolation, which no quoting of Hydra's ends
        return
    assert read(shlex.split(typed({"annotate.source": value}))) == {"annotate.source": value}


def test_what_is_absent_is_left_out_and_lists_are_lists() -> None:
    line = typed({"task": "annotate", "benchmark.path": None, "annotate.annotators": ("J1",)})
    assert line == "python -m trace.run task=annotate 'annotate.annotators=[J1]'"
    assert read(shlex.split(line))["annotate.annotators"] == ["J1"]
