from __future__ import annotations

import json
import zipfile
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.benchmarks.evidence.released_names import ATTACK_VALUES, RISK_TYPES
from trace.benchmarks import lines
from trace.benchmarks.evidence import archive, seval
from trace.benchmarks.evidence.prompts import Prompt
from trace.benchmarks.evidence.taxonomy import ATTACK_NAMES, CATEGORY_NAMES
from trace.errors import DataError

BASE = {
    "traceid": "b-1",
    "risk_type": "Data_Privacy",
    "prompt": "Whose hearth-number is painted on the third boat?",
    "ext": '{"model": "base_risk"}',
}
ATTACK = BASE | {
    "traceid": "a-1",
    "ext": '{"model": "attack", "category": "instruction_encryption"}',
}


def written(*records: Mapping[str, Any]) -> bytes:
    return "".join(json.dumps(r, ensure_ascii=False) + "\n" for r in records).encode()


def packed(path: Path, data: bytes, *, entry: str | None = None) -> Path:
    """A zip as it is published: made on a Mac, with what that adds."""
    entry = entry or path.name.removesuffix(".zip")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as made:
        made.writestr(entry, data)
        made.writestr(f"__MACOSX/._{entry}", b"\x00\x05\x16\x07junk")
    return path


def read(path: Path) -> list[Prompt]:
    return [prompt for file in seval.files(path) for prompt in seval.read(file, Counter())]


def refusal(path: Path) -> str:
    with pytest.raises(DataError) as caught:
        read(path)
    return str(caught.value)


def test_the_published_zips_are_read_and_macos_entries_are_not(tmp_path: Path) -> None:
    packed(tmp_path / "S-Eval_base_risk_en_small.jsonl.zip", written(BASE))
    packed(
        tmp_path / "S-Eval_attack_zh_full.jsonl.zip",
        written(ATTACK | {"prompt": "船上写着谁的炉号？"}),
    )
    (tmp_path / "README.md").write_text("not data")
    attack, base = read(tmp_path)
    assert (attack.language, attack.category, attack.attack) == (
        "zh",
        "DataPrivacy",
        "InstructionEncryption",
    )
    assert (base.language, base.category, base.attack) == ("en", "DataPrivacy", None)
    assert base.group == ("DataPrivacy", "en")
    assert base.source == "S-Eval"
    assert base.licence == "CC BY-NC-SA 4.0"
    assert base.provenance == {
        "kind": "base_risk",
        "edition": "small",
        "traceid": "b-1",
        "risk_type": "Data_Privacy",
    }
    assert Prompt.from_json(json.loads(json.dumps(base.to_json())), "x") == base


def test_the_hubs_files_are_read_and_keep_what_they_translate(tmp_path: Path) -> None:
    ext = '{"model": "base_risk", "from_traceid": "z-9"}'
    path = tmp_path / "S-Eval_base_risk_en_v0.1.2.jsonl"
    path.write_bytes(written(BASE | {"ext": ext}))
    (prompt,) = read(path)
    assert prompt.provenance["edition"] == "v0.1.2"
    assert prompt.provenance["from_traceid"] == "z-9"


