"""SLO search: the highest rate of an open loop whose latency percentile stays within a limit."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from statistics import fmean, median

from suites.base import Context, Effect, Estimate, Suite
from suites.facts import Facts
from suites.host_files import HostFile
from suites.line_parser import LineParser
from suites.oltp.server import server_version
from suites.outputs import ParsedTrial
from suites.parameters import Choice, Parameter, Tuned, Type, Value, Values, count_parameter
from suites.programs import Program
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Resource, Sample, labels

DRIVER = HostFile("slo-search.sh", resource="slo-search.sh")

READER = "percentiles.sh"
"""Name of the tool's script that prints the latencies of a window, as the driver expects them."""

NEAREST_RANK = r"""sort -n | awk '
    $1 < 0 { seconds = $2; next }
    { all += $2; sum += $1 * $2; time[++last] = $1; upto[last] = all }
    END {
        if (!all) exit 65
        split("50 95 99 99.9", rank, " ")
        printf "%d %.3f %.1f", all, seconds, sum / all
        for (i = place = 1; i <= 4; i++) {
            while (place < last && upto[place] < all * rank[i] / 100 - 1e-6) place++
            printf " %.1f", time[place]
        }
        printf " %.1f\n", time[last]
    }'"""
"""Shell commands from lines of time (us) and count, and one of -1 and the seconds, to the line for the driver."""

SETTLE = 2
"""Seconds at the start of a window that are not counted: all senders begin at the same moment."""

RATE, SECONDS, SENDERS, EACH = "@RATE@", "@SECONDS@", "@SENDERS@", "@EACH@"
"""Words that the driver replaces in the tool's command."""

LIMIT = Parameter(
    name="limit",
    title="latency target",
    type=Type.DURATION,
    default=0.01,
    help="The percentile of the latency must not exceed it.",
    option="--limit",
    minimum=0.000_01,
    maximum=600,
)

PERCENTILE = Parameter(
    name="percentile",
    title="percentile",
    default="99",
    help="The percentile that the target is for.",
    option="--percentile",
    choices=(Choice("50", "median"), Choice("95", "p95"), Choice("99", "p99"), Choice("99.9", "p99.9")),
)

START = Parameter(
    name="start",
    title="first rate",
    type=Type.NUMBER,
    default=100.0,
    help="Rate of the first window. It is doubled until the target is missed; if it is missed at once, halved.",
    option="--start",
    unit="1/s",
    minimum=1,
    maximum=10**7,
)

MOST = Parameter(
    name="most",
    title="highest rate",
    type=Type.NUMBER,
    default=1_000_000.0,
    help="Rates above are not tried.",
    option="--most",
    unit="1/s",
    minimum=1,
    maximum=10**7,
)

WINDOW = Parameter(
    name="runtime",
    title="window",
    type=Type.DURATION,
    default=10.0,
    help=f"Time that each rate is measured. The first {SETTLE} s are not counted.",
    option="--runtime",
    minimum=SETTLE + 1,
    maximum=3600,
    whole=True,
)

CONFIRM = count_parameter(
    name="confirm",
    title="fresh windows",
    default=3,
    help="Windows at the rate that was found. If most miss the target, lower rates are confirmed instead.",
    option="--confirm",
    maximum=99,
)

SLO_PARAMETERS = (LIMIT, PERCENTILE, START, MOST, WINDOW, CONFIRM)

