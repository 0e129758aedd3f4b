"""hyperfine: times of commands, from its JSON (--export-json)."""

from collections.abc import Iterator, Mapping
from typing import Any

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type
from suites.programs import Program
from suites.quantities import count_text
from suites.read_only.base import (
    LONGEST,
    MEAN,
    MEDIAN,
    RUN_CHECKS,
    RUNS,
    SHORTEST,
    SPREAD,
    TIMES,
    ReadOnlySuite,
    is_number,
    name_of,
    numbers_in,
    spread_of,
    time_metric,
    times_figures,
    tool_output,
)
from suites.strict_json import objects_in, read_json
from suites.vocab import Figure, Resource

USER = time_metric("time_user", "Mean CPU time, user")
SYSTEM = time_metric("time_system", "Mean CPU time, system")

SHORTEST_RELIABLE = 0.005
"""Seconds below which hyperfine warns that the start-up of the shell dominates (its MIN_EXECUTION_TIME)."""

FASTEST = Parameter(
    name="shortest",
    title="Shortest run",
    type=Type.NUMBER,
    default=0.0,
    help="Shortest measured time; 0 if not known.",
    unit="s",
    minimum=0,
)

_MEANS = (("mean", MEAN), ("median", MEDIAN), ("min", SHORTEST), ("max", LONGEST))


def _too_short(evidence: StepEvidence) -> CheckOutcome | None:
    shortest = float(evidence.values["shortest"])
    return CheckOutcome(f"Shortest run: {1000 * shortest:.3g} ms.") if 0 < shortest < SHORTEST_RELIABLE else None


class Hyperfine(ReadOnlySuite):
    """The times of a command in repeated runs."""

    id = "hyperfine"
    title = "hyperfine"
    summary = "Time of a command from its start to its end, repeated."
    resource = Resource.CPU
    program = Program("hyperfine", ("hyperfine",))
    parameters = (RUNS, SPREAD, FASTEST)
    metrics = (*TIMES, USER, SYSTEM)
    checks = (
        *RUN_CHECKS,
        Check(
            id="command-too-short",
            title="Command is too short to time",
            why="Starting the shell and the process takes as long as the command, and its correction is inexact.",
            remedy="Use --shell=none, or time more work in one run.",
            source="hyperfine: warning below 5 ms.",
            evaluate=_too_short,
            needs="The times of the runs.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The JSON of hyperfine 1 and 2."""
        keys, free_text = frozenset({"results"}), frozenset({"command"})
        return (OutputFormat(title="hyperfine JSON", keys=keys, read=self._read, free_text=free_text),)

    def _read(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        for one in objects_in(read_json(text), "results"):
            times, codes, version_1 = _runs(one)
            summary = [Figure(metric, float(one[key])) for key, metric in _MEANS if is_number(one.get(key))]
            figures = [*(times_figures(times) or (summary if version_1 else ()))]
            if not figures or not isinstance(one.get("command"), str):
                continue
            figures += [
                Figure(metric, float(one[key]))
                for key, metric in (("user", USER), ("system", SYSTEM))
                if is_number(one.get(key))
            ]
            failed = sum(code != 0 for code in codes)
            problems = (f"{count_text(failed, 'run')} of {len(codes)} failed: no figure.",) if failed else ()
            stated = {"runs": len(times), "spread": spread_of(times), "shortest": min(times, default=0.0)}
            named = name_of(one.get("name") or one["command"])
            yield tool_output(self.id, () if failed else figures, stated, name=named, problems=problems)


def _runs(one: Mapping[str, Any]) -> tuple[list[float], list[object], bool]:
    """Return the times and exit codes of a command, and whether they are those of version 1."""
    measured = objects_in(one, "measurements")
    if not measured:
        codes = one.get("exit_codes")
        return numbers_in(one.get("times")), codes if isinstance(codes, list) else [], True
    walls = [found for each in measured if isinstance(found := each.get("time_wall_clock"), dict)]
    times = [float(wall["value"]) for wall in walls if wall.get("unit") == "second" and is_number(wall.get("value"))]
    return times, [each.get("exit_code") for each in measured], False
