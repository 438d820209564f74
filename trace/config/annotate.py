"""task=annotate: who labels what by hand, and where the server is."""

from __future__ import annotations

from dataclasses import field
from typing import Literal, get_args

from trace.config.base import check, check_choice, config

Action = Literal["serve", "export", "import", "status"]
Select = Literal["random", "queue", "disagreements"]
LONGEST_NAME = 20
"""Characters of a pseudonym: a title in Label Studio has 50 in all."""
FormName = Literal["rag_answer", "rag_document", "cross_lab"]


@config
class Annotate:
    """What people are asked to label, and how their work comes back."""

    action: str = "status"
    """serve, export, import or status."""
    select: str = "random"
    """export: items at random, the queue of a build, or those on which annotators differ."""
    items: int | None = None
    """export: how many items in all, in proportion to the strata; all of them without it."""
    annotators: list[str] = field(default_factory=lambda: ["A1", "A2"])
    """export: pseudonyms, one project each."""
    overlap: float = 1.0
    """export: the share of the items that every annotator gets; the rest go to one each."""
    form: str | None = None
    """export: asks about answers of other studies; the benchmark's own form without it."""
    source: str | None = None
    """export: the JSONL file that `form` asks about."""
    export: str | None = None
    """import and status: the folder of an export."""
    imported: str | None = None
    """export select=disagreements: the folder of an import."""
    url: str | None = None
    """A Label Studio elsewhere, its key in LABEL_STUDIO_API_KEY; without it the one served here."""
    port: int = 8080
    """serve: where it listens, on this machine alone."""
    data_dir: str | None = None
    """serve: where it keeps its database; the user's data folder without it."""

    def __post_init__(self) -> None:
        check_choice("annotate.action", self.action, get_args(Action))
        check_choice("annotate.select", self.select, get_args(Select))
        if self.form is not None:
            check_choice("annotate.form", self.form, get_args(FormName))
        check(
            (self.form is None) == (self.source is None),
            "annotate.form" if self.form is None else "annotate.source",
            "is needed beside annotate.source" if self.form is None else "has no value",
            f"Choose a form ({', '.join(get_args(FormName))}) and give the file of answers.",
        )
        check(
            self.items is None or self.items >= 1,
            "annotate.items",
            f"{self.items} is below 1",
            "Give a positive number, or leave it out for everything.",
        )
        check(bool(self.annotators), "annotate.annotators", "is empty", "Name one: [A1].")
        check(
            len({name.casefold() for name in self.annotators}) == len(self.annotators),
            "annotate.annotators",
            "names somebody twice",
            "Give each a name of their own: [A1,A2].",
        )
        for name in self.annotators:
            check(
                name.isascii() and name.replace("-", "").replace("_", "").isalnum(),
                "annotate.annotators",
                f"{name!r} is no pseudonym",
                "Use letters, digits, - and _, such as A1. It stands in every file, so it should "
                "not be anybody's name.",
            )
            check(
                len(name) <= LONGEST_NAME,
                "annotate.annotators",
                f"{name!r} has more than {LONGEST_NAME} characters",
                "Shorten it: projects are told apart by it, and their titles are short.",
            )
        check(
            0 <= self.overlap <= 1,
            "annotate.overlap",
            f"{self.overlap} is not a share",
            "Give a number from 0 to 1; 1 has everything labelled by everybody.",
        )
        check(
            1 <= self.port <= 65535,
            "annotate.port",
            f"{self.port} is no port",
            "8080 is the default.",
        )
        check(
            self.url is None or self.url.startswith(("http://", "https://")),
            "annotate.url",
            f"{self.url!r} is no address",
            "It begins with http:// or https://.",
        )
        check(
            self.action != "import" or self.export is not None,
            "annotate.export",
            "has no value",
            "Give the folder that annotate.action=export wrote.",
        )
        check(
            (self.imported is not None) == (self.select == "disagreements"),
            "annotate.imported",
            "has no value" if self.imported is None else "is not read by this selection",
            "Give the folder of an import and annotate.select=disagreements, or neither.",
        )
        check(
            self.items is None or self.select != "disagreements",
            "annotate.items",
            "is not read by a second pass, which has all that people differ on",
            "Leave it out.",
        )
