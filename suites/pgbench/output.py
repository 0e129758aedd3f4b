"""Parse the output of pgbench 9.6 to 17: its progress every second, and its summary."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from suites.base import Command
from suites.disk import MIB
from suites.host_files import HostFile
from suites.identities import Identities, PrintedLine, Product
from suites.line_parser import LineParser
from suites.oltp.server import server_version
from suites.output_reading import mean_rates
from suites.outputs import ParsedTrial
from suites.parameters import Parameter, Tuned, Type, Values
from suites.sysbench.output import LATENCY_MEAN, latency_percentile
from suites.tool_messages import exit_notes
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Sample, labels

TPS = Metric("transactions_per_second", "Transactions per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
DEVIATION = Metric(
    "latency_deviation", "Standard deviation of the latency", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME
)
LAG = Metric("schedule_lag_mean", "Mean lag behind the schedule", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME)
FAILED = Metric("failed_transactions", "Failed transactions", Unit.ONE, Better.LOWER, MetricKind.COUNT)
CONNECTING = Metric("connection_time", "Time to connect all clients", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME)
TRANSACTIONS = Metric("total_transactions", "Total transactions", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
PERCENTILES = tuple(map(latency_percentile, (50, 95, 99)))
EACH_CONNECTING = Metric(
    "connection_time_mean", "Mean time to connect", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME
)
LATE = Metric("late_transactions", "Transactions above the latency limit", Unit.ONE, Better.LOWER, MetricKind.COUNT)
SKIPPED = Metric("skipped_transactions", "Transactions skipped", Unit.ONE, Better.LOWER, MetricKind.COUNT)
SCRIPT_TPS = Metric(
    "script_rate", "Transactions per second of a script", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE
)
SCRIPT_LATENCY = Metric(
    "script_latency_mean", "Mean latency of a script", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME
)
METRICS = (
    TPS, LATENCY_MEAN, *PERCENTILES, DEVIATION, LAG, FAILED, CONNECTING, TRANSACTIONS, EACH_CONNECTING, LATE, SKIPPED,
    SCRIPT_TPS, SCRIPT_LATENCY,
)  # fmt: skip

FEWEST = (1, 20, 100)
"""Logged transactions that each percentile requires: with fewer, it would equal the maximum."""

MAXIMUM_SAMPLES = 200_000
MAXIMUM_SCRIPTS = 256

_N = r"(\d{1,15}(?:[.,]\d{1,9})?|\d{1,3}(?:\.\d{3}){1,4},\d{1,9}|\d{1,3}(?:,\d{3}){1,4}\.\d{1,9})"
"""A number; where the locale has them, with a decimal comma and separators of thousands."""
_PROGRESS = re.compile(
    rf"progress: {_N} s, {_N} tps, lat (?:{_N}|NaN|-nan) ms stddev (?:{_N}|NaN|-nan)(?:, (\d{{1,15}}) failed)?"
    rf"(?:, lag {_N} ms)?.*"
)
_NUMBERS = tuple(
    (metric, re.compile(pattern))
    for metric, pattern in (
        (TRANSACTIONS, rf"number of transactions actually processed: {_N}(?:/\d+)?"),
        (FAILED, rf"number of failed transactions: {_N} \(.*\)"),
        (LATENCY_MEAN, rf"latency average(?: =|:) {_N} ms"),
        (DEVIATION, rf"latency stddev(?: =|:) {_N} ms"),
        (LAG, rf"rate limit schedule lag: avg {_N} \(max {_N}\) ms"),
        (CONNECTING, rf"initial connection time = {_N} ms"),
        (EACH_CONNECTING, rf"average connection time = {_N} ms"),
        (LATE, rf"number of transactions above the [\d.,]+ ms latency limit: {_N}/\d+ \(.*\)"),
        (SKIPPED, rf"number of transactions skipped: {_N} \(.*\)"),
        (TPS, rf"tps = {_N} \((?:without initial connection time|excluding connections establishing)\)"),
        (TPS, rf"tps = {_N} \(including reconnection times\)"),
    )
)
_LIMIT = re.compile(r"number of transactions above the ([\d.,]{1,20}) ms latency limit: ")
_OF_SCRIPT = re.compile(r"SQL script (\d{1,4}): (?:<builtin: )?(.{1,60}?)>?")
"""Begins the lines of one script, which have the form of those of all."""

_SCRIPT_NUMBERS = (
    (SCRIPT_TPS, re.compile(rf"(?:- )?\d+ transactions \(.*tps = {_N}\)")),
    (SCRIPT_LATENCY, re.compile(rf"(?:- )?latency average = {_N} ms")),
)
_VERSION = re.compile(r"pgbench \((\d{1,2}[\w.]{0,20})(?: \(.*\))?(?:, server (\d{1,2}[\w.]{0,20})(?: \(.*\))?)?\)")
_LOG = re.compile(r"(\d{1,15}) logged transactions: p50 = (\d{1,15}) us, p95 = (\d{1,15}) us, p99 = (\d{1,15}) us")
_RATE_LINE = re.compile(r"tps = [\d.,]+ ")  # of every language
_SUMMARY = re.compile(r"transaction type: .+")
NOT_CONNECTED = r"connection to (?:server|database) .+ failed:"
"""Begins what libpq prints instead of a connection."""
_FAILURE = re.compile(
    rf"(?:pgbench: (?:error|fatal|detail): |{NOT_CONNECTED}|could not connect to server: ).*"
    r"|(?:ERROR|FATAL|PANIC): .+|.*: (?:command )?not found"
)
_REFUSED = re.compile(r"The server did not start: .*|There is no .* server here\.|Run was aborted.*")

_OVERHANG = 0.1
"""Relative difference that connecting, and the transactions that end after the time is up, may make."""

IDENTITIES = Identities(
    (
        PrintedLine(re.compile(r"number of transactions actually processed: (?P<count>\d{1,15})(?:/\d+)?$")),
        PrintedLine(re.compile(r"number of clients: (?P<clients>\d{1,9})$")),
        PrintedLine(re.compile(r"duration: (?P<seconds>\d{1,9}) s$"), errors={"seconds": 0.5}),
        PrintedLine(re.compile(r"latency average(?: =|:) (?P<mean>\d{1,12}(?:[.,]\d{1,9})?) ms$")),
        PrintedLine(re.compile(r"rate limit schedule lag: avg (?P<lag>\d{1,12}(?:[.,]\d{1,9})?) ")),
        PrintedLine(re.compile(r"tps = (?P<rate>\d{1,12}(?:[.,]\d{1,9})?) \((?:without|excluding|including)")),
    ),
    (
        Product(
            text="transactions / duration",
            result="rate",
            factors=("count",),
            divisors=("seconds",),
            unit=Unit.PER_SECOND,
            slack=_OVERHANG,
        ),
        Product(
            text="tps × mean latency (clients at work)",
            result="clients",
            factors=("rate", "mean"),
            scale=0.001,
            slack=_OVERHANG,
            at_most=True,
            unless="lag",
        ),
    ),
    begins=_OF_SCRIPT,
)
"""Identities of pgbench's summary. With --rate, the latency includes the wait for a client."""


