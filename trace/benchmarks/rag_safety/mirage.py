"""The public MIRAGE benchmark as harmless questions: what a model can do with a document.

Park et al. 2025, "MIRAGE: A Metric-Intensive Benchmark for Retrieval-Augmented Generation
Evaluation", NAACL Findings (arXiv 2504.17137), repository nlpai-lab/MIRAGE, folder `mirage`:

* `dataset.json`: a list of objects with `query_id`, `query` and `answer`, a list of texts any of
  which is right, or such a list written as a text.
* `oracle.json`: an object, `query_id` -> an object with `doc_chunk`, the text with the answer.
* `doc_pool.json`: the 37,800 chunks that a retriever would search. It is not read: the oracle is.

These fields are the ones that the authors' own evaluation reads. `doc_name`, the title of the
article, is read where it is there; that it is, only readers by others confirm.
"""

from __future__ import annotations

import ast
import hashlib
import json
from pathlib import Path

from trace.benchmarks import lines
from trace.benchmarks.fields import Fields
from trace.benchmarks.rag_safety.released import RowSet
from trace.benchmarks.rag_safety.row import Document, Row
from trace.benchmarks.rag_safety.taxonomy import TAXONOMY
from trace.config.retrieval import Retrieval
from trace.errors import DataError
from trace.records import Json
from trace.report.grid import many

QUESTIONS, ORACLES = "dataset.json", "oracle.json"
TERMS = (
    "MIRAGE (Park et al. 2025): its repository names no licence, so look at the data set's page "
    "before you pass it on; the texts are from Wikipedia, CC BY-SA 4.0 with attribution"
)


def rows(folder: Path, condition: Retrieval) -> RowSet:
    """Every question, with its oracle chunk or without any document.

    A question without an oracle chunk is left out under both conditions, and counted.

    Args:
        folder: the one with the two files, or the repository's.
        condition: oracle or non_rag.

    Raises:
        DataError: the condition is another one, or a file is missing, not fetched or not as
            published; with the record.
    """
    if condition not in ("oracle", "non_rag"):
        raise DataError(
            f"benchmark.mirage: has no documents for {condition}. Use condition=oracle or "
            "condition=non_rag."
        )
    where = folder if (folder / QUESTIONS).is_file() else folder / "mirage"
    fingerprint: dict[str, str] = {}
    questions = _read(where / QUESTIONS, list, fingerprint)
    oracles = _read(where / ORACLES, dict, fingerprint)
    made: dict[str, Row] = {}
    for number, value in enumerate(questions, start=1):
        fields = Fields(value, f"{where / QUESTIONS}, record {number}")
        id_ = fields.text("query_id")
        if id_ in made:
            raise DataError(f"{fields.at}: query_id: {id_!r:.60} stands there before. Remove one.")
        if id_ in oracles:
            oracle = _document(id_, Fields(oracles[id_], f"{where / ORACLES}, {id_}"))
            made[id_] = _row(id_, fields, oracle, condition)
    if not made:
        raise DataError(
            f"{where}: {ORACLES} has no query_id of {QUESTIONS}. Get both from one version."
        )
    lost = len(questions) - len(made)
    notes = (f"{many(lost, 'question')} without a chunk in {ORACLES} left out.",) if lost else ()
    return RowSet(rows=tuple(made.values()), fingerprint=fingerprint, notes=notes)


def _row(id_: str, fields: Fields, oracle: Document, condition: Retrieval) -> Row:
    answers = _answers(fields)
    return Row(
        id=id_,
        question=fields.text("query"),
        condition=condition,
        documents=(oracle,) if condition == "oracle" else (),
        subcategory=TAXONOMY.benign.name,
        family=TAXONOMY.benign.name,
        expected=" or ".join(answers),
        oracle=oracle.id,
        oracle_title=oracle.title,
        keys=(answers,),
        provenance={"dataset_stage": "mirage", "licence": TERMS},
    )


def _document(id_: str, fields: Fields) -> Document:
    return Document(
        id=f"{id_}:oracle",
        title=fields.optional("doc_name") or "",
        url="",
        rank=1,
        is_gold=True,
        safety="safe",
        support="full",
        relation="answers",
        text=fields.text("doc_chunk"),
        provenance={"text_source": "mirage", "licence": TERMS},
    )


def _answers(fields: Fields) -> tuple[str, ...]:
    """Any of them is right. A text that is no list of texts is the one answer."""
    said = fields.line.get("answer")
    if isinstance(said, str):
        try:
            said = ast.literal_eval(said)
        except (ValueError, SyntaxError, MemoryError, RecursionError):
            said = [said]
        if not isinstance(said, list):
            said = [fields.line["answer"]]
    if not isinstance(said, list) or not all(isinstance(one, str) for one in said):
        raise DataError(f"{fields.at}: answer: {said!r:.40} should be a list of texts.")
    answers = tuple(dict.fromkeys(one.strip() for one in said if one.strip()))
    if not answers:
        raise DataError(f"{fields.at}: answer: is empty. Remove the record.")
    return answers


def _read(path: Path, kind: type, fingerprint: dict[str, str]) -> Json:
    """What stands in a JSON file. Its sha256 is added to the fingerprint."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise DataError(
            f"benchmark.mirage: {path} cannot be read ({error.strerror or error}). Give the folder "
            f"with {QUESTIONS} and {ORACLES}."
        ) from error
    if data.startswith(lines.LFS):
        raise lines.lfs_pointer(str(path))
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: not JSON in UTF-8 ({error}). Get the file again.") from error
    if not isinstance(value, kind):
        shape = "a list of questions" if kind is list else "an object by query_id"
        raise DataError(f"{path}: should be {shape}, not {type(value).__name__}.")
    fingerprint[path.name] = hashlib.sha256(data).hexdigest()
    return value
