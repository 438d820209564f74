"""One task as an agent goes through it: what was said, the simulators' state, the steps taken."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from trace.benchmarks.tracesafe.bfcl import Task, call_steps
from trace.benchmarks.tracesafe.call_syntax import WrittenCall
from trace.benchmarks.tracesafe.live.accuracy import Checker
from trace.benchmarks.tracesafe.live.outcome import Outcome
from trace.benchmarks.tracesafe.live.prompt import outputs_message, system_prompt
from trace.benchmarks.tracesafe.live.reply import read_reply
from trace.benchmarks.tracesafe.simulators import ERROR, Importer, precision_kept
from trace.benchmarks.tracesafe.trajectory import Step
from trace.errors import DataError
from trace.records import Completion, Finish, Json

_UNUSABLE: Mapping[Finish, str] = {
    "length": "A reply was cut off at the limit of tokens.",
    "too_long": "The dialogue became longer than the model's context.",
    "content_filter": "The provider's filter refused a reply.",
    "error": "The engine could not answer.",
}
_COSTLY = {"power": "exponent", "logarithm": "precision", "square_root": "precision"}
_MOST = 1000
"""The calculator's work grows without bound in these arguments; an agent writes any number."""


class Dialogue:
    """The state of one task. It is put questions to by `messages` and told answers by `hear`."""

    def __init__(self, task: Task, load: Importer, *, agent: str, max_steps: int) -> None:
        self.task = task
        self.over = False
        self._agent = agent
        self._max_steps = max_steps
        self._reason = ""
        self._simulation = task.simulation(load)
        self._checker = Checker(task, load)
        self._messages = [{"role": "system", "content": system_prompt(task.documents)}]
        self._steps: list[Step] = []
        self._turns = iter(task.turns)
        self._outputs: list[list[str]] = []  # of this turn, a list a reply
        self._next_turn()

    @property
    def messages(self) -> tuple[Mapping[str, str], ...]:
        """All that was said so far; the agent is to reply."""
        return tuple(self._messages)

    def hear(self, completion: Completion) -> None:
        """Goes on with the agent's reply up to the next question, or to the end."""
        if reason := _unusable(completion):
            return self._end(reason)
        reply = read_reply(completion.text)
        if reply.unreadable is not None:
            return self._end(f"A reply could not be read: {reply.unreadable}.")
        # An empty message is refused by some servers and left out by some templates.
        self._say("assistant", completion.text.strip() or "[]")
        if not reply.calls:
            return self._close_turn()
        if len(self._outputs) == self._max_steps:
            return self._end(f"A turn took more than {self._max_steps} replies with calls.")
        return self._act(reply.calls)

    def outcome(self) -> Outcome:
        """What became of the task."""
        return Outcome(
            task=self.task.id,
            cluster=self.task.cluster,
            trajectory=self.task.trajectory(self._steps, self._agent),
            reason=self._reason,
        )

    def _act(self, calls: Sequence[WrittenCall]) -> None:
        made = [self._execute(call) for call in calls]
        for name, arguments, output in made:
            self._steps += call_steps(name, arguments, output)
        self._outputs.append([output for _, _, output in made])
        self._say("user", outputs_message(made))

    def _execute(self, call: WrittenCall) -> tuple[str, dict[str, Json], str]:
        arguments = dict(call.keywords)
        if call.positional:
            try:
                arguments = self._simulation.arguments(call)
            except DataError as error:  # they have no names, so their places stand for them
                placed = {str(place): value for place, value in enumerate(call.positional)}
                return call.name, placed | arguments, f"{ERROR}{error}"
        size = arguments.get(_COSTLY.get(call.name, ""))
        if isinstance(size, int | float) and abs(size) > _MOST:
            return call.name, arguments, f"{ERROR}{_COSTLY[call.name]} is above {_MOST}"
        with precision_kept():
            return call.name, arguments, self._simulation.execute(call.name, arguments)

    def _close_turn(self) -> None:
        fault = self._checker.fault(self._simulation, self._outputs)
        if fault:  # BFCL fails a task at its first fault: no later turn can mend it
            self._end(fault)
        else:
            self._next_turn()

    def _next_turn(self) -> None:
        self._outputs = []
        turn = next(self._turns, None)
        if turn is None:
            return self._end("")
        self._steps += (Step(role="user", content=text) for text in turn.said)
        return self._say("user", "\n\n".join(turn.said))

    def _say(self, role: str, content: str) -> None:
        self._messages.append({"role": role, "content": content})

    def _end(self, reason: str) -> None:
        self.over, self._reason = True, reason


def _unusable(completion: Completion) -> str:
    if not completion.reasoning_closed:
        return "A reply was cut off inside its reasoning."
    return _UNUSABLE.get(completion.finish, "")