HIGHEST = Metric("slo_rate", "Highest rate within the latency target", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
SO_FAR = replace(HIGHEST, name=f"{HIGHEST.name}_so_far", title="best so far")
OFFERED = replace(HIGHEST, name=f"{HIGHEST.name}_offered", title="offered")
ACHIEVED = Metric("achieved_rate", "Achieved rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)


def _latency(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(
        f"open_latency_{name}",
        f"Latency at the rate, {title}",
        Unit.MICROSECOND,
        Better.LOWER,
        MetricKind.TIME,
        percentile,
    )


PERCENTILES = (
    _latency("p50", "median", 50.0), _latency("p95", "p95", 95.0), _latency("p99", "p99", 99.0),
    _latency("p99_9", "p99.9", 99.9),
)  # fmt: skip
METRICS = (HIGHEST, ACHIEVED, *PERCENTILES)

STEPS = 32
"""Rates per doubling: neighbours differ by 2.2 %, less than such percentiles differ from window to window."""

MOST_WINDOWS = 1000

FEWEST_BEYOND = 10
"""Requests beyond a percentile below which it is coarse: with 10, its rank is uncertain by a third."""

WAITED = 0.1
"""Share of the senders that are busy from which late starts are named: such requests wait unmeasured."""

_BEGINS = re.compile(r"benchwright: window (\d{1,4}) to (bracket|bisect|confirm), at (\d{1,10}(?:\.\d{1,6})?) s")
_N = r"(\d{1,12}(?:\.\d{1,6})?)"
_RESULT = re.compile(
    rf"benchwright: window (\d{{1,4}}): (\d{{1,12}}) requests in {_N} s of {_N}/s: "
    rf"mean {_N}, p50 {_N}, p95 {_N}, p99 {_N}, p99.9 {_N}, max {_N} us: (kept|missed|behind)"
)
_ENDED = re.compile(rf"benchwright: ended: (?:confirmed {_N}/s|(no|every) rate kept the limit)")
_ERROR = re.compile(
    r"(?:benchwright|fio|pgbench|h2load): .*(?:error|no latencies|failed|could not).*|.*: (?:command )?not found"
)
_SENDERS = re.compile(r"(?:--numjobs=|-c )(\d{1,5})(?=\s|$)")


@dataclass(frozen=True, slots=True)
class RateWindow:
    """A window: its phase, offered rate (1/s), requests, seconds, and the latencies of PERCENTILES in microseconds."""

    phase: str
    offered: str
    requests: int
    seconds: float
    latencies: tuple[float, ...]
    outcome: str

    @property
    def achieved(self) -> float:
        """The requests per second that were completed."""
        return self.requests / self.seconds


def tail_of(values: Values) -> Metric:
    """Return the metric of the percentile that the target is for."""
    return next(metric for metric in PERCENTILES if metric.percentile == float(values["percentile"]))


@dataclass(slots=True)
class SloParser(LineParser):
    """Parser of the driver's lines. `senders`: the tool has senders that start late while they are busy.

    `settle` are the seconds of a window that are not counted.
    """

    values: Values = field(default_factory=dict)
    senders: bool = False
    settle: int = SETTLE
    unfinished = (_ERROR,)
    _windows: list[RateWindow] = field(default_factory=list)
    _phase: str = "bracket"
    _began: float | None = None
    _busy: float = 0.0
    _count: int = 0
    _ended: bool = False
    _found: str = ""
    _none: str = ""
    _version: str | None = None

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _BEGINS.fullmatch(line):
            self._phase = match[2]
            self._began = float(match[3]) if self._began is None else self._began
            self._at = float(match[3]) - self._began
        elif match := _RESULT.fullmatch(line):
            self._take(match)
        elif match := _ENDED.fullmatch(line):
            self._ended, self._found, self._none = True, match[1] or "", match[2] or ""
        elif line.startswith("+ "):
            senders = _SENDERS.search(line)
            self._count = int(senders[1]) if senders else 0
        elif version := server_version(line):
            self._version = version
        elif _ERROR.fullmatch(line):
            self._fail(line.removeprefix("benchwright: "))

    _at: float = 0.0

    def _take(self, match: re.Match[str]) -> None:
        seconds, requests = float(match[3]), int(match[2])
        if not seconds or len(self._windows) >= MOST_WINDOWS:
            return
        times = tuple(float(text) for text in match.groups()[5:9])
        window = RateWindow(self._phase, match[4], requests, seconds, times, match[11])
        self._windows.append(window)
        if self.senders and self._count and window.outcome == "kept":
            self._busy = max(self._busy, window.achieved * float(match[5]) / 1e6 / self._count)
        now = self._at + self.settle + seconds
        self._samples += [
            Sample(now, SO_FAR, self._best_so_far()),
            Sample(now, OFFERED, float(window.offered)),
            Sample(now, ACHIEVED, window.achieved),
            *(Sample(now, metric, value) for metric, value in zip(PERCENTILES, times, strict=True)),
        ]

    def _best_so_far(self) -> float:
        """Return the highest rate that most of its fresh windows kept, else the highest kept below those missed."""
        fresh: dict[float, list[RateWindow]] = {}
        for one in self._windows:
            if one.phase == "confirm":
                fresh.setdefault(float(one.offered), []).append(one)
        held = {rate: 2 * sum(one.outcome == "kept" for one in found) > len(found) for rate, found in fresh.items()}
        confirmed = [fmean(one.achieved for one in fresh[rate]) for rate, kept in held.items() if kept]
        missed = min((rate for rate, kept in held.items() if not kept), default=math.inf)
        kept = [one.achieved for one in self._windows if one.outcome == "kept" and float(one.offered) < missed]
        return max(confirmed or kept, default=0.0)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        problems = list(self._failures)
        problems += exit_notes("The search", exit_status)
        if not self._ended and not problems:
            problems.append(f"The search was cut off after {len(self._windows)} windows.")
        if self._none and not problems:
            problems.append(self._nothing())
        confirmed = [one for one in self._windows if one.phase == "confirm" and one.offered == self._found]
        if not (confirmed or problems):
            problems.append("The windows that confirm the rate are missing.")
        figures = [Figure(HIGHEST, fmean(one.achieved for one in confirmed))] if not problems else []
        figures += self._by_rate()
        notes = (*problems, *([] if problems else self._remarks(confirmed)))
        return ParsedTrial(tuple(figures), tuple(self._samples), notes, not problems, self._version)

    def _nothing(self) -> str:
        tail, limit = tail_of(self.values), LIMIT.format(self.values["limit"])
        rates = [float(one.offered) for one in self._windows]
        if not rates:
            return f"No rate was tried: “{START.title}” exceeds “{MOST.title}”."
        if self._none == "every":
            most = max(rates, default=0.0)
            return f"p{tail.percentile:g} stays below {limit} up to {most:,.0f}/s: raise “{MOST.title}”."
        return f"p{tail.percentile:g} exceeds {limit} even at {min(rates, default=0.0):,g}/s: raise the target."

    def _by_rate(self) -> Iterator[Figure]:
        """Yield achieved rate and latencies of the doubled rates and of the one found, there of the fresh windows.

        The rates of the bisection differ from trial to trial: they are in the samples only.
        """
        by_rate: dict[str, list[RateWindow]] = {}
        doubled = {one.offered for one in self._windows if one.phase == "bracket"}
        for one in self._windows:
            if one.offered in {*doubled, self._found}:
                by_rate.setdefault(one.offered, []).append(one)
        for offered in sorted(by_rate, key=float):
            fresh = [one for one in by_rate[offered] if one.phase == "confirm"] or by_rate[offered]
            yield Figure(ACHIEVED, fmean(one.achieved for one in fresh), labels(offered_rate=offered))
            for place, metric in enumerate(PERCENTILES):
                yield Figure(metric, median(one.latencies[place] for one in fresh), labels(offered_rate=offered))

    def _remarks(self, confirmed: Sequence[RateWindow]) -> Iterator[str]:
        tail = tail_of(self.values)
        place = PERCENTILES.index(tail)
        found = median(one.latencies[place] for one in confirmed) / 1000
        misses = sum(one.outcome != "kept" for one in confirmed)
        yield (
            f"{len(self._windows)} windows; {len(confirmed)} fresh ones at {self._found}/s: p{tail.percentile:g} "
            f"{found:.3g} ms, {misses} beyond the target."
        )
        above = [one for one in self._windows if one.outcome != "kept" and float(one.offered) > float(self._found)]
        nearest = min((float(one.offered) for one in above), default=0.0)
        if above and all(one.outcome == "behind" for one in above if float(one.offered) == nearest):
            yield f"At {nearest:,g}/s fewer requests were completed: the rate is the limit, not the latency."
        beyond = min(one.requests for one in confirmed) * (1 - (tail.percentile or 0) / 100)
        if beyond < FEWEST_BEYOND:
            yield f"p{tail.percentile:g} is coarse: {beyond:.0f} requests a window are beyond it. Use longer windows."
        if self._busy > WAITED:
            yield (
                f"{self._busy:.0%} of the senders were busy on average: as many requests started late, and their "
                "latency lacks that wait (coordinated omission)."
            )


def driven(values: Values, command: Sequence[str]) -> tuple[str, ...]:
    """Return the command line of the search; `command` is the tool's, whose words must not contain blanks."""
    own = (
        f"--limit={float(values['limit']):.15g}",
        f"--percentile={values['percentile']}",
        f"--start={float(values['start']):.12g}",
        f"--most={float(values['most']):.12g}",
        f"--runtime={float(values['runtime']):.0f}",
        f"--confirm={values['confirm']}",
    )
    return ("sh", DRIVER.name, *own, *command)


def _most_windows(values: Values) -> float:
    """Return the usual number of windows: to the geometric middle, half of the bisection twice, and the fresh ones."""
    doublings = math.log2(max(2.0, float(values["most"]) / float(values["start"])))
    return doublings / 2 + 2 + 1.5 * math.log2(STEPS) + int(values["confirm"])


class SloSearch(Suite):
    """Base class of the searches: a tool that sends at a rate, and a script that reads its latencies."""

    resource = Resource.APPLICATION
    metrics = METRICS
    sweeps = True
    searches = True
    main_parameters = ("limit", "percentile", "start", "most", "runtime", "confirm")
    has_senders: bool = False
    settle: int = SETTLE

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of the usual number of windows."""
        return Estimate(duration=_most_windows(values) * (float(values["runtime"]) + 1))

    def target(self, values: Values) -> Figure:
        """Return the latency target."""
        return Figure(tail_of(values), 1e6 * float(values["limit"]))

    def parser(self, values: Values) -> SloParser:
        """Return a new parser of the driver's lines."""
        return SloParser(values=values, senders=self.has_senders, settle=self.settle)


class ServerSearch(SloSearch):
    """Base class of the searches whose tool has a suite of its own, and a server: `fixed` are values that they set."""

    tool_suite: Suite
    fixed: Mapping[str, Value]
    uses_server = True

    def of_tool(self, values: Values) -> dict[str, Value]:
        """Return the values of the tool's own suite."""
        own = {parameter.name for parameter in SLO_PARAMETERS}
        return {**self.fixed, **{name: value for name, value in values.items() if name not in own}}

    def programs(self, values: Values, facts: Facts | None) -> tuple[Program, ...]:
        """Return the tool, and the server if the step starts one."""
        return self.tool_suite.programs(values, facts)

    def tune(self, context: Context) -> dict[str, Tuned]:
        """Return what the tool's own suite would take."""
        return {name: tuned for name, tuned in self.tool_suite.tune(context).items() if name not in self.fixed}

    def effects(self, values: Values) -> tuple[Effect, ...]:
        """Return the effects on a server set by the user."""
        return self.tool_suite.effects(self.of_tool(values))

    def estimate(self, values: Values, context: Context) -> Estimate:
        """Return the time of the usual number of windows, and the bytes that the tool's own suite expects."""
        one = self.tool_suite.estimate(self.of_tool(values), context)
        return replace(one, duration=super().estimate(values, context).duration)
