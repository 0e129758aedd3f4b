"""Parse iperf3's output in any format as it arrives: text, --json-stream events, or the document of -J."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from suites.iperf3.iperf2 import Iperf2Reader
from suites.iperf3.text import CONGESTION, RECEIVE, RECEIVER, SEND, SENDER, Row, TextReader, Transcript
from suites.line_parser import MAXIMUM_LINE, LineParser, LineSplitter
from suites.outputs import ParsedTrial
from suites.strict_json import read_json
from suites.tool_messages import exit_notes
from suites.vocab import Figure, Sample

# Parser of iperf3's JSON: the one document of -J, and the events of --json-stream (3.17 and later).


LARGEST = 1e18
"""Upper bound of plausible counts, rates and times of iperf3."""

_REVERSED = "_bidir_reverse"


@dataclass(slots=True)
class JsonReader:
    """Converts decoded JSON for the transcript."""

    transcript: Transcript
    _reverse: bool = False

    def read_event(self, event: dict[str, Any]) -> list[Sample]:
        """Parse one event of a stream; return its samples."""
        data = event.get("data")
        match event.get("event"):
            case "start":
                self._start(_object(data))
            case "interval":
                return self._interval(_object(data))
            case "end":
                self._end(_object(data))
            case "error":
                self.transcript.fail(str(data))
        return []

    def read_document(self, document: dict[str, Any]) -> list[Sample]:
        """Parse the document of -J; return its samples.

        One that follows the events of a stream (--json-stream-full-output) repeats everything: its intervals end no
        later than those before, so they give no sample twice.
        """
        self._start(_object(document.get("start")))
        intervals = document.get("intervals")
        samples = []
        for interval in intervals if isinstance(intervals, list) else []:
            samples += self._interval(_object(interval))
        self._end(_object(document.get("end")))
        if "error" in document:
            self.transcript.fail(str(document["error"]))
        return samples

    def _start(self, start: dict[str, Any]) -> None:
        test = _object(start.get("test_start"))
        self.transcript.client = "accepted_connection" not in start
        self.transcript.udp = test.get("protocol") == "UDP"
        self._reverse = test.get("reverse") == 1
        self.transcript.intervals.omit = _number(test.get("omit")) or 0.0

    def _interval(self, data: dict[str, Any]) -> list[Sample]:
        samples = []
        for name in ("sum", "sum" + _REVERSED):
            total = _object(data.get(name))
            sends = total.get("sender", self._direction(name) == SEND)
            end = SENDER if (sends is True) else RECEIVER
            if row := _row(total, self._direction(name), end):
                samples += self.transcript.intervals.add(_with_tcp(row, _streams(data), sends=end == SENDER))
        return samples

    def _end(self, data: dict[str, Any]) -> None:
        for suffix in ("", _REVERSED):
            for name, end in (("sum_sent", SENDER), ("sum_received", RECEIVER)):
                if row := _row(_object(data.get(name + suffix)), self._direction(name + suffix), end):
                    senders = [_object(stream.get("sender")) for stream in _streams(data)] if end == SENDER else []
                    self.transcript.summarise(_with_tcp(row, senders, sends=row.direction == SEND))
                    self.transcript.ended = True
        use = _object(data.get("cpu_utilization_percent"))
        if self.transcript.ended:
            self.transcript.use_of_cpu(_number(use.get("host_total")), _number(use.get("remote_total")))
        congestion = data.get("sender_tcp_congestion")
        if isinstance(congestion, str) and CONGESTION.fullmatch(congestion):
            self.transcript.congestion = congestion

    def _direction(self, name: str) -> str:
        """Return the direction of a total of this name, as seen from the client."""
        return RECEIVE if name.endswith(_REVERSED) or self._reverse else SEND


def _row(total: dict[str, Any], direction: str, end: str) -> Row | None:
    """Return one of iperf3's totals as a row, or None if it lacks its rate or times."""
    start, stop, rate = (_number(total.get(name)) for name in ("start", "end", "bits_per_second"))
    if start is None or stop is None or rate is None:
        return None
    received = end == RECEIVER
    return Row(
        direction=direction,
        end=end,
        start=start,
        stop=stop,
        rate=rate,
        retransmits=_number(total.get("retransmits")),
        jitter=_number(total.get("jitter_ms")) if received else None,
        lost=_number(total.get("lost_percent")) if received else None,
        datagrams=_number(total.get("packets")),
        omitted=total.get("omitted") is True,
    )


def _streams(data: dict[str, Any]) -> list[dict[str, Any]]:
    streams = data.get("streams")
    return [_object(stream) for stream in streams] if isinstance(streams, list) else []


def _with_tcp(row: Row, streams: list[dict[str, Any]], *, sends: bool) -> Row:
    """Return `row` with the TCP values of its `streams`: the sum of their windows, the mean of their round trips.

    An interval has the current window and round trip, the end the mean round trip.
    """
    own = [stream for stream in streams if stream.get("sender", sends) is sends]
    windows = [value for stream in own if (value := _number(stream.get("snd_cwnd")))]
    trips = [value for stream in own if (value := _number(stream.get("mean_rtt", stream.get("rtt"))))]
    return replace(row, window=sum(windows) if windows else None, round_trip=sum(trips) / len(trips) if trips else None)


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        return None
    return float(value)


