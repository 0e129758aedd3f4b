"""Reads bash's clock and the size of the copy; the rate is computed from both."""

import re
from dataclasses import dataclass, field

from suites.base import LineSplitter, Parsed
from suites.tool_words import how_it_ended, tool_words
from suites.units import Unit
from suites.vocab import Better, Figure, Kind, Metric, Sample

BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MB_PER_SECOND, Better.HIGHER, Kind.RATE)
ELAPSED = Metric("elapsed", "Time", Unit.SECOND, Better.LOWER, Kind.TIME)
CPU_TIME = Metric("cpu_time", "CPU time", Unit.SECOND, Better.LOWER, Kind.TIME)
COPIED = Metric("copied", "Bytes copied", Unit.BYTE, Better.HIGHER, Kind.COUNT)
METRICS = (BANDWIDTH, ELAPSED, CPU_TIME, COPIED)

RESOLUTION = 0.001
"""Seconds: the last digit of bash's clock."""

COARSE = 0.1
"""Seconds below which that digit is more than 1 % of the figure."""

WHOLE = 0.9
"""The least share of its bytes that a copy without holes occupies. Compression, where it is on, takes less too."""

MAXIMUM_MESSAGES = 5

_SECONDS = r"(\d{1,9}[.,]\d{3})"
_CLOCK = re.compile(rf"real {_SECONDS} user {_SECONDS} system {_SECONDS}")
_COPY = re.compile(r"copied (\d{1,18}) bytes, (\d{1,18}) blocks of (\d{1,7})")
_ERROR = re.compile(r"(?:\S{0,200}/)?(?:cp|dd|sync|stat|rm|bash|sh)(?:: line \d+)?: .+|.*: (?:command )?not found")


@dataclass(slots=True)
class CpParser:
    """Reads one copy. Nothing is live: neither cp nor the clock says anything before the end."""

    cold: bool
    flushed: bool
    _lines: LineSplitter = field(default_factory=LineSplitter)
    _clock: tuple[float, float, float] | None = None
    _copy: tuple[int, int] | None = None  # bytes, and the bytes that they occupy
    _messages: list[str] = field(default_factory=list)

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Take the next bytes of a stream."""
        for line in self._lines.feed(data, stream):
            self._take(line.strip())
        return []

    def finish(self, exit_status: int | None = None) -> Parsed:
        """Say what the whole output means; what no line break ended was cut off and counts only as a message."""
        for line in self._lines.rest():
            if not _CLOCK.match(line) and not _COPY.match(line):
                self._take(line.strip())
        problems = [f"cp failed: {words}" for words in self._messages]
        if not problems and (self._clock is None or self._copy is None):
            problems.append("The copy was cut off: its time or its size is missing.")
        if exit_status:
            problems.append(f"The copy {how_it_ended(exit_status)}.")
        if problems or self._clock is None or self._copy is None:
            return Parsed(notes=tuple(problems), complete=False)
        return Parsed(tuple(_figures(self._clock, self._copy[0])), notes=tuple(self._remarks(*self._copy)))

    def _take(self, line: str) -> None:
        if match := _CLOCK.fullmatch(line):
            real, user, system = (float(number.replace(",", ".")) for number in match.groups())
            self._clock = real, user, system
        elif match := _COPY.fullmatch(line):
            self._copy = int(match[1]), int(match[2]) * int(match[3])
        elif _ERROR.fullmatch(line) and len(self._messages) < MAXIMUM_MESSAGES:
            self._messages.append(tool_words(line))

    def _remarks(self, copied: int, occupied: int) -> list[str]:
        source = "dropped from memory before" if self.cold else "possibly from memory"
        target = "until it was on the disk" if self.flushed else "as far as memory only"
        remarks = [f"Measured: one file read, {source}, and written, {target}; both on one disk, in one figure."]
        if occupied < WHOLE * copied:
            remarks.append(
                f"The copy of {copied} bytes occupies {occupied}: it has holes or is compressed, so that fewer bytes "
                "were written than the rate says."
            )
        if self._clock is not None and self._clock[0] < COARSE:
            remarks.append(
                f"{self._clock[0]:g} s is close to the clock's step of {RESOLUTION:g} s: copy a larger file."
            )
        return remarks


def _figures(clock: tuple[float, float, float], copied: int) -> list[Figure]:
    real, user, system = clock
    rate = [Figure(BANDWIDTH, copied / real / 1e6)] if real > 0 else []
    return [*rate, Figure(ELAPSED, real), Figure(CPU_TIME, user + system), Figure(COPIED, float(copied))]
