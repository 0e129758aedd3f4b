"""Parse dd's output: progress lines and the closing report."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from suites.identities import BINARY, DECIMAL, Identities, PrintedLine, Product
from suites.line_parser import MAXIMUM_LINE
from suites.outputs import ParsedTrial
from suites.tool_messages import printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind, Sample

BANDWIDTH = Metric("bandwidth", "Bandwidth", Unit.MB_PER_SECOND, Better.HIGHER, MetricKind.RATE)
ELAPSED = Metric("elapsed", "Time", Unit.SECOND, Better.LOWER, MetricKind.TIME)
COPIED = Metric("copied", "Bytes copied", Unit.BYTE, Better.HIGHER, MetricKind.COUNT)
METRICS = (BANDWIDTH, ELAPSED, COPIED)

MAXIMUM_SAMPLES = 1_000_000
MAXIMUM_NOTES = 12

_SECONDS = r"(?:[0-9]{1,3}(?:[.,'][0-9]{3}){1,3}(?=[.,])|[0-9]{1,12})(?:[.,][0-9]{1,12})?(?:e[-+]?[0-9]{1,3})?"
"""Seconds with a decimal point or comma; if there are separators of thousands, another mark."""

# GNU: "61440000 bytes (61 MB, 59 MiB) copied, 2.23019 s, 27.5 MB/s"; the words are translated, with a decimal comma in
# many languages; busybox: "268435456 bytes (256.0MB) copied, 0.120 seconds, 2.1GB/s".
CLOSING = re.compile(
    r"^\s*(?P<bytes>[0-9]{1,18})\s?[^\W\d_]{1,40}(?:\s?[(（]|\s[^\W\d_])[^\n]{0,200}?(?<![0-9.,'])"
    rf"(?P<seconds>{_SECONDS})\s?s(?:ec|econds)?[,;、，]\s?"
    r"(?:[0-9.,]{1,20}|Infinity)\s?[kKMGTPEZY]?i?B/s\s*$"
)
# BSD and macOS: "268435456 bytes transferred in 0.120 secs (2236962133 bytes/sec)"; NetBSD also "2.1 GB/sec)".
_BSD_REPORT = re.compile(
    r"^\s*(?P<bytes>[0-9]{1,18}) bytes(?: \([^()\n]{1,60}\))? transferred in "
    rf"(?P<seconds>{_SECONDS}) sec(?:s|onds)? \([0-9.,]{{1,30}} ?(?:bytes/sec\)|[KMGT]?i?B/s)\s*$"
)
_PLAIN = r"[0-9]{1,12}(?:[.,][0-9]{1,12})?"
_DECIMAL = {f"{prefix}B": DECIMAL[prefix] for prefix in DECIMAL} | {f"{prefix}iB": BINARY[prefix] for prefix in BINARY}
_EITHER = {f"{prefix}B": (DECIMAL[prefix][0], BINARY[prefix][0]) for prefix in DECIMAL}
"""Factors of busybox, whose MB are 2^20 bytes: it prints no space before them."""

_RATE = Product(
    text="bytes / time", result="rate", factors=("size",), divisors=("seconds",), unit=Unit.BYTES_PER_SECOND
)
_OTHER = Product(text="bytes", result="other", factors=("size",), unit=Unit.BYTE)


def _report_lines(space: str, units: Mapping[str, tuple[float, ...]]) -> tuple[PrintedLine, PrintedLine]:
    """Return the parts of a report: its rate, and its size in another unit."""
    size = r"^\s*(?P<size>[0-9]{1,18})\s?[^\W\d_][^\n]"
    unit = "[kKMGTP]?i?B"
    return (
        PrintedLine(
            re.compile(
                rf"{size}{{0,200}}?(?<![0-9.,'])(?P<seconds>{_PLAIN}(?:e[-+]?[0-9]{{1,3}})?)\s?s(?:ec|econds)?[,;、，]\s?"
                rf"(?P<rate>{_PLAIN}){space}(?P<rate_unit>{unit})/s\s*$"
            ),
            (_RATE,),
            units,
        ),
        PrintedLine(
            re.compile(rf"{size}{{0,40}}?\((?P<other>{_PLAIN}){space}(?P<other_unit>{unit})[,)]"), (_OTHER,), units
        ),
    )


IDENTITIES = Identities(
    (
        *_report_lines(r"\s", _DECIMAL),
        *_report_lines("", _EITHER),
        PrintedLine(
            re.compile(
                rf"^\s*(?P<size>[0-9]{{1,18}}) bytes .*transferred in (?P<seconds>{_PLAIN}) sec(?:s|onds)? "
                r"\((?P<rate>[0-9]{1,15}) bytes/sec\)"
            ),
            (_RATE,),
            cut=frozenset({"rate"}),
        ),
    )
)
"""Identities of dd's report."""

# A progress line begins with a carriage return: it is complete at "B/s", not when the next one begins.
_END = re.compile(rb"(?<=B/s)|[\r\n]")
_RECORDS = re.compile(r"^\s*(?P<full>[0-9]{1,18})\+(?P<partial>[0-9]{1,18}) \S")
_ERROR = re.compile(r"^(?:\S{0,200}/)?dd: ")


@dataclass(frozen=True, slots=True)
class _Report:
    """Bytes and seconds of one report."""

    copied: int
    seconds: float


