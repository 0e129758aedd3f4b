"""Reads round trips of an idle and of a loaded network, by ping or by our probe, and the load's own report."""

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from suites.base import LineSplitter, Parsed
from suites.iperf3.output import Iperf3Parser
from suites.iperf3.rows import THROUGHPUT
from suites.probe.output import Record, read_record
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample, labels


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MILLISECOND, Better.LOWER, Kind.TIME, percentile)


INCREASE = _time("latency_increase", "Increase of the median under load")
INCREASE_P99 = _time("latency_increase_p99", "Increase of the 99th percentile under load")
P99 = _time("latency_p99", "99th percentile of round trips", 99)
LONGEST = _time("latency_max", "Longest round trip", 100)
ROUND_TRIP = _time("round_trip", "Round trip")  # of a whole phase, its median
LOST = Metric("lost", "Round trips lost", Unit.PERCENT, Better.LOWER, Kind.SHARE)

METRICS = (ROUND_TRIP, INCREASE, INCREASE_P99, P99, LONGEST, LOST, THROUGHPUT)

IDLE, LOADED = "idle", "loaded"
FEWEST_FOR_P99 = 100
MAXIMUM_SAMPLES = 500_000
MAXIMUM_MESSAGES = 5

_PHASE = re.compile(r"phase (idle|ramp|loaded) (\d{1,12}\.\d{1,6})")
_REPLY = re.compile(r"\d{1,6} bytes from .{1,300}: (?:icmp_)?seq=(\d{1,9}) ttl=\d{1,3} time=(\d{1,9}(?:\.\d{1,6})?) ms")
_COUNTS = re.compile(r"(\d{1,9}) packets transmitted, (\d{1,9}) (?:packets )?received,.*")
_QUIET = re.compile(
    r"PING .*|--- .* statistics ---|rtt .*|round-trip .*|# .*|done|\d{1,6} bytes from .*(?:DUP|truncated).*"
)
_ERROR = re.compile(r"(?:error|ping:|.*: (?:\d+: )?(?:ping|./netblocks|netblocks):) (?P<words>.+)")


@dataclass(slots=True)
class _Phase:
    """What was timed in one phase. The probe tells percentiles of its own, ping every round trip."""

    trips: list[float] = field(default_factory=list)
    sent: int = 0
    returned: int = 0
    told: dict[str, float] = field(default_factory=dict)

    def values(self) -> dict[str, float]:
        """Return the median, 99th percentile and maximum in ms, as far as there are enough round trips for each."""
        if self.told:
            return self.told
        found = {"p50": _rank(self.trips, 0.5), "max": max(self.trips)} if self.trips else {}
        return found | ({"p99": _rank(self.trips, 0.99)} if len(self.trips) >= FEWEST_FOR_P99 else {})


