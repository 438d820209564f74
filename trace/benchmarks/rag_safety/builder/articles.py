"""The user's articles: files of them, or an export of a wiki."""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from trace import config
from trace.benchmarks import lines
from trace.benchmarks.rag_safety.builder.article import Article
from trace.benchmarks.rag_safety.builder.mediawiki import SUFFIXES, Export, read_categories
from trace.errors import DataError

_KEY = "benchmark.builder.articles"


@dataclass(frozen=True, slots=True, kw_only=True)
class Articles:
    """Articles, why pages of an export are none -> how many, and the sha256 of every file."""

    articles: tuple[Article, ...]
    passed_over: Mapping[str, int]
    fingerprint: Mapping[str, str]


def read(builder: config.RagBuilder) -> Articles:
    """Reads what the configuration names.

    Raises:
        DataError: a file cannot be read; an article lacks what it must say of itself, stands
            twice, or is about a topic that the study leaves out; or there is none.
    """
    assert builder.articles is not None  # the configuration has checked it
    path = Path(builder.articles).expanduser()
    passed_over: Counter[str] = Counter()
    if path.suffix.lower() in SUFFIXES and not path.is_dir():
        export, tables = _export(builder, path)
        files, found = [path, *tables], export.articles(passed_over)
    else:
        files = _files(path)
        for name in ("categories", "licence"):
            if getattr(builder, name) is not None:
                raise DataError(
                    f"benchmark.builder.{name}: is read of a MediaWiki export alone; the lines of "
                    f"{path} say it themselves. Leave it out."
                )
        found = (article for file in files for article in _read(file))
    articles: dict[tuple[str, str], Article] = {}
    for article in found:
        known = articles.setdefault((article.url, article.title), article)
        if known is not article:  # another version of the oracle would stand on its topic
            raise DataError(
                f"{_KEY}: {article.title!r:.60} ({article.url}) stands there twice, as revision "
                f"{known.revision} and {article.revision}. Remove one of them."
            )
    if not articles:
        why = ", ".join(f"{n:,} {reason}" for reason, n in passed_over.most_common())
        raise DataError(
            f"{_KEY}: {path} has no article that can be taken ({why or 'it is empty'})."
        )
    return Articles(
        articles=tuple(articles.values()),
        passed_over=dict(passed_over.most_common()),
        fingerprint={file.name: _sha256(file) for file in files},
    )


def _export(builder: config.RagBuilder, path: Path) -> tuple[Export, list[Path]]:
    licence = (builder.licence or "").strip()
    if not licence:
        raise DataError(
            "benchmark.builder.licence: is missing, and an export does not say the licence of its "
            "texts. Type what the wiki says, such as benchmark.builder.licence='CC BY-SA 4.0'."
        )
    if builder.categories is None:
        raise DataError(
            "benchmark.builder.categories: is missing. Give a CSV of category and subcategory, "
            "which says what the wiki's categories are here; an empty one is harmless."
        )
    table = Path(builder.categories).expanduser()
    categories = read_categories(table)
    return Export(path=path, licence=licence, categories=categories), [table]


def _files(path: Path) -> list[Path]:
    if path.is_file():
        return [path]
    files = sorted(path.glob("*.jsonl")) if path.is_dir() else []
    if not files:
        what = "has no *.jsonl file" if path.is_dir() else "does not exist"
        raise DataError(
            f"{_KEY}: {path} {what}. Give a JSONL file of articles, a folder of such files, or a "
            f"MediaWiki export ({' or '.join(SUFFIXES)})."
        )
    return files


def _read(path: Path) -> Iterator[Article]:
    try:
        with path.open("rb") as stream:
            for at, line in lines.objects(stream, str(path)):
                yield Article.from_json(line, at)
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error


def _sha256(path: Path) -> str:
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise DataError(f"{path}: cannot be read ({error.strerror}).") from error
