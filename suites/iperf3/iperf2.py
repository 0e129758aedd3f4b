"""Parse the text reports of iperf 2, which is another tool than iperf3: of a client or a server, TCP or UDP."""

import re
from dataclasses import dataclass, field, replace

from suites.iperf3.text import (
    JITTER_AND_LOSS,
    MAXIMUM_ROWS,
    RECEIVE,
    RECEIVER,
    SEND,
    SENDER,
    Intervals,
    Row,
    bits_per_second,
    summary_figures,
)
from suites.outputs import ParsedTrial
from suites.tool_messages import exit_notes

_BANNER = re.compile(r"(?P<end>Client connecting to .{1,300}, |Server listening on )(?:TCP|UDP) ports? \d{1,5}\b.*")
_N = r"\d{1,18}(?:\.\d{1,9})?"
_ROW = re.compile(
    rf"\[[ *]{{0,3}}(?P<id>\d{{1,6}}|SUM)\]\s{{1,4}}(?P<start>{_N})-\s{{0,4}}(?P<stop>{_N})\s{{1,4}}sec\s{{1,4}}"
    rf"{_N} [KMGT]?Bytes\s{{1,4}}(?P<rate>{_N} [KMGT]?(?:bits|Bytes))/sec(?P<rest>.{{0,200}})"
)
_CONNECTED = re.compile(r"\[[ *]{0,3}\d{1,6}\] local .{1,300} connected with (?P<to>.{1,300})")
_UNANSWERED = re.compile(r"\[[ *]{0,3}\d{1,6}\] WARNING: did not receive ack of last datagram")
_SERVER_REPORT = re.compile(r"\[[ *]{0,3}(?:\d{1,6}|SUM)\] Server Report:")


@dataclass(slots=True)
class Iperf2Reader:
    """Reader of the report of one test. The sender's rate counts, or the receiver's where it is reported.

    There are no live samples: the last row, which repeats the whole time, is known at the end only.
    """

    found: bool = False  # whether a banner of iperf 2 was read; a connection may be reported before it
    _server: bool = False
    _reverse: bool = False
    _both: bool = False  # ways
    _connections: int = 0
    _stream: str = ""  # id of the first stream
    _several: bool = False
    _sums: list[Row] = field(default_factory=list)
    _rows: list[Row] = field(default_factory=list)  # of the first stream
    _received: dict[str, Row] = field(default_factory=dict)  # by stream
    _at_server: bool = False
    _unanswered: bool = False  # whether the server did not answer a client of UDP

    def read(self, line: str) -> None:
        """Read one line."""
        if match := _BANNER.fullmatch(line.rstrip()):
            server = match["end"].startswith("Server")
            self._both |= self.found and server is not self._server
            self.found, self._server = True, server
        elif match := _CONNECTED.match(line):
            self._connections += 1
            self._reverse |= "(reverse)" in match["to"]
            self._both |= "(full-duplex)" in match["to"]
        elif self.found and _UNANSWERED.match(line):
            self._unanswered = True
        elif self.found and _SERVER_REPORT.match(line):
            self._at_server = True
        elif self.found and (match := _ROW.match(line)):
            self._take(match)

    def _take(self, match: re.Match[str]) -> None:
        jitter = JITTER_AND_LOSS.match(match["rest"])
        row = Row(
            direction=RECEIVE if self._reverse else SEND,
            end=RECEIVER if self._server or self._at_server or self._reverse else SENDER,
            start=float(match["start"]),
            stop=float(match["stop"]),
            rate=bits_per_second(match["rate"]),
            jitter=float(jitter[1]) if jitter else None,
            lost=float(jitter[3]) if jitter else None,
            datagrams=float(jitter[2]) if jitter else None,
        )
        self._stream = self._stream or match["id"].replace("SUM", "")
        if self._at_server:
            self._received[match["id"]], self._at_server = row, False
        elif match["id"] in {"SUM", self._stream}:
            rows = self._sums if match["id"] == "SUM" else self._rows
            rows[MAXIMUM_ROWS:] = [row]  # the last row is kept
        else:
            self._several = True

    def result(self, exit_status: int | None) -> ParsedTrial:
        """Return the figures of the last row, which repeats the whole time."""
        notes = ["This is the output of iperf 2, another tool than iperf3: compare it with iperf 2 only."]
        if self._both:
            notes.append("A test of both directions: no figure. Test one direction at a time.")
            return ParsedTrial(notes=tuple(notes), complete=False)
        several = self._several or self._connections > 1
        if self._server and several:
            notes.append("A server's output has several tests: no figure. Parse the client's output.")
            return ParsedTrial(notes=tuple(notes), complete=False)
        if any(row.start == row.stop for row in (*self._sums[-1:], *self._rows[-1:])):
            notes.append("iperf 2 measured for 0 s: no figure.")
            return ParsedTrial(notes=tuple(notes), complete=False)
        whole = self._sums if several else self._sums or self._rows
        intervals = Intervals()
        ended = bool(whole) and whole[-1].start == 0 and (not several or self._ends_together(whole[-1]))
        samples = [sample for row in (whole[:-1] if ended else whole) for sample in intervals.add(row)]
        received = self._at_the_server()
        if self._received and received is None:
            notes.append("Streams without a report of the server: the rate is the sender’s.")
        if self._unanswered:
            notes.append("The server did not answer: the rate is the sent one, and nothing may have arrived.")
        final = [*whole[-1:], *([] if received is None else [received])]
        figures = summary_figures(final) if ended else intervals.mean()
        if not ended:
            partial = "the figure is the mean of the intervals before." if figures else "no figure."
            notes.append(f"iperf 2 was cut off: {partial}")
        notes += exit_notes("iperf 2", exit_status)
        return ParsedTrial(tuple(figures), tuple(samples), tuple(notes), ended and not exit_status)

    def _at_the_server(self) -> Row | None:
        """Return the row of all streams at the server; None if the report of one is missing."""
        rows = [row for stream, row in self._received.items() if stream != "SUM"]
        if "SUM" in self._received or len(rows) < max(1, self._connections):
            return self._received.get("SUM")
        whole = replace(rows[0], rate=sum(row.rate for row in rows))
        datagrams = sum(row.datagrams or 0.0 for row in rows)
        if not datagrams:
            return whole
        lost = sum((row.lost or 0.0) * (row.datagrams or 0.0) for row in rows) / datagrams
        return replace(whole, datagrams=datagrams, lost=lost, jitter=max(row.jitter or 0.0 for row in rows))

    def _ends_together(self, total: Row) -> bool:
        """Return whether the row [SUM] `total` is of the same time as the last row of the first stream."""
        return bool(self._rows) and self._rows[-1].start == 0 and total.stop > 0.9 * self._rows[-1].stop