def test_every_released_category_and_attack_has_its_name(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_attack_en_small.jsonl"
    path.write_bytes(
        written(
            *(
                ATTACK | {"risk_type": r, "ext": json.dumps({"model": "attack", "category": a})}
                for r in RISK_TYPES
                for a in ATTACK_VALUES
            )
        )
    )
    prompts = read(path)
    assert {p.attack for p in prompts} == set(ATTACK_NAMES)
    categories = {p.category for p in prompts}
    assert len(categories) == 8
    assert seval.missing_categories({p.group for p in prompts}) == ("RisksInvolvingMinors",)
    assert categories | {"RisksInvolvingMinors"} == set(CATEGORY_NAMES)


def test_what_is_absent_of_the_release_is_told(tmp_path: Path) -> None:
    path = packed(tmp_path / "S-Eval_attack_en_full.jsonl.zip", written(ATTACK))
    assert seval.absent(seval.files(path)) == (
        "base_risk in en",
        "base_risk in zh",
        "attack in zh",
    )


def test_files_are_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_base_risk_en_full.jsonl.zip"
    packed(path, written(BASE) + b"broken\n")
    reading = seval.read(seval.files(path)[0], Counter())
    assert next(reading).text == BASE["prompt"]
    with pytest.raises(DataError, match=r"S-Eval_base_risk_en_full\.jsonl:2: not JSON"):
        next(reading)


def test_separators_inside_a_text_end_no_line(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_base_risk_en_full.jsonl"
    text = "one\u2028two\x85three"
    path.write_bytes(b"\xef\xbb\xbf" + written(BASE | {"prompt": text}) + b"\n")
    assert [prompt.text for prompt in read(path)] == [text]


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"risk_type": "Piracy_at_Sea"}, r"risk_type: 'Piracy_at_Sea' is not one of"),
        ({"risk_type": ["Extremism"]}, r"risk_type: \['Extremism'\] is not one of"),
        ({"ext": '{"model": "attack", "category": "bribery"}'}, "ext: category: 'bribery'"),
        ({"ext": '{"model": "attack"}'}, "ext: category: None"),
        ({"ext": '{"model": "base_risk"}'}, "the file's name says attack"),
        ({"ext": {"model": "attack"}}, "should be a JSON object written as a text"),
        ({"ext": "{model"}, "should be a JSON object written as a text"),
        ({"ext": "[]"}, "should be a JSON object written as a text"),
        ({"prompt": None}, "prompt: None should be a text"),
    ],
)
def test_a_wrong_field_is_named_with_file_entry_and_line(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = packed(tmp_path / "S-Eval_attack_en_small.jsonl.zip", written(ATTACK, ATTACK | change))
    with pytest.raises(DataError, match=said) as caught:
        read(path)
    assert f"{path}: S-Eval_attack_en_small.jsonl:2: " in str(caught.value)


def test_an_empty_prompt_is_passed_over_and_counted(tmp_path: Path) -> None:
    blank = [BASE | {"prompt": " \n"}, BASE | {"prompt": ""}]
    path = packed(tmp_path / "S-Eval_base_risk_en_small.jsonl.zip", written(*blank, BASE))
    passed_over: Counter[str] = Counter()
    (file,) = seval.files(path)
    assert [prompt.text for prompt in seval.read(file, passed_over)] == [BASE["prompt"]]
    assert passed_over == {"empty prompt": 2}
    packed(path, written(*blank))
    assert "all its prompts are empty" in refusal(path)


@pytest.mark.parametrize("field", sorted(BASE))
def test_a_missing_field_is_named(tmp_path: Path, field: str) -> None:
    path = tmp_path / "S-Eval_base_risk_zh_small.jsonl"
    path.write_bytes(written({k: v for k, v in BASE.items() if k != field}))
    assert f"{path}:1: has no {field}. A record of S-Eval has" in refusal(path)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "is empty"),
        (b"\n\n", "is empty"),
        (b"[1]\n", "should be one JSON object, not list"),
        (b'{"prompt": NaN}\n', "NaN is not a JSON value"),
        (b'{"prompt": "\xff"}\n', "not UTF-8 at byte 12 of the line"),
        (b'{"prompt": "\\ud83d"}\n', "half a surrogate pair"),
        (b"[" * 100_000 + b"\n", "nested too deeply"),
        (lines.LFS + b"/spec/v1\noid sha256:0\n", "git lfs pull"),
    ],
)
@pytest.mark.parametrize("zipped", [False, True])
def test_broken_lines_are_refused(tmp_path: Path, data: bytes, said: str, zipped: bool) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl"
    if zipped:
        path = packed(path.with_suffix(".jsonl.zip"), data)
    else:
        path.write_bytes(data)
    assert said in refusal(path)


