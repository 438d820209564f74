"""BFCL's API simulators: imported from the unpacked wheel, called by name, never by `eval`."""

from __future__ import annotations

import contextlib
import copy
import decimal
import importlib
import inspect
import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from trace.benchmarks.tracesafe.call_syntax import WrittenCall
from trace.errors import DataError
from trace.records import Json

BACKENDS = "bfcl_eval.constants.executable_backend_config"
ERROR = "Error during execution: "
Importer = Callable[[str], ModuleType]


@contextlib.contextmanager
def bfcl_modules(folder: Path) -> Iterator[Importer]:
    """Gives a function that imports BFCL's modules from `folder`; afterwards all is as before.

    That is the module path, the imported modules, and the precision of decimal and mpmath
    numbers, which the calculator simulator sets for the whole process. The package's own
    dependencies are not needed: the simulators import mpmath and the standard library only.
    """
    mine = {name: module for name, module in sys.modules.items() if _is_bfcl(name)}
    path, bytecode = list(sys.path), sys.dont_write_bytecode
    for name in mine:
        del sys.modules[name]
    sys.path.insert(0, str(folder))
    sys.dont_write_bytecode = True  # the folder is checked content: nothing is written there
    importlib.invalidate_caches()
    try:
        with precision_kept():
            yield importlib.import_module
    finally:
        sys.path[:], sys.dont_write_bytecode = path, bytecode
        for name in [name for name in sys.modules if _is_bfcl(name)]:
            del sys.modules[name]
        sys.modules.update(mine)


@contextlib.contextmanager
def precision_kept() -> Iterator[None]:
    """Afterwards the precision of decimal and mpmath numbers is as before."""
    mpmath = importlib.import_module("mpmath")  # it has no type stubs
    with decimal.localcontext(), mpmath.workdps(mpmath.mp.dps):
        yield


def _is_bfcl(name: str) -> bool:
    return name == "bfcl_eval" or name.startswith("bfcl_eval.")


class Simulation:
    """The simulators of one task by class, with the state that its calls leave behind."""

    def __init__(
        self,
        load: Importer,
        classes: Sequence[str],
        state: Mapping[str, Json],
        *,
        long_context: bool = False,
    ) -> None:
        backends = load(BACKENDS)
        self.simulators: dict[str, Any] = {}
        self._methods: dict[str, Callable[..., Any]] = {}
        for name in classes:
            simulator = getattr(load(backends.CLASS_FILE_PATH_MAPPING[name]), name)()
            if name not in backends.STATELESS_CLASSES:
                scenario = copy.deepcopy(state.get(name, {}))
                simulator._load_scenario(scenario, long_context=long_context)
            self.simulators[name] = simulator
            self._methods |= {
                method: bound
                for method, bound in inspect.getmembers(simulator, inspect.ismethod)
                if not method.startswith("_")
            }

    def arguments(self, call: WrittenCall) -> dict[str, Json]:
        """The call's arguments by parameter name.

        Raises:
            DataError: no simulator has such a method, it takes fewer positional arguments, or one
                is given twice.
        """
        if call.name not in self._methods:
            raise DataError(f"no simulator of this task has a method {call.name}.")
        names = list(inspect.signature(self._methods[call.name]).parameters)
        if len(call.positional) > len(names):
            raise DataError(
                f"{call.name} takes {len(names)} arguments, not {len(call.positional)}."
            )
        placed = dict(zip(names, call.positional, strict=False))
        if twice := placed.keys() & call.keywords.keys():
            raise DataError(f"{call.name} is given {', '.join(sorted(twice))} twice.")
        return placed | dict(call.keywords)

    def execute(self, name: str, arguments: Mapping[str, Json]) -> str:
        """What the tool returns, as text in BFCL's way: JSON for an object, else `str`.

        An exception becomes the output "Error during execution: …", as a model would see it; so
        does a name that no simulator has.
        """
        if name not in self._methods:
            return f"{ERROR}name {name!r} is not defined"
        try:
            result = self._methods[name](**copy.deepcopy(dict(arguments)))
            if isinstance(result, dict):
                with contextlib.suppress(TypeError, ValueError):
                    return json.dumps(result)
            return str(result)  # fails for an integer of thousands of digits
        except Exception as error:
            return f"{ERROR}{error}"
