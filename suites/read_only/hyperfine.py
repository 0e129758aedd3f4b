"""hyperfine: times of commands, from its JSON (--export-json)."""

import re
from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean, median
from typing import Any

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.identities import Ascending, Identities, Member, PrintedLine, broken, json_numbers, negative_members, noted
from suites.outputs import OutputFormat, ToolOutput
from suites.parameters import Parameter, Type, Value, flag_parameter
from suites.programs import Program
from suites.quantities import count_text, quantity
from suites.read_only.base import (
    DEVIATION,
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
from suites.units import Unit
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


FIRST_SLOWER = flag_parameter(
    name="first_slower", title="First run slower", default=False, help="Whether hyperfine warns of a slow first run."
)
OUTLYING = flag_parameter(
    name="outlying", title="Outliers", default=False, help="Whether hyperfine warns of outliers among the runs."
)


def _first_slower(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("hyperfine warns of a slow first run.") if evidence.values.get("first_slower") else None


def _outlying(evidence: StepEvidence) -> CheckOutcome | None:
    return CheckOutcome("hyperfine warns of outliers.") if evidence.values.get("outlying") else None


class Hyperfine(ReadOnlySuite):
    """The times of a command in repeated runs."""

    id = "hyperfine"
    title = "hyperfine"
    summary = "Time of a command from its start to its end, repeated."
    resource = Resource.CPU
    program = Program("hyperfine", ("hyperfine",))
    parameters = (RUNS, SPREAD, FASTEST, FIRST_SLOWER, OUTLYING)
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
        Check(
            id="first-run-slower",
            title="First run is slower",
            why="It fills caches that the others use: the mean is that of neither.",
            remedy="Use --warmup to measure with warm caches, or --prepare to clear them before each run.",
            source="hyperfine: warning of the first run.",
            evaluate=_first_slower,
            needs="The warnings of hyperfine.",
        ),
        Check(
            id="runs-outlying",
            title="Outliers among the runs",
            why="Other programs or the clock of the CPU disturb some runs, and the mean with them.",
            remedy="Close other programs and repeat it; compare medians.",
            source="hyperfine: warning of statistical outliers (modified Z-score above 14.8).",
            evaluate=_outlying,
            needs="The warnings of hyperfine.",
        ),
    )

    @property
    def output_formats(self) -> tuple[OutputFormat, ...]:
        """The JSON of hyperfine 1 and 2."""
        keys, free_text = frozenset({"results"}), frozenset({"command"})
        return (
            OutputFormat(title="hyperfine JSON", keys=keys, read=self._read, free_text=free_text),
            OutputFormat(title="hyperfine text", first=_BENCHMARK, line=_ROW, read=self._read_text),
        )

    def _read_text(self, text: str, _command: str | None) -> Iterator[ToolOutput]:
        """Yield each benchmark of the text: its mean, deviation, CPU time, range, runs and warnings."""
        for name, part in _benchmarks(text):
            figures, stated = _figures_in(part)
            if not figures:
                continue
            problems = () if figures[0].metric is MEAN else ("The line with the mean is missing.",)
            if _IGNORED.search(part):
                figures, problems = [], ("The command failed: hyperfine ignored its exit code (-i). No figure.",)
            output = tool_output(self.id, figures, stated, name=name, problems=problems)
            yield from noted((output,), IDENTITIES.contradictions(part))

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
            output = tool_output(self.id, () if failed else figures, stated, name=named, problems=problems)
            yield from noted((output,), (("", words) for words in _contradictions(one, times)))


def _contradictions(one: Mapping[str, Any], times: Sequence[float]) -> Iterator[str]:
    """Yield what contradicts itself in the summary of a command, and between it and the times of its runs."""
    numbers = json_numbers(one, _MEMBERS)
    yield from negative_members(one, _MEMBERS)
    yield from broken(_ORDER, numbers)
    if times:
        of_runs = {"mean": fmean(times), "median": median(times), "min": min(times), "max": max(times)}
        for name, value in of_runs.items():
            if name in numbers and not numbers[name][0].low <= value <= numbers[name][0].high:
                printed = quantity(float(one[name]), Unit.SECOND)
                yield f"{name} of the runs = {quantity(value, Unit.SECOND)}, printed: {printed}"


# Text for people

_T = r"\d{1,9}(?:\.\d{1,6})?"
_BENCHMARK = re.compile(r"Benchmark #?\d{1,6}: (.{1,300})")
_MEAN = re.compile(
    rf"Time \((?:mean ± σ|abs ≡)\): +(?P<mean>{_T}) (?P<mean_unit>[mµu]?s)"
    rf"(?: ± +(?P<deviation>{_T}) (?P<deviation_unit>[mµu]?s))?"
    rf"(?: +\[User: (?P<user>{_T}) (?P<user_unit>[mµu]?s), System: (?P<system>{_T}) (?P<system_unit>[mµu]?s)\])?"
)
_IGNORED = re.compile(r"Warning:\s+Ignoring\s+non-zero\s+exit\s+code")
_RANGE = re.compile(
    rf"Range \(min … max\): +(?P<min>{_T}) (?P<min_unit>[mµu]?s) … +(?P<max>{_T}) (?P<max_unit>[mµu]?s)"
    rf"(?: +(?P<runs>\d{{1,9}}) runs?)?"
)
_ROW = re.compile(rf"{_MEAN.pattern.replace('?P<', '?P<time_')}|{_RANGE.pattern}")
_SECONDS = {"s": (1.0,), "ms": (1e-3,), "µs": (1e-6,), "us": (1e-6,)}
IDENTITIES = Identities(
    (
        PrintedLine(re.compile(rf"\s*{_MEAN.pattern}"), units=_SECONDS),
        PrintedLine(re.compile(rf"\s*{_RANGE.pattern}"), units=_SECONDS),
    ),
    (Ascending(("min", "mean", "max"), Unit.SECOND),),
)
"""Identities of one benchmark in hyperfine's text."""


def _benchmarks(text: str) -> Iterator[tuple[str, str]]:
    """Yield the name and the lines of each benchmark; one without a head has no name."""
    name, part = "", list[str]()
    for line in text.splitlines():
        if match := _BENCHMARK.match(line.strip()):
            yield name, "\n".join(part)
            name, part = match[1], []
        part.append(line)
    yield name, "\n".join(part)


def _figures_in(part: str) -> tuple[list[Figure], dict[str, Value]]:
    found: dict[str, float] = {}
    for pattern in (_MEAN, _RANGE):
        groups = match.groupdict() if (match := pattern.search(part)) else {}
        for name, text in groups.items():
            if text is not None and not name.endswith("_unit"):
                found[name] = round(float(text) * _SECONDS.get(groups.get(f"{name}_unit") or "s", (1.0,))[0], 12)
    metrics = (
        ("mean", MEAN),
        ("min", SHORTEST),
        ("max", LONGEST),
        ("deviation", DEVIATION),
        ("user", USER),
        ("system", SYSTEM),
    )
    figures = [Figure(metric, found[name]) for name, metric in metrics if name in found]
    words = " ".join(part.split())
    stated: dict[str, Value] = {
        "first_slower": "first benchmarking run for this command was significantly slower" in words,
        "outlying": "Statistical outliers were detected" in words,
    }
    if found:
        stated["runs"] = int(found.get("runs", 1 if "abs" in part else 0))  # of one run, it prints the time alone
    if "min" in found:
        stated["shortest"] = found["min"]
    if "deviation" in found and found.get("mean"):
        stated["spread"] = 100 * found["deviation"] / found["mean"]
    return figures, stated


_MEMBERS = {name: Member((name,)) for name in ("min", "mean", "median", "max")}
_ORDER = (Ascending(("min", "mean", "max"), Unit.SECOND), Ascending(("min", "median", "max"), Unit.SECOND))


def _runs(one: Mapping[str, Any]) -> tuple[list[float], list[object], bool]:
    """Return the times and exit codes of a command, and whether they are those of version 1."""
    measured = objects_in(one, "measurements")
    if not measured:
        codes = one.get("exit_codes")
        return numbers_in(one.get("times")), codes if isinstance(codes, list) else [], True
    walls = [found for each in measured if isinstance(found := each.get("time_wall_clock"), dict)]
    times = [float(wall["value"]) for wall in walls if wall.get("unit") == "second" and is_number(wall.get("value"))]
    return times, [each.get("exit_code") for each in measured], False
