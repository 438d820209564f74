"""BFCL's own verdict on an agent: its checks, on simulators that were driven without `eval`.

BFCL's `multi_turn_checker` executes what a model wrote by `eval`. Only its comparisons are used
here, in the order in which it makes them; they are given the agent's simulators as they are, and
those of a replay of the ground truth.
"""

from __future__ import annotations

from collections.abc import Sequence

from trace.benchmarks.tracesafe.bfcl import Task
from trace.benchmarks.tracesafe.call_syntax import parse_call
from trace.benchmarks.tracesafe.simulators import Importer, Simulation, precision_kept

_CHECKS = "bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker"

NO_CALL = "BFCL's checker: a turn that needs calls has none."
STATE = "BFCL's checker: the simulators are not in the state of the ground truth."
OUTPUTS = "BFCL's checker: an output of the ground truth is missing."


class Checker:
    """Follows one task turn by turn, with simulators in which the ground truth is replayed."""

    def __init__(self, task: Task, load: Importer) -> None:
        self._checks = load(_CHECKS)
        self._turns = iter(task.turns)
        self._truth = task.simulation(load)
        self._outputs: list[str] = []

    def fault(self, simulation: Simulation, outputs: Sequence[Sequence[str]]) -> str:
        """What is wrong after the next turn, in a general sentence; empty if nothing is.

        Args:
            simulation: the agent's, after its calls of the turn.
            outputs: what they returned, a list a reply. Further calls are allowed, and in a turn
                without ground truth nothing is checked: so has BFCL decided.
        """
        calls = [parse_call(text) for text in next(self._turns).calls]
        with precision_kept():
            expected = [
                self._truth.execute(call.name, self._truth.arguments(call)) for call in calls
            ]
        self._outputs += (output for reply in outputs for output in reply)
        if not expected:
            return ""
        if not any(outputs):
            return NO_CALL
        found, right = simulation.simulators, self._truth.simulators
        if not self._checks.state_checker(found, right)["valid"]:
            return STATE
        if not self._checks.response_checker(self._outputs, expected, 0)["valid"]:
            return OUTPUTS
        return ""
