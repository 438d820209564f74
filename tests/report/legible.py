"""Whether a figure can be read: no text is cut by its edge or by another text."""

from __future__ import annotations

import itertools
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.text import Text


def check_texts(figure: Figure, *, more_than: int) -> list[Text]:
    """Draws the figure, looks at its texts, and returns them."""
    board: Any = FigureCanvasAgg(figure)
    board.draw()
    renderer = board.get_renderer()
    shown = [t for t in figure.findobj(Text) if t.get_visible() and t.get_text()]
    assert len(shown) > more_than
    straight = []
    for text in shown:
        box = text.get_window_extent(renderer)
        assert box.x0 >= 0, text
        assert box.y0 >= 0, text
        assert box.x1 <= figure.bbox.x1, text
        assert box.y1 <= figure.bbox.y1, text
        if text.get_rotation() in (0, 90):
            straight.append((text.get_text(), box))
    for (one, a), (other, b) in itertools.combinations(straight, 2):
        assert not (a.x0 < b.x1 and b.x0 < a.x1 and a.y0 < b.y1 and b.y0 < a.y1), (one, other)
    return shown
