"""An item as a task of Label Studio: its texts, and nothing that gives a label away."""

from __future__ import annotations

import re
from typing import Final

from trace.annotation.form import Form
from trace.annotation.item import Item
from trace.errors import DataError
from trace.records import Json, digest

ITEM: Final = "item"
"""The key in a task's data under which `sent_name` stands."""

_UNSENDABLE: Final = re.compile("[\x00\ud800-\udfff]")


def sent_name(id_: str) -> str:
    """What an item is called on the server.

    Its own id may say what nobody is to see, such as the name of the model that answered.
    """
    return digest(id_)[:16]


def task(item: Item, form: Form) -> Json:
    """What is uploaded of an item: the passages that the form shows, as they are, and a name.

    Its id, labels, spans, stratum and cluster stay behind.

    Raises:
        DataError: A text has a NUL or half of a surrogate pair, which would not come back.
    """
    for passage in form.passages:
        if found := _UNSENDABLE.search(item.texts[passage.name]):
            raise DataError(
                f"item {item.id}: its {passage.name} has U+{ord(found[0]):04X} at character "
                f"{found.start()}, which Label Studio cannot carry. Repair the text in the "
                "data set, or leave the item out."
            )
    return {
        "data": {p.name: item.texts[p.name] for p in form.passages} | {ITEM: sent_name(item.id)}
    }
