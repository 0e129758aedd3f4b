"""Reads pgbench: its progress every second, and its summary, from version 9.6 to 17."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from suites.base import LineSplitter, Parsed
from suites.oltp.server import server_version
from suites.sysbench.output import LATENCY_MEAN, latency_percentile
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample

TPS = Metric("transactions_per_second", "Transactions per second", Unit.PER_SECOND, Better.HIGHER, Kind.RATE)
DEVIATION = Metric("latency_deviation", "Standard deviation of the latency", Unit.MILLISECOND, Better.LOWER, Kind.TIME)
LAG = Metric("schedule_lag_mean", "Mean lag behind the schedule", Unit.MILLISECOND, Better.LOWER, Kind.TIME)
FAILED = Metric("failed_transactions", "Failed transactions", Unit.ONE, Better.LOWER, Kind.COUNT)
CONNECTING = Metric("connection_time", "Time to connect all clients", Unit.MILLISECOND, Better.LOWER, Kind.TIME)
TRANSACTIONS = Metric("total_transactions", "Total transactions", Unit.ONE, Better.HIGHER, Kind.COUNT)
PERCENTILES = tuple(map(latency_percentile, (50, 95, 99)))
METRICS = (TPS, LATENCY_MEAN, *PERCENTILES, DEVIATION, LAG, FAILED, CONNECTING, TRANSACTIONS)

FEWEST = (1, 20, 100)
"""Logged transactions that each percentile needs: of fewer, the slowest is all it could be."""

MAXIMUM_SAMPLES = 200_000
MAXIMUM_FAILURES = 5

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
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
        (TPS, rf"tps = {_N} \((?:without initial connection time|excluding connections establishing)\)"),
        (TPS, rf"tps = {_N} \(including reconnection times\)"),
    )
)
_VERSION = re.compile(r"pgbench \((\d{1,2}[\w.]{0,20})(?: \(.*\))?(?:, server (\d{1,2}[\w.]{0,20})(?: \(.*\))?)?\)")
_LOG = re.compile(r"(\d{1,15}) logged transactions: p50 = (\d{1,15}) us, p95 = (\d{1,15}) us, p99 = (\d{1,15}) us")
_SUMMARY = re.compile(r"transaction type: .+")
_FAILURE = re.compile(r"pgbench: (?:error|fatal|detail): .+|(?:ERROR|FATAL|PANIC): .+|.*: (?:command )?not found")
_REFUSED = re.compile(r"The server did not start: .*|There is no .* server here\.|Run was aborted.*")


@dataclass(slots=True)
class PgbenchParser:
    """Reads one run."""

    _lines: LineSplitter = field(default_factory=LineSplitter)
    _samples: list[Sample] = field(default_factory=list)
    _numbers: dict[Metric, float] = field(default_factory=dict)
    _failures: list[str] = field(default_factory=list)
    _version: str | None = None
    _server: str = ""
    _time: float = 0.0
    _summed_up: bool = False
    _logged: int | None = None

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream; return the samples that they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._take(line.strip())
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means; of a line that was cut off only a message counts."""
        for line in self._lines.rest():
            if _FAILURE.fullmatch(line.strip()):
                self._take(line.strip())
        notes = [f"pgbench failed: {words}" for words in self._failures]
        idle = self._numbers.get(TRANSACTIONS) == 0
        if idle:
            notes.append("pgbench completed no transaction, so there is no figure.")
        elif TPS not in self._numbers and not notes:
            kept = f" The live figures up to {self._time:g} s are kept." if self._samples else ""
            notes.append(f"pgbench was cut off: it printed no summary.{kept}")
        if exit_status:
            notes.append(f"pgbench {how_it_ended(exit_status)}.")
        found = {} if idle or TPS not in self._numbers else self._numbers
        figures = tuple(Figure(metric, found[metric]) for metric in METRICS if metric in found)
        lost = found.get(FAILED, 0)
        remarks = [f"{lost:,.0f} transactions failed; the rate counts the others."] if lost else []
        remarks += self._about_log(found)
        return Parsed(figures, tuple(self._samples), (*notes, *remarks), not notes, self._told_version())

    def _about_log(self, found: Mapping[Metric, float]) -> list[str]:
        """Say of how many transactions the percentiles are."""
        if self._logged is None or not found:
            return []
        done = found.get(TRANSACTIONS, 0.0)
        if self._logged == 0:
            return ["pgbench logged no transaction: there are no percentiles."]
        if self._logged == done:
            return []
        kept = (
            f"{self._logged:,} transactions that were logged, {100 * self._logged / done:.3g} % of all" if done else ""
        )
        return [f"The latency percentiles are those of {kept}."] if kept else []

    def _told_version(self) -> str | None:
        told = [words for words in (self._version, self._server) if words]
        return ", ".join(told) or None

    def _take(self, line: str) -> None:
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
        elif (_FAILURE.fullmatch(line) or _REFUSED.fullmatch(line)) and len(self._failures) < MAXIMUM_FAILURES:
            self._failures.append(tool_words(line.removeprefix("pgbench: ")))
        elif self._summed_up:
            for metric, pattern in _NUMBERS:
                if match := pattern.fullmatch(line):
                    self._numbers[metric] = float(match[1])

    def _take_log(self, match: re.Match[str]) -> None:
        self._logged = int(match[1])
        for metric, fewest, text in zip(PERCENTILES, FEWEST, match.groups()[1:], strict=True):
            if self._logged >= fewest:
                self._numbers[metric] = int(text) / 1000

    def _take_progress(self, match: re.Match[str]) -> None:
        time = float(match[1])
        if time <= self._time or len(self._samples) >= MAXIMUM_SAMPLES:
            return
        self._time = time
        pairs = ((TPS, match[2]), (LATENCY_MEAN, match[3]), (DEVIATION, match[4]), (FAILED, match[5]), (LAG, match[6]))
        self._samples += [Sample(time, metric, float(text)) for metric, text in pairs if text is not None]