@dataclass(slots=True)
class PgbenchParser(LineParser):
    """Parser of one run."""

    unfinished = (_FAILURE,)
    _numbers: dict[Metric, float] = field(default_factory=dict)
    _version: str | None = None
    _server: str = ""
    _time: float = 0.0
    _summed_up: bool = False
    _has_rate: bool = False
    _has_others: bool = False
    _logged: int | None = None
    _script: str = ""
    _limit: str = ""
    _of_scripts: dict[tuple[str, Metric], float] = field(default_factory=dict)

    def _result(self, exit_status: int | None) -> ParsedTrial:
        notes = [f"pgbench failed: {words}" for words in self._failures]
        alone = self._has_rate and not self._has_others and TPS in self._numbers  # grep tps
        if alone:
            notes.append("pgbench was cut off: only the line of the rate is shown.")
        elif self._has_rate and not {TPS, TRANSACTIONS} <= self._numbers.keys():
            notes.append("The summary of pgbench could not be read: no figure. Run pgbench with LC_ALL=C.")
            self._numbers.clear()
        idle = self._numbers.get(TRANSACTIONS) == 0
        if idle:
            notes.append("pgbench completed no transaction: no figure.")
        elif TPS not in self._numbers and not notes:
            covered = f" The live figures up to {self._time:g} s are kept." if self._samples else ""
            notes.append(f"pgbench was cut off: it printed no summary.{covered}")
        notes += exit_notes("pgbench", exit_status)
        found = {} if idle or TPS not in self._numbers else self._numbers
        always = found.keys() - {SKIPPED}
        figures = tuple(Figure(metric, found[metric]) for metric in METRICS if found.get(metric) or metric in always)
        if found:
            of_scripts = self._of_scripts.items()
            figures += tuple(Figure(metric, value, labels(script=name)) for (name, metric), value in of_scripts)
        lost = found.get(FAILED, 0)
        remarks = [f"{lost:,.0f} transactions failed; the rate counts only the others."] if lost else []
        remarks += [f"{found[LATE]:,.0f} transactions took longer than {self._limit} ms."] if found.get(LATE) else []
        remarks += self._log_notes(found)
        return ParsedTrial(figures, tuple(self._samples), (*notes, *remarks), not notes, self._version_text())

    def _log_notes(self, found: Mapping[Metric, float]) -> list[str]:
        """Report how many transactions the percentiles cover."""
        if self._logged is None or not found:
            return []
        done = found.get(TRANSACTIONS, 0.0)
        if self._logged == 0:
            return ["pgbench logged no transaction: no percentiles."]
        if self._logged == done:
            return []
        covered = f"{self._logged:,} logged transactions, {100 * self._logged / done:.3g} % of all" if done else ""
        return [f"The latency percentiles are of {covered}."] if covered else []

    def _version_text(self) -> str | None:
        versions = [words for words in (self._version, self._server) if words]
        return ", ".join(versions) or None

    def _read(self, line: str) -> None:
        line = line.strip()
        if match := _PROGRESS.fullmatch(line):
            self._take_progress(match)
        elif match := _VERSION.fullmatch(line):
            self._version = f"pgbench {match[1]}" + (f", server {match[2]}" if match[2] else "")
        elif server := server_version(line):
            self._server = server
        elif _SUMMARY.fullmatch(line):
            self._summed_up = True
        elif match := _LOG.fullmatch(line):
            self._take_log(match)
        elif _FAILURE.fullmatch(line) or _REFUSED.fullmatch(line):
            self._fail(line.removeprefix("pgbench: "))
        elif self._script or _OF_SCRIPT.fullmatch(line):
            self._take_script(line)
        else:
            self._take_summary(line)

    def _take_summary(self, line: str) -> None:
        is_rate = _RATE_LINE.match(line) is not None
        self._has_rate |= is_rate
        if match := _LIMIT.match(line):
            self._limit = match[1]
        self._has_others |= not is_rate and bool(line)
        for metric, pattern in _NUMBERS:
            if (self._summed_up or is_rate) and (match := pattern.fullmatch(line)):
                self._numbers[metric] = _number(match[1])

    def _take_script(self, line: str) -> None:
        if match := _OF_SCRIPT.fullmatch(line):
            self._script = f"{match[1]} {match[2]}"
        for metric, pattern in _SCRIPT_NUMBERS:
            if (match := pattern.fullmatch(line)) and len(self._of_scripts) < MAXIMUM_SCRIPTS:
                self._of_scripts[self._script, metric] = _number(match[1])

    def _take_log(self, match: re.Match[str]) -> None:
        self._logged = int(match[1])
        for metric, fewest, text in zip(PERCENTILES, FEWEST, match.groups()[1:], strict=True):
            if self._logged >= fewest:
                self._numbers[metric] = int(text) / 1000

    def _take_progress(self, match: re.Match[str]) -> None:
        time = _number(match[1])
        if time <= self._time or len(self._samples) >= MAXIMUM_SAMPLES:
            return
        self._time = time
        pairs = ((TPS, match[2]), (LATENCY_MEAN, match[3]), (DEVIATION, match[4]), (FAILED, match[5]), (LAG, match[6]))
        self._samples += [Sample(time, metric, _number(text)) for metric, text in pairs if text is not None]