@dataclass(slots=True)
class DdParser:
    """Parser of dd's stderr; stdout may be mixed in."""

    _pending: dict[str, bytes] = field(default_factory=dict)
    _samples: list[Sample] = field(default_factory=list)
    _last: _Report | None = None
    _records: int = 0  # lines of records since the last report: two precede the final one
    _final: bool = False
    _reports: int = 0
    _overwritten: bool = False  # whether a carriage return was seen, with which each line of progress begins
    _messages: list[str] = field(default_factory=list)
    _partial: int = 0

    def feed(self, data: bytes, stream: str = "stdout") -> list[Sample]:
        """Parse the next bytes of a stream; return the samples that they complete."""
        self._overwritten |= b"\r" in data.replace(b"\r\n", b"\n")
        *whole, rest = _END.split(self._pending.get(stream, b"") + data)
        self._pending[stream] = rest[:MAXIMUM_LINE]
        return [sample for line in whole for sample in self._take(line)]

    def finish(self, exit_status: int | None = None) -> ParsedTrial:
        """Return the result of the whole output. The rate is computed from bytes and seconds, because dd rounds its
        own."""
        for line in list(self._pending.values()):
            self._take(line)
        self._pending.clear()
        problems = list(dict.fromkeys(self._messages))[:MAXIMUM_NOTES]
        problems = [f"dd: {message}" for message in problems] if exit_status != 0 else []
        if self._last is None:
            problems.append(self._missing_report())
        elif not self._last.copied:
            problems.append("dd copied 0 bytes: no figure.")
        elif not self._final and not self._closing_alone():
            problems.append(
                "dd's closing report is missing: it was killed or cut off. The figures are its last progress."
            )
        if exit_status and not problems:
            problems.append(f"dd ended with exit status {exit_status}.")
        return ParsedTrial(self._figures(), tuple(self._samples), (*problems, *self._remarks()), complete=not problems)

    def _take(self, line: bytes) -> list[Sample]:
        text = line[:MAXIMUM_LINE].decode("utf-8", "replace")
        report = _read_report(text)
        if report is not None:
            return self._take_report(report)
        records = _RECORDS.match(text)
        if records:
            self._records += 1
            self._partial = int(records["partial"]) if self._records == 1 else self._partial
        elif _ERROR.match(text) and "warning:" not in text and len(self._messages) < 100 * MAXIMUM_NOTES:
            self._messages.append(printable_message(_ERROR.sub("", text)))
        return []

    def _take_report(self, report: _Report) -> list[Sample]:
        before = self._last or _Report(0, 0.0)
        # Progress has whole seconds: grep copied leaves the closing report without the records before it.
        self._final = self._records >= 2 or not report.seconds.is_integer()
        self._reports += 1
        self._records = 0
        self._last = report
        seconds, copied = report.seconds - before.seconds, report.copied - before.copied
        # The closing report follows the last progress too soon for its own rate.
        shortest = 0.5 if self._final and before.seconds else 0.0
        if seconds <= shortest or copied < 0 or len(self._samples) >= MAXIMUM_SAMPLES:
            return []
        sample = Sample(report.seconds, BANDWIDTH, copied / seconds / 1e6)
        self._samples.append(sample)
        return [sample]

    def _closing_alone(self) -> bool:
        """Whether the only line is dd's closing report: people paste it without the records before it."""
        alone = self._reports == 1 and not self._records and not self._partial and not self._overwritten
        return alone and self._last is not None and self._last.seconds > 0

    def _figures(self) -> tuple[Figure, ...]:
        if self._last is None or not self._last.copied:
            return ()  # a copy of nothing has no rate
        seconds, copied = self._last.seconds, self._last.copied
        rate = [Figure(BANDWIDTH, copied / seconds / 1e6)] if seconds > 0 else []
        return (*rate, Figure(ELAPSED, seconds), Figure(COPIED, float(copied)))

    def _missing_report(self) -> str:
        if self._records >= 2:
            return "This dd prints no time (busybox does not): no rate."
        return "No dd report in the output."

    def _remarks(self) -> list[str]:
        if self._partial > 1 and self._last is not None:
            return [f"{self._partial} partial reads: the input returned less than one block at a time."]
        return []


def tests_in(text: str) -> Iterator[str]:
    """Yield the output of each test in `text`: of two, the second reports no more bytes or seconds than the first."""
    part: list[str] = []
    since: list[str] = []  # lines after the last report, which may be of the next test
    last: _Report | None = None
    for line in text.splitlines(keepends=True):
        since.append(line)
        report = _read_report(line)
        if report is None:
            continue
        if last is not None and not (report.copied > last.copied and report.seconds > last.seconds):
            yield "".join(part)
            part = []
        part += since
        since, last = [], report
    yield "".join((*part, *since))


def _read_report(text: str) -> _Report | None:
    found = CLOSING.match(text) or _BSD_REPORT.match(text)
    if found is None:
        return None
    return _Report(int(found["bytes"]), _seconds(found["seconds"]))


def _seconds(text: str) -> float:
    """Return seconds as a number: the last mark is that of the decimals, others separate thousands."""
    whole, mark, decimals = text.replace("'", "").replace(",", ".").rpartition(".")
    return float(f"{whole.replace('.', '')}.{decimals}" if mark else decimals)