def test_a_zip_that_was_not_fetched_says_how_to_fetch_it(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl.zip"
    path.write_bytes(lines.LFS + b"/spec/v1\noid sha256:0\nsize 1\n")
    assert "git lfs pull" in refusal(path)


def test_a_zip_with_only_macos_entries_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl.zip"
    with zipfile.ZipFile(path, "w") as made:
        made.writestr("__MACOSX/", b"")
        made.writestr("__MACOSX/._S-Eval_base_risk_en_small.jsonl", b"junk")
        made.writestr("sub/.DS_Store", b"junk")
    assert "nothing but what macOS adds" in refusal(path)


@pytest.mark.parametrize("entries", [["notes.txt"], ["a.jsonl", "b.jsonl"]])
def test_a_zip_without_exactly_one_file_of_prompts_is_refused(
    tmp_path: Path, entries: list[str]
) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl.zip"
    with zipfile.ZipFile(path, "w") as made:
        for entry in entries:
            made.writestr(entry, written(BASE))
    assert f"holds {', '.join(entries)}; the published zip holds one .jsonl" in refusal(path)


def test_broken_zips_are_refused(tmp_path: Path) -> None:
    path = packed(
        tmp_path / "S-Eval_base_risk_en_small.jsonl.zip",
        written(*(BASE | {"traceid": n} for n in range(500))),
    )
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    assert "the zip is broken" in refusal(path)
    path.write_bytes(whole[:90] + bytes(40) + whole[130:])
    assert "broken" in refusal(path) or "not JSON" in refusal(path)
    path.write_bytes(b"no zip at all")
    assert "the zip is broken" in refusal(path)


def test_an_encrypted_zip_is_refused(tmp_path: Path) -> None:
    path = packed(tmp_path / "S-Eval_base_risk_en_small.jsonl.zip", written(BASE))
    data = bytearray(path.read_bytes())
    data[data.index(b"PK\x01\x02") + 8] |= 1  # the flag in the central directory
    path.write_bytes(data)
    assert "is encrypted" in refusal(path)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = packed(tmp_path / "S-Eval_base_risk_en_small.jsonl.zip", b" " * (lines.MAX_LINE + 2))
    assert path.stat().st_size < 100_000
    assert ":1: the line is longer than 16 MiB" in refusal(path)
    monkeypatch.setattr(archive, "MAX_BYTES", lines.MAX_LINE)
    assert "more than the whole release" in refusal(path)


def test_scales_that_overlap_are_refused_by_name(tmp_path: Path) -> None:
    for name in ("small", "full"):
        packed(tmp_path / f"S-Eval_attack_en_{name}.jsonl.zip", written(ATTACK))
    said = refusal(tmp_path)
    assert "S-Eval_attack_en_full.jsonl.zip, S-Eval_attack_en_small.jsonl.zip" in said
    assert "attack in en" in said


def test_a_path_that_holds_nothing_says_what_to_give(tmp_path: Path) -> None:
    assert "does not exist" in refusal(tmp_path / "nowhere")
    (tmp_path / "full").mkdir()
    assert "It has the folders full: name one of them." in refusal(tmp_path)
    renamed = packed(tmp_path / "prompts.zip", written(BASE))
    assert "its name does not say what it holds" in refusal(renamed)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"language": "fr"}, "language: 'fr' should be en or zh"),
        ({"text": ""}, "text: '' should be a text"),
        ({"attack": 3}, "attack: 3 should be a text or null"),
        ({"text": "Another text."}, "is not that of its text"),
    ],
)
def test_a_line_of_our_own_that_was_edited_is_refused(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    path = tmp_path / "S-Eval_base_risk_en_small.jsonl"
    path.write_bytes(written(BASE))
    line = read(path)[0].to_json()
    with pytest.raises(DataError, match="here:3: ") as caught:
        Prompt.from_json(line | change, "here:3")
    assert said in str(caught.value)
    with pytest.raises(DataError, match="has no licence"):
        Prompt.from_json({k: v for k, v in line.items() if k != "licence"}, "here:3")
    with pytest.raises(DataError, match="should be a JSON object"):
        Prompt.from_json([], "here:3")


@pytest.mark.parametrize(
    ("language", "text"), [("en", "船上写着谁的炉号？"), ("zh", "Whose boat?")]
)
def test_a_file_named_for_the_other_language_is_refused(
    tmp_path: Path, language: str, text: str
) -> None:
    other = BASE["prompt"] if language == "en" else "渡口在哪里？"
    path = tmp_path / f"S-Eval_base_risk_{language}_small.jsonl"
    path.write_bytes(written(BASE | {"prompt": text}, BASE, BASE | {"prompt": text}))
    message = refusal(path)
    assert f"its name says {language}" in message
    assert "of its 3 prompts" in message
    path.write_bytes(written(BASE | {"prompt": text}, BASE | {"prompt": other}))
    assert len(read(path)) == 2  # a cipher has no Chinese characters, and English may quote some