def live_figures(samples: Sequence[Sample]) -> tuple[Sequence[Figure], str]:
    """Return the means of live lines, the latency by transactions, and what they are."""
    figures, what = mean_rates(samples)
    done = {one.time: one.value for one in samples if one.metric is TPS}
    times = [(one.value, done[one.time]) for one in samples if one.metric is LATENCY_MEAN and done.get(one.time)]
    if times:
        mean = sum(value * count for value, count in times) / sum(count for _, count in times)
        figures = (*figures, Figure(LATENCY_MEAN, mean))
    idle = sum(not count for count in done.values())
    failed = sum(one.value for one in samples if one.metric is FAILED)
    what += f", {idle} of which have 0 tps" if idle else ""
    what += f"; {failed:,.0f} transactions failed" if failed else ""
    return figures, what


def _number(text: str) -> float:
    whole, _, decimals = text.replace(",", ".").rpartition(".")
    return float(f"{whole.replace('.', '')}.{decimals}" if whole else text)


# pgbench's transaction log: its size, and the percentiles that the host computes from it: median, p95 and p99.


LOGGED = Parameter(
    name="logged",
    title="log",
    type=Type.NUMBER,
    default=0.0,
    help="Share of transactions logged for the median, p95 and p99; 0 is none, pgbench's default.",
    option="-l, --sampling-rate",
    unit="%",
    minimum=0,
    maximum=100,
    identity=False,  # logging costs about a microsecond per transaction, which takes 20 or more
)

