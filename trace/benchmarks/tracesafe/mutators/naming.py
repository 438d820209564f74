"""Names of tools and parameters: taken apart, put together in the same style, said otherwise."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

_WORD = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")

_FIRST_WORD = {
    "activate": ("engage", "enable", "apply"),
    "add": ("append", "insert", "attach"),
    "authenticate": ("sign_in_to", "verify_login_for", "connect_to"),
    "book": ("reserve", "schedule"),
    "cancel": ("revoke", "withdraw", "undo"),
    "cat": ("show_file", "print_file", "read_file"),
    "cd": ("change_directory", "enter_folder", "open_directory"),
    "check": ("inspect", "measure", "verify"),
    "close": ("finish", "complete"),
    "comment": ("reply_to_post", "write_comment", "leave_comment"),
    "compute": ("calculate", "work_out"),
    "contact": ("reach", "message"),
    "cp": ("copy_file", "duplicate_file", "clone_file"),
    "create": ("open", "make", "file"),
    "delete": ("erase", "discard", "drop"),
    "diff": ("compare_files", "show_differences", "file_delta"),
    "display": ("show", "print"),
    "du": ("disk_usage", "folder_size", "measure_directory"),
    "echo": ("write_text", "print_to_file", "write_line"),
    "edit": ("modify", "amend", "revise"),
    "estimate": ("predict", "approximate", "assess"),
    "fill": ("refill", "top_up"),
    "find": ("locate", "look_up", "discover"),
    "fund": ("credit", "top_up", "deposit_to"),
    "get": ("fetch", "retrieve", "read", "load"),
    "grep": ("search_text", "match_lines", "find_in_file"),
    "list": ("enumerate", "show"),
    "lock": ("secure", "latch"),
    "logarithm": ("compute_log", "log_value", "log_base"),
    "ls": ("list_files", "list_directory", "show_folder"),
    "mean": ("average", "compute_mean", "arithmetic_mean"),
    "mention": ("tag_user", "notify_user", "mention_in_post"),
    "mkdir": ("make_directory", "create_folder", "new_folder"),
    "mv": ("move_file", "rename_file", "relocate_file"),
    "place": ("submit", "enter", "issue"),
    "post": ("publish", "share", "send"),
    "press": ("push", "depress", "apply"),
    "purchase": ("buy", "order", "acquire"),
    "register": ("enroll", "save", "link"),
    "release": ("let_go_of", "lift"),
    "remove": ("take_off", "drop", "exclude"),
    "resolve": ("settle", "fix", "complete"),
    "retrieve": ("fetch", "download", "obtain"),
    "retweet": ("repost", "share_tweet", "forward_tweet"),
    "rm": ("delete_file", "remove_file", "erase_file"),
    "rmdir": ("remove_directory", "delete_folder", "drop_folder"),
    "search": ("query", "look_through"),
    "send": ("deliver", "dispatch", "transmit"),
    "set": ("update", "configure", "define"),
    "sort": ("order_lines", "sort_lines", "arrange_lines"),
    "standard": ("sample",),
    "start": ("launch", "switch_on", "turn_on"),
    "tail": ("last_lines", "show_end", "read_end"),
    "touch": ("create_file", "new_file", "make_file"),
    "verify": ("validate", "confirm", "check"),
    "view": ("show", "list", "read"),
    "wc": ("count_words", "word_count", "count_text"),
    "withdraw": ("take_out", "pull"),
}
_ANY_WORD = {
    "budget": ("spending",),
    "gallon": ("gal",),
    "liter": ("litre",),
    "login": ("sign_in", "log_on"),
    "logout": ("sign_out", "log_off"),
}
# Both: a word of a tool's name -> what a model might write instead. No result is a name in BFCL.


def sentence(text: str) -> str:
    """The text with a full stop where it lacks one, so that another sentence can follow."""
    return text if not text or text.endswith((".", "!", "?")) else f"{text}."


@lru_cache(maxsize=8192)  # the same few names and descriptions stand in every record
def words(name: str) -> tuple[str, ...]:
    """The lower-case words of a snake_case or camelCase name, or of a text."""
    return tuple(word.lower() for word in _WORD.findall(name))


def styled(parts: Sequence[str], like: str) -> str:
    """The words as one name, in the style of the name `like`."""
    if "_" not in like and re.search(r"[a-z][A-Z]", like):
        return parts[0] + "".join(part.capitalize() for part in parts[1:])
    return "_".join(parts)


def renamings(name: str) -> list[str]:
    """The names that one synonym makes of a name, in its style."""
    parts = words(name)
    return [
        styled([*parts[:i], *synonym.split("_"), *parts[i + 1 :]], name)
        for i, part in enumerate(parts)
        for synonym in (*_ANY_WORD.get(part, ()), *(_FIRST_WORD.get(part, ()) if i == 0 else ()))
    ]
