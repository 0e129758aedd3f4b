"""Reads ioping: the time of each request as it is made, and the statistics at the end."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample


def _time(name: str, title: str, percentile: float | None = None) -> Metric:
    return Metric(name, title, Unit.MICROSECOND, Better.LOWER, Kind.TIME, percentile)


MEAN = _time("latency_mean", "Mean latency")
MINIMUM = _time("latency_min", "Minimum latency", 0)
MAXIMUM = _time("latency_max", "Maximum latency", 100)
DEVIATION = _time("latency_deviation", "Standard deviation of the latency")
LATENCY = _time("latency", "Latency of a request")
METRICS = (MEAN, MINIMUM, MAXIMUM, DEVIATION, LATENCY)

MAXIMUM_SAMPLES = 1_000_000
MAXIMUM_MESSAGES = 5

_MICROSECONDS = {"ns": 1e-3, "us": 1.0, "ms": 1e3, "s": 1e6, "min": 60e6}
_TIME = r"(\d{1,9}(?:\.\d{1,6})?) (ns|us|ms|s|min)"
_REQUEST = re.compile(rf".{{1,4096}} request=(\d{{1,9}}) time={_TIME}(?: \((warmup|fast|slow)\))?")
_STATISTICS = re.compile(rf"min/avg/max/mdev = {_TIME} / {_TIME} / {_TIME} / {_TIME}")
_RAW = re.compile(r"\d{1,18}(?: \d{1,20}){3} (\d{1,18}) (\d{1,18}) (\d{1,18}) (\d{1,18}) \d{1,18} \d{1,20}")
"""What -B prints: requests, their time, rates, then the least, mean, greatest and deviation in nanoseconds (manual)."""

_ERROR = re.compile(r"ioping: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class IopingParser:
    """Reads one run whose requests begin `interval` seconds apart."""

    interval: float
    _lines: LineSplitter = field(default_factory=LineSplitter)
    _samples: list[Sample] = field(default_factory=list)
    _figures: tuple[Figure, ...] = ()
    _last: int = 0
    _messages: list[str] = field(default_factory=list)

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream; return the samples that they complete."""
        before = len(self._samples)
        for line in self._lines.feed(data, stream):
            self._take(line.strip())
        return self._samples[before:]

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means; of a line that was cut off only a message counts."""
        for line in self._lines.rest():
            if _ERROR.fullmatch(line.strip()):
                self._take(line.strip())
        problems = [f"ioping failed: {words}" for words in self._messages]
        if not self._figures and not problems:
            kept = f" The times of {len(self._samples)} requests are kept." if self._samples else ""
            problems.append(f"ioping was cut off: it printed no statistics.{kept}")
        if exit_status:
            problems.append(f"ioping {how_it_ended(exit_status)}.")
        return Parsed(self._figures, tuple(self._samples), tuple(problems), complete=not problems)

    def _take(self, line: str) -> None:
        if match := _REQUEST.fullmatch(line):
            self._take_request(int(match[1]), _microseconds(match[2], match[3]), warm_up=match[4] == "warmup")
        elif match := _STATISTICS.fullmatch(line):
            words = match.groups()
            times = [_microseconds(number, unit) for number, unit in zip(words[::2], words[1::2], strict=True)]
            self._figures = _statistics(times)
        elif match := _RAW.fullmatch(line):
            self._figures = _statistics([int(number) / 1000 for number in match.groups()])
        elif _ERROR.fullmatch(line) and len(self._messages) < MAXIMUM_MESSAGES:
            self._messages.append(tool_words(line))

    def _take_request(self, number: int, latency: float, *, warm_up: bool) -> None:
        if number > self._last and len(self._samples) < MAXIMUM_SAMPLES:
            self._last = number
            self._samples.append(Sample((number - 1) * self.interval, LATENCY, latency, warm_up=warm_up))


def _statistics(times: Sequence[float]) -> tuple[Figure, ...]:
    """Return the figures of the least, mean, greatest time and the deviation, in microseconds; the mean leads."""
    return tuple(
        Figure(metric, times[place]) for metric, place in ((MEAN, 1), (MINIMUM, 0), (MAXIMUM, 2), (DEVIATION, 3))
    )


def _microseconds(number: str, unit: str) -> float:
    return float(number) * _MICROSECONDS[unit]
