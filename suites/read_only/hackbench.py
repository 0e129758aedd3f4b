"""hackbench: time in which groups of tasks send each other messages."""

import re
from collections.abc import Iterator
from dataclasses import replace

from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value
from suites.programs import Program
from suites.read_only.base import RUN_CHECKS, RUNS, SPREAD, TIMES, ReadOnlySuite, spread_of, times_figures, tool_output
from suites.vocab import Resource

_HEAD = re.compile(
    r"Running (?:in (?P<mode>\w{1,20}) mode )?with (?P<groups>\d{1,6}) (?:groups|\*)"
    r"[^(]{0,80}\(== (?P<tasks>\d{1,9}) tasks"
)
_TIME = re.compile(r"Time: (\d{1,9}(?:\.\d{1,6})?)$")

TASKS = Parameter(name="tasks", title="Tasks", type=Type.INTEGER, default=0, minimum=0, help="Tasks; 0 if not known.")
GROUPS = Parameter(name="groups", title="Groups", type=Type.INTEGER, default=10, minimum=1, help="Groups.", option="-g")


class Hackbench(ReadOnlySuite):
    """The time of a fixed number of messages between tasks."""

    id = "hackbench"
    title = "hackbench"
    summary = "Time in which groups of tasks send each other messages: the scheduler and the sockets."
    resource = Resource.CPU
    program = Program("hackbench", ("hackbench",))
    parameters = (RUNS, SPREAD, GROUPS, TASKS)
    metrics = TIMES
    checks = RUN_CHECKS

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The text of one or several runs with the same groups; its time alone is not recognised."""
        return (OutputFormat(title="hackbench", first=_HEAD, line=_HEAD, read=self._read),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield the runs of each number of tasks together."""
        tasks, times = ("", ""), dict[tuple[str, str], list[float]]()
        for line in text.splitlines():
            if match := _HEAD.match(line.strip()):
                tasks = match["groups"], match["tasks"]
            elif tasks != ("", "") and (match := _TIME.match(line.strip())):
                times.setdefault(tasks, []).append(float(match[1]))
        for (groups, number), values in times.items():
            stated: dict[str, Value] = {
                "runs": len(values),
                "spread": spread_of(values),
                "tasks": int(number),
                "groups": int(groups),
            }
            yield replace(tool_output(self.id, times_figures(values), stated), seconds=sum(values))
