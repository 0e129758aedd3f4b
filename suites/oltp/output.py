"""Parse the output of sysbench's database tests: every second, and at the end."""

import re
from dataclasses import replace

from suites.oltp.server import server_version
from suites.outputs import ParsedTrial
from suites.pgbench.output import TPS
from suites.sysbench.output import (
    LATENCY_MAXIMUM,
    LATENCY_MEAN,
    SysbenchOutput,
    SysbenchParser,
    latency_percentile,
    unresolved_note,
)
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Sample

QPS = Metric("queries_per_second", "Queries per second", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
ERRORS = Metric("errors_per_second", "Ignored errors per second", Unit.PER_SECOND, Better.LOWER, MetricKind.RATE)
RECONNECTS = Metric("reconnects_per_second", "Reconnects per second", Unit.PER_SECOND, Better.LOWER, MetricKind.RATE)
METRICS = (TPS, QPS, latency_percentile(95), LATENCY_MEAN, LATENCY_MAXIMUM, ERRORS, RECONNECTS)

NOTEWORTHY = 0.01
"""Share of failed and retried transactions from which a note is added."""

_N = r"\d{1,15}(?:\.\d{1,9})?"
_LIVE = re.compile(
    rf"\[\s*(?P<time>\d{{1,9}})s\s*\] thds: \d+ tps: (?P<tps>{_N}) qps: (?P<qps>{_N}) \(r/w/o: [\d./]+\) "
    rf"lat \(ms,(?P<rank>\d{{1,3}})%\): (?P<latency>{_N}) err/s:? (?P<errors>{_N}) reconn/s:? (?P<reconnects>{_N})\s*"
)
_LIVE_OLD = re.compile(
    rf"\[\s*(?P<time>\d{{1,9}})s\] threads: \d+, tps: (?P<tps>{_N}), reads: {_N}, writes: {_N}, response time: "
    rf"(?P<latency>{_N})ms \((?P<rank>\d{{1,3}})%\), errors: (?P<errors>{_N}), reconnects: +(?P<reconnects>{_N})\s*"
)
"""A line of 0.5."""


class OltpParser(SysbenchParser):
    """Parser of one run; the version is sysbench's and, if the step starts a server, the server's."""

    def __init__(self) -> None:
        self._server = ""
        super().__init__("oltp", self._read_line, _conclude)

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output."""
        parsed = super().finish(exit_status)
        version = self._output.version
        if version is None or not self._server:
            return parsed
        return replace(parsed, tool_version=f"sysbench {version}, {self._server}")

    def _read_line(self, line: str, output: SysbenchOutput) -> list[Sample]:
        del output
        self._server = server_version(line) or self._server
        return _live(line)


def _live(line: str) -> list[Sample]:
    """Return the samples of a progress line; a latency of 0.00 is below sysbench's resolution and omitted."""
    match = _LIVE.fullmatch(line) or _LIVE_OLD.fullmatch(line)
    if match is None:
        return []
    numbers = {name: float(text) for name, text in match.groupdict().items()}
    metrics = [("tps", TPS), ("qps", QPS), ("errors", ERRORS), ("reconnects", RECONNECTS)]
    if numbers["latency"] > 0 and 1 <= numbers["rank"] <= 100:
        metrics.insert(2, ("latency", latency_percentile(int(numbers["rank"]))))
    return [Sample(numbers["time"], metric, numbers[name]) for name, metric in metrics if name in numbers]


def _conclude(output: SysbenchOutput) -> tuple[list[Figure], list[str]]:
    """Return the figures, the transaction rate first, and the notes about them."""
    figures = output.figures(TPS, QPS)
    if "finished" in output.numbers and not any(figure.metric == TPS for figure in figures):
        return [], ["sysbench printed no transaction rate."]
    rates = [metric for metric in (ERRORS, RECONNECTS) if metric.name in output.numbers]
    figures += [Figure(metric, output.numbers[metric.name]) for metric in rates]
    return figures, [*unresolved_note(output), *_retry_notes(output)]


def _retry_notes(output: SysbenchOutput) -> list[str]:
    errors, rate = output.numbers.get(ERRORS.name, 0.0), output.numbers.get(TPS.name, 0.0)
    if not rate or errors / rate < NOTEWORTHY:
        return []
    share = f"{errors:,.3g} transactions per second failed and were retried, {100 * errors / rate:.1f} %"
    return [f"{share} of those that succeeded: deadlocks and row conflicts. Use more rows or fewer threads."]
