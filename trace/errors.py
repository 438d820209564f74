"""The errors a user can cause. Each message says what is wrong, where, and what to do instead."""


class TraceError(Exception):
    """An error with a message meant for the user: shown as one message, without a traceback."""

    exit_status = 2


class ConfigError(TraceError):
    """A configuration that cannot work."""


class DataError(TraceError):
    """An input file that cannot be read as what it should be."""


class AssetError(TraceError):
    """A pinned package that cannot be had, or is not what it should be."""


class BusyError(TraceError):
    """Another process works in the same run directory."""


class UnscoredError(TraceError):
    """A complete run in which more samples than allowed have no label."""

    exit_status = 1


class UnsupportedError(TraceError):
    """A cell of a sweep that a model cannot do: it is listed and left out, and nothing is wrong."""

    exit_status = 0