LINE = 40
"""Bytes of a line: at most seven numbers, of which the microseconds and the seconds are the longest."""

LARGEST = 64 * MIB
"""Bytes of a log that is read within a second and is negligible on a disk."""

WRITING, READING = 10_000, 50_000
"""Transactions per second of a pgbench thread if each waits for a commit, and if it only reads."""

SCRIPT = "percentiles.sh"

# The log's name contains the process id, with a thread number for all but the first thread. Logs of an aborted run are
# older. Failed and skipped transactions have a word instead of their time. Nearest rank: the smallest time that the
# given percentage of transactions does not exceed.
_TEXT = r"""# sh percentiles.sh: the median, p95 and p99 of the transactions in the log of the last pgbench here.
last=$(ls -t pgbench_log.* 2>/dev/null | head -n 1 | cut -d. -f2)
cat "pgbench_log.$last" "pgbench_log.$last".* 2>/dev/null |
    awk '$3 ~ /^[0-9]+$/ { number[$3]++; all++ }
        END { print -1, all + 0; for (time in number) print time, number[time] }' |
    sort -n |
    awk '$1 < 0 { all = $2; next }
        { for (sofar += $2; place < 3 && sofar >= int((all * rank[place] + 99) / 100); place++) time[place] = $1 }
        BEGIN { rank[0] = 50; rank[1] = 95; rank[2] = 99; place = 0 }
        END { printf "%d logged transactions: ", all
            printf "p50 = %d us, p95 = %d us, p99 = %d us\n", time[0], time[1], time[2] }'
rm -f pgbench_log.*
"""

SUMMARY = Command(("sh", SCRIPT), files=(HostFile(SCRIPT, text=_TEXT),))


def is_logged(values: Values) -> bool:
    """Whether transactions are logged."""
    return _share(values) > 0


def log_options(values: Values) -> list[str]:
    """Return pgbench's options for its log, if there is one."""
    if not is_logged(values):
        return []
    share = _share(values)
    return ["-l"] if share == 1 else ["-l", f"--sampling-rate={share:g}"]


def log_size(values: Values) -> int:
    """Return the maximum bytes of the log at the highest rate of such transactions."""
    return round(LINE * _transactions(values) * _share(values))


def fitting_share(values: Values) -> float:
    """Return the largest share, in percent, whose log stays small at any rate."""
    most = LINE * _transactions(values)
    return 100.0 if most <= LARGEST else float(f"{100 * LARGEST / most:.2g}")


def tuned_share(values: Values) -> Tuned:
    """Return that share, and why."""
    share = fitting_share(values)
    whole = "Logs every transaction" if share == 100 else f"Keeps the log below {LARGEST // MIB} MiB"
    return Tuned(share, f"{whole}, for the median, p95 and p99; pgbench itself reports only the mean.")


def _share(values: Values) -> float:
    return float(values.get(LOGGED.name, LOGGED.default)) / 100  # a stored step may predate the parameter


def _transactions(values: Values) -> float:
    reading = values["script"] == "select-only"
    plausible = float((READING if reading else WRITING) * int(values["threads"]))
    rate = float(values["rate"])
    return float(values["time"]) * (min(rate, plausible) if rate else plausible)
