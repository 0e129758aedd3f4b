"""Reads iperf3's text reports, of either end, of 3.9 and later."""

import re
from dataclasses import dataclass

from suites.iperf3.rows import CONGESTION, RECEIVE, RECEIVER, SEND, SENDER, Row
from suites.iperf3.transcript import Transcript
from suites.vocab import Sample

_BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30}
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NUMBER = r"\d{1,18}(?:\.\d{1,9})?"
_ROW = re.compile(
    r"\[ {0,3}(?P<id>\d{1,6}|SUM)\](?:\[(?P<role>[TR]X)-[CS]\])? {1,4}"
    rf"(?P<start>{_NUMBER})- {{0,4}}(?P<stop>{_NUMBER}) {{1,4}}sec {{1,4}}"
    rf"{_NUMBER} [KMGT]?Bytes {{1,4}}(?P<rate>{_NUMBER}) (?P<prefix>[KMGT]?)bits/sec(?P<rest>.{{0,120}})"
)
_JITTER = re.compile(rf"\s{{1,16}}({_NUMBER}) ms\s{{1,8}}-?\d{{1,18}}/\s{{0,8}}(\d{{1,18}}) \(({_NUMBER})%\)")
_COUNT = re.compile(r"\s{1,24}(\d{1,18})(?:\s|$)")
_WINDOW = re.compile(rf"\s{{1,24}}\d{{1,18}}\s{{1,8}}({_NUMBER}) ([KMG]?)Bytes")
_CPU = re.compile(
    rf"CPU Utilization: local/(?:sender|receiver) (?P<local>{_NUMBER})% .{{0,80}}, "
    rf"remote/(?:sender|receiver) (?P<remote>{_NUMBER})% .{{0,80}}"
)
_CONGESTION_USED = re.compile(rf"snd_tcp_congestion (?P<name>{CONGESTION.pattern})")
_CONNECTED = re.compile(r"\[ {0,3}\d{1,6}\] local .{1,300} connected to .{1,300}")
_HEADING = re.compile(r"\[ ID\](?:\[Role\])? Interval .*")
_SENDS = re.compile(r".* Retr\b.*|.* Bitrate +Total Datagrams")  # the columns that only a sending end has
_ERROR = re.compile(r"(?:.{0,80}: )?iperf3: (?:error - |parameter error - |interrupt - )?(?P<words>.+)")
_WARNING = re.compile(r"(?:warning|WARNING): (?P<words>.+)")


@dataclass(slots=True)
class TextReader:
    """Takes lines, and tells the transcript what they say."""

    transcript: Transcript
    _connections: int = 0
    _summed: bool = False
    _heading: str = ""
    _sends: bool | None = None  # whether this end sends; not known before the first heading

    def read(self, line: str) -> list[Sample]:
        """Take one line; return the samples it gives."""
        if match := _ROW.match(line):
            return self._take(match)
        if not self._read_verbose(line.strip()):
            self.read_words(line)
        return []

    def read_words(self, line: str) -> None:
        """Take a line that is no row of figures."""
        stripped = line.strip()
        if _CONNECTED.match(line):
            self._connections += 1
        elif _HEADING.match(line):
            self._heading = line
            if self._sends is None:
                self._sends = _SENDS.fullmatch(line.rstrip()) is not None
        elif stripped.startswith("Reverse mode, remote host "):
            self._sends = False
        elif stripped.startswith("Server listening on"):
            self.transcript.client = False
        elif stripped == "iperf Done.":
            self.transcript.ended = True
        elif match := _WARNING.match(line):
            self.transcript.warn(match["words"])
        elif (match := _ERROR.match(line)) and match["words"] != "exiting":
            self.transcript.fail(match["words"])

    def _read_verbose(self, line: str) -> bool:
        """Take a line that only -V prints, where it is one."""
        if match := _CPU.match(line):
            self.transcript.use_of_cpu(float(match["local"]), float(match["remote"]))
        elif match := _CONGESTION_USED.fullmatch(line):
            self.transcript.congestion = match["name"]
        return match is not None

    def _take(self, match: re.Match[str]) -> list[Sample]:
        """Take a row: of the sum where there are several streams in its direction, else of the one stream."""
        streams = self._connections // 2 if match["role"] else self._connections
        self._summed |= match["id"] == "SUM"
        if match["id"] != "SUM" and (streams > 1 or self._summed):
            return []
        row, is_summary = self._row(match)
        if not is_summary:
            return self.transcript.intervals.add(row)
        self.transcript.summarise(row)
        if not self.transcript.client:
            self.transcript.ended = True  # a server says nothing after its summary
        return []

    def _row(self, match: re.Match[str]) -> tuple[Row, bool]:
        rest = match["rest"]
        words = rest.split()
        is_summary = bool(words) and words[-1] in {SENDER, RECEIVER}
        default = self.transcript.client if self._sends is None else self._sends
        sends = default if match["role"] is None else match["role"] == "TX"
        jitter = _JITTER.match(rest)
        self.transcript.udp |= jitter is not None or "Datagrams" in self._heading
        count = None if jitter else _COUNT.match(rest)
        retransmits = float(count[1]) if count and "Retr" in self._heading else None
        window = None if retransmits is None else _WINDOW.match(rest)
        datagrams = float(jitter[2]) if jitter else float(count[1]) if count and self.transcript.udp else None
        row = Row(
            direction=SEND if sends is self.transcript.client else RECEIVE,
            end=words[-1] if is_summary else SENDER if sends else RECEIVER,
            start=float(match["start"]),
            stop=float(match["stop"]),
            rate=round(float(match["rate"]) * _PREFIXES[match["prefix"]], 3),  # 32.8 G is 32,800,000,000 to the bit
            retransmits=retransmits,
            jitter=float(jitter[1]) if jitter else None,
            lost=float(jitter[3]) if jitter else None,
            datagrams=datagrams,
            window=round(float(window[1]) * _BINARY[window[2]]) if window else None,
            omitted="(omitted)" in rest,
        )
        return row, is_summary