class UnderLoadParser:
    """One trial's parser. `interval` is the seconds between two pings, which tell their number and no time."""

    def __init__(self, interval: float) -> None:
        self._interval = interval
        self._lines = LineSplitter()
        self._load = Iperf3Parser()
        self._phases = {IDLE: _Phase(), LOADED: _Phase()}
        self._starts: dict[str, float] = {}
        self._phase = ""
        self._results = 0
        self._samples: list[Sample] = []
        self._messages: list[str] = []

    def feed(self, data: bytes, stream: str = "stdout") -> Iterable[Sample]:
        """Take the next bytes; return the samples they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            if len(self._samples) < MAXIMUM_SAMPLES:
                self._samples += self._read(line.rstrip())
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means; a last line that nothing ended may lack digits and does not count."""
        load, loading = self._load.finish(None), "ramp" in self._starts
        idle, loaded = (self._phases[name].values() for name in (IDLE, LOADED))
        troubles = [_explained(words) for words in self._messages]
        for name, values in ((IDLE, idle), (LOADED, loaded)):
            if not values and not troubles and (loading or name == IDLE):
                troubles.append(f"No round trip came back while the network was {name}.")
        if loading and not load.complete:
            troubles.append("The load broke off: there is no increase under load to tell.")
        if exit_status:
            troubles.append(f"The test {how_it_ended(exit_status)}.")
        complete = bool(idle and loaded) and load.complete and not troubles
        figures = [*self._medians(), *(_increases(idle, loaded) if load.complete else ()), *self._others()]
        figures += [figure for figure in load.figures if figure.metric is THROUGHPUT]
        notes = [*troubles, *(load.notes if loading else ())]
        if complete and not ("p99" in idle and "p99" in loaded):
            notes.append(f"Fewer than {FEWEST_FOR_P99} round trips in a phase tell no 99th percentile.")
        if not complete and not notes:
            notes.append("The output ends before the test did.")
        return Parsed(tuple(figures), tuple(self._samples), tuple(notes), complete)

    def _medians(self) -> list[Figure]:
        """Return the median of each phase, the loaded one first: it is what somebody waits who does not wait alone."""
        found = ((name, self._phases[name].values()) for name in (LOADED, IDLE))
        return [Figure(ROUND_TRIP, values["p50"], labels(phase=name)) for name, values in found if "p50" in values]

    def _others(self) -> list[Figure]:
        figures = []
        for name, phase in self._phases.items():
            mark, values = labels(phase=name), phase.values()
            figures += [
                Figure(metric, values[word], mark)
                for word, metric in (("p99", P99), ("max", LONGEST))
                if word in values
            ]
            if phase.sent and phase.returned <= phase.sent:
                figures.append(Figure(LOST, 100 * (1 - phase.returned / phase.sent), mark))
        return figures

    def _read(self, line: str) -> list[Sample]:
        if match := _PHASE.fullmatch(line):
            self._phase = match[1]
            self._starts.setdefault(self._phase, float(match[2]))
        elif match := _REPLY.match(line):
            return self._take_reply(int(match[1]), float(match[2]))
        elif match := _COUNTS.fullmatch(line):
            if phase := self._phases.get(self._phase):
                phase.sent, phase.returned = int(match[1]), int(match[2])
        elif line.startswith(("live ", "result ")) and (record := read_record(line)) is not None:
            return self._take_record(record)
        elif match := _ERROR.fullmatch(line):
            if len(self._messages) < MAXIMUM_MESSAGES:
                self._messages.append(tool_words(line))
        elif not _QUIET.fullmatch(line):
            return self._take_load(line)
        return []

    def _take_load(self, line: str) -> list[Sample]:
        """Hand a line of iperf3's on; its samples begin when the load did."""
        begun = self._since("ramp")
        samples = self._load.feed(line.encode() + b"\n")
        return [replace(sample, time=sample.time + begun) for sample in samples if sample.metric is THROUGHPUT]

    def _take_reply(self, number: int, took: float) -> list[Sample]:
        phase = self._phases.get(self._phase)
        if phase is None:
            return []
        phase.trips.append(took)
        time = self._since(self._phase) + max(0, number - 1) * self._interval
        return [Sample(time, ROUND_TRIP, took, labels(phase=self._phase))]

    def _take_record(self, record: Record) -> list[Sample]:
        """Take a line of our probe: it times the idle network first, then the loaded one; microseconds."""
        name = IDLE if self._results == 0 else LOADED
        if record.kind == "result":
            self._results += 1
            trips, lost = record.count("trips") or 0, record.count("lost") or 0
            words = {"p50": 1, "p99": FEWEST_FOR_P99, "max": 1}
            values = {word: record.number(word) for word, least in words.items() if trips >= least}
            self._phases[name] = _Phase(
                sent=trips + lost,
                returned=trips,
                told={word: value / 1000 for word, value in values.items() if value is not None},
            )
            return []
        time, median = record.number("time"), record.number("p50")
        return [] if time is None or not median else [Sample(time, ROUND_TRIP, median / 1000, labels(phase=name))]

    def _since(self, phase: str) -> float:
        first = min(self._starts.values(), default=0.0)
        return round(max(0.0, self._starts.get(phase, first) - first), 2)


def _explained(words: str) -> str:
    if "ping: not found" in words or "ping: command not found" in words:
        return "ping is not installed on this host: install it, or let Benchwright's probe time the round trips."
    if "ping: " in words and "not permitted" in words:
        return "This account may not send ICMP on the host: let Benchwright's probe time the round trips."
    return f"{words.rstrip('.')}."


def _increases(idle: dict[str, float], loaded: dict[str, float]) -> list[Figure]:
    pairs = ((INCREASE, "p50"), (INCREASE_P99, "p99"))
    return [Figure(metric, loaded[word] - idle[word]) for metric, word in pairs if word in idle and word in loaded]


def _rank(values: Sequence[float], share: float) -> float:
    """Return the nearest-rank percentile: the least value that a share of them does not exceed."""
    return sorted(values)[max(0, math.ceil(share * len(values)) - 1)]
