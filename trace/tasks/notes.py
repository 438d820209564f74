"""What has to be said of a run, on the screen and in its files."""

from __future__ import annotations

from rich.console import Console


class Notes:
    """Sentences, each printed once, when it is first said."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self.said: list[str] = []

    def add(self, *notes: str) -> None:
        """Says what was not said before."""
        for note in notes:
            if note not in self.said:
                self.said.append(note)
                self._console.print(f"note: {note}", markup=False, soft_wrap=True)
