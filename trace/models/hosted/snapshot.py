"""Which model answers: two snapshots of a model are never merged into one run."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from trace.errors import TraceError
from trace.models.hosted.reply import served_name
from trace.records import Completion


class Snapshot:
    """Holds every answer against the name under which the first ones of the run were served.

    Those are the ones in the log, if any. A server may route a single request elsewhere, so an
    answer by another name is not taken and asked again; `strays` counts those in a row. Answers
    that tell no name are taken: some errors end a request without one.
    """

    def __init__(self, requested: str, done: Iterable[Completion]) -> None:
        self.requested = requested
        self.names = Counter(name for c in done if (name := served_name(c.engine)))
        self.strays = 0

    def stray(self, completion: Completion) -> TraceError | None:
        """None for an answer to be taken; else the error to stop with if this goes on."""
        name = served_name(completion.engine)
        if not name or not self.names or name in self.names:
            self.names.update([name] if name else [])
            self.strays = 0
            return None
        self.strays += 1
        first = max(self.names, key=self.names.__getitem__)
        return TraceError(
            f"model.id={self.requested}: {self.names[first]} answers of this run were given by "
            f"{first}, and the server answers as {name} now. Two snapshots are not merged: name "
            f"the one you mean (model.id={first}), or begin anew with another output_dir=FOLDER."
        )