MAXIMUM_EVENT = 2**20
"""Bytes of one event's line: 128 streams both ways (iperf3's most) take about 300 kB."""

MAXIMUM_DOCUMENT = 32 * 2**20
"""Characters of one document: a day's intervals of one stream take about 30 MB; a longer one is not read."""

_INSIDE = ("\t", " ", "{", "}", "]")
"""Line beginnings of iperf3's documents; any other line inside one is an interleaved message."""


class Iperf3Parser(LineParser):
    """Parser of one trial."""

    def __init__(self) -> None:
        super().__init__()
        self._lines = LineSplitter(maximum=MAXIMUM_EVENT)
        self._transcript = Transcript()
        self._text = TextReader(self._transcript)
        self._json = JsonReader(self._transcript)
        self._iperf2 = Iperf2Reader()
        self._document: list[str] = []
        self._length = 0
        self._notes: list[str] = []

    def _result(self, exit_status: int | None) -> ParsedTrial:
        """Return the result of the whole output.

        The exit status alone proves nothing: with -J, 3.12 ends with 0 after an error, and 3.19 after a signal.
        """
        if self._iperf2.found:
            return self._iperf2.result(exit_status)
        transcript = self._transcript
        added = self._text.add_up()
        if added is not None:
            self._samples[:] = added
        if self._document:
            self._notes.append("The JSON document is truncated.")
        transcript.exit_status = exit_status
        broken_off = transcript.broken_off()
        figures = transcript.figures(broken_off=broken_off)
        notes = [*transcript.error_notes(), *self._notes]
        if broken_off:
            notes.append(self._partial_note(figures))
        notes += transcript.warning_notes(figures)
        notes += exit_notes("iperf3", exit_status)
        return ParsedTrial(tuple(figures), tuple(self._samples), tuple(notes), complete=not broken_off)

    def _partial_note(self, figures: Sequence[Figure]) -> str:
        if not figures:
            return "The test gave no result."
        transcript = self._transcript
        if transcript.stopped and transcript.intervals.rows:
            return (
                "The test ended early: the figure is the mean of the intervals before; iperf3's own summary is wrong "
                "then."
            )
        whole = transcript.summarised()
        without = dict.fromkeys(row.direction for row in transcript.intervals.rows if row.direction not in whole)
        shown = [(one, seconds) for one in without if (seconds := transcript.intervals.seconds(one))]
        if not shown:
            return "The end of iperf3's output is missing."
        named = bool(whole) or len(shown) > 1
        means = " and ".join(
            f"the figure{f' of {one}' if named else ''} is the mean of the {seconds:.4g} s shown"
            for one, seconds in shown
        )
        row = transcript.without_bytes
        lacks = "The output lacks iperf3's whole summary"
        if row is not None:
            lacks = f"iperf3's summary contradicts its rows, 0 bytes of {row.datagrams or 0:,.0f} datagrams"
        return f"{lacks}: {means}."

    def _read(self, line: str) -> None:
        self._samples += self._samples_in(line)

    def _samples_in(self, line: str) -> list[Sample]:
        if self._document and line.startswith(_INSIDE):
            return self._go_on(line)
        if line.startswith("{"):
            return self._begin(line)
        if len(line) > MAXIMUM_LINE:
            return []
        self._iperf2.read(line)
        return [] if self._iperf2.found else self._text.read(line)

    def _read_unfinished(self, line: str) -> None:
        """Parse an unterminated last line: a row of figures may lack digits, truncated JSON is detected."""
        if line.startswith("{") or self._document:
            self._read(line)
        else:
            self._text.read_words(line)

    def _begin(self, line: str) -> list[Sample]:
        """Parse a line that begins with a brace: an event, a whole document, or the first line of one."""
        if line.rstrip() != "{":
            return self._decode(line)
        self._document, self._length = [line], len(line)
        return []

    def _go_on(self, line: str) -> list[Sample]:
        """Parse a line within a document; a single closing brace ends it."""
        self._length += len(line) + 1
        if self._length <= MAXIMUM_DOCUMENT:
            self._document.append(line)
        if line.rstrip() != "}":
            return []
        text = "\n".join(self._document)
        self._document = []
        if self._length > MAXIMUM_DOCUMENT:
            self._notes.append("The JSON document is longer than 32 MB and was not read.")
            return []
        return self._decode(text)

    def _decode(self, text: str) -> list[Sample]:
        try:
            found: Any = read_json(text)
        except ValueError as error:
            if len(self._notes) < 3:  # one is enough; a broken tool may print thousands
                self._notes.append(f"A part of the output is not usable JSON: {str(error)[:120]}.")
            return []
        if not isinstance(found, dict):
            return []
        return self._json.read_event(found) if "event" in found else self._json.read_document(found)
