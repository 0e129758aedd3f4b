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

_N = r"(\d{1,15}(?:\.\d{1,9})?)"
_LIVE = re.compile(
    rf"\[\s*(\d{{1,9}})s\s*\] thds: \d+ tps: {_N} qps: {_N} \(r/w/o: [\d./]+\) "
    rf"lat \(ms,(\d{{1,3}})%\): {_N} err/s:? {_N} reconn/s:? {_N}\s*"
)


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
    match = _LIVE.fullmatch(line)
    if match is None:
        return []
    time, rank, latency = float(match[1]), int(match[4]), float(match[5])
    pairs = [(TPS, float(match[2])), (QPS, float(match[3])), (ERRORS, float(match[6])), (RECONNECTS, float(match[7]))]
    if latency > 0 and 1 <= rank <= 100:
        pairs.insert(2, (latency_percentile(rank), latency))
    return [Sample(time, metric, value) for metric, value in pairs]


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
