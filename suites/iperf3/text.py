"""Parse iperf3's text reports, of either end, of 3.9 and later."""

import re
from collections.abc import Collection
from dataclasses import dataclass, field, replace

from suites.tool_messages import printable_message
from suites.units import Unit
from suites.vocab import Better, Figure, Labels, Metric, MetricKind, Sample, labels

# One row of iperf3's report, an interval or a summary, as samples and figures.


THROUGHPUT = Metric("throughput", "Throughput", Unit.BITS_PER_SECOND, Better.HIGHER, MetricKind.RATE)
RETRANSMITS = Metric("retransmits", "Retransmitted segments", Unit.ONE, Better.LOWER, MetricKind.COUNT)
JITTER = Metric("jitter", "Jitter", Unit.MILLISECOND, Better.LOWER, MetricKind.TIME)
LOST = Metric("lost", "Datagrams lost", Unit.PERCENT, Better.LOWER, MetricKind.SHARE, most=100)
DATAGRAMS = Metric("datagrams", "Datagrams", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
CPU = Metric("cpu_utilization", "CPU use of iperf3", Unit.PERCENT, Better.LOWER, MetricKind.SHARE)
WINDOW = Metric("congestion_window", "Congestion window", Unit.BYTE, Better.HIGHER, MetricKind.COUNT)
ROUND_TRIP = Metric("tcp_round_trip", "Round trip as TCP sees it", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)

METRICS = (THROUGHPUT, RETRANSMITS, LOST, JITTER, DATAGRAMS, CPU, ROUND_TRIP, WINDOW)

CONGESTION = re.compile(r"[a-z][a-z0-9_-]{0,15}")
"""Valid names of congestion control algorithms."""

SEND, RECEIVE = "send", "receive"
"""Directions as seen from the client: it sends to the server, or receives from it."""

SENDER, RECEIVER = "sender", "receiver"
"""The end of the connection that counted."""

EITHER = "sender or receiver"
"""The end that counted a row of UDP before 3.7, in a part of an output that does not show which end printed it."""

SHORTEST_INTERVAL = 0.5
"""Seconds: iperf3 ends with a partial interval, whose rate is too coarse to draw next to those of 1 s."""

SHOWN = 0.9
"""Share of the time of a summary below which the intervals in the output are a part of the test."""

MAXIMUM_ROWS = 200_000
"""More than two directions print in the longest time iperf3 accepts (86,400 s)."""


@dataclass(frozen=True, slots=True)
class Row:
    """All streams of one direction over one interval, as counted at one end."""

    direction: str
    end: str
    start: float
    stop: float
    rate: float
    retransmits: float | None = None
    jitter: float | None = None
    lost: float | None = None
    datagrams: float | None = None
    window: float | None = None
    round_trip: float | None = None
    omitted: bool = False

    @property
    def labels(self) -> Labels:
        """The labels of the row's rate; without the direction if the end is not known."""
        return labels(end=EITHER) if self.end == EITHER else labels(direction=self.direction, end=self.end)


@dataclass(slots=True)
class Intervals:
    """The intervals so far, in order, on one time axis that includes the omitted seconds (-O)."""

    rows: list[Row] = field(default_factory=list)
    omit: float = 0.0  # seconds to omit; 3.12 does not print the last of them
    _omitted: dict[str, float] = field(default_factory=dict)
    _last: dict[str, float] = field(default_factory=dict)

    def add(self, row: Row) -> list[Sample]:
        """Add `row` and return its samples.

        An interval that ends no later than the one before is dropped: iperf3 repeats the last one when it breaks off.
        The clock restarts at 0 after the omitted seconds; samples continue where those ended.
        """
        if row.omitted:
            self._omitted[row.direction] = row.stop
            time = row.stop
        else:
            time = row.stop + max(self.omit, self._omitted.get(row.direction, 0.0))
        if row.stop <= row.start or time <= self._last.get(row.direction, 0.0) or len(self.rows) >= MAXIMUM_ROWS:
            return []
        self._last[row.direction] = time
        self.rows.append(row)
        return _samples(row, time) if row.stop - row.start >= SHORTEST_INTERVAL else []

    def seconds(self, direction: str) -> float:
        """Return the seconds of the intervals of a direction, without omitted ones."""
        return sum(row.stop - row.start for row in self.rows if row.direction == direction and not row.omitted)

    def mean(self, without: Collection[str] = ()) -> list[Figure]:
        """Return the mean rate of each direction but `without`, weighted by length, without omitted intervals."""
        figures = []
        counted = [row for row in self.rows if not row.omitted and row.direction not in without]
        for mark in dict.fromkeys(row.labels for row in counted):
            own = [row for row in counted if row.labels == mark]
            seconds = sum(row.stop - row.start for row in own)
            figures.append(Figure(THROUGHPUT, sum(row.rate * (row.stop - row.start) for row in own) / seconds, mark))
        return figures


def _samples(row: Row, time: float) -> list[Sample]:
    found = [Sample(time, THROUGHPUT, row.rate, row.labels, row.omitted)]
    mark = () if row.end == EITHER else labels(direction=row.direction)
    pairs = (
        (RETRANSMITS, row.retransmits),
        (JITTER, row.jitter),
        (LOST, row.lost),
        (WINDOW, row.window),
        (ROUND_TRIP, row.round_trip),
    )
    for metric, value in pairs:
        if value is not None:
            found.append(Sample(time, metric, value, mark, row.omitted))
    return found


OMITTED = 2.0
"""Per cent by which reported loss may exceed that of the rates: the ends’ times differ by a round trip."""


def _lost_in_time(rows: list[Row], row: Row) -> Row:
    """Return the row of a receiver with the loss of the measured time: iperf3 3.12 adds that of the omitted seconds."""
    sent = next((one.rate for one in rows if (one.end, one.direction) == (SENDER, row.direction)), 0.0)
    if row.lost is None or row.end != RECEIVER or not sent:
        return row
    most = max(0.0, 100 * (1 - row.rate / sent))
    return replace(row, lost=most) if row.lost > most + OMITTED else row


def summary_figures(rows: list[Row]) -> list[Figure]:
    """Return the figures of the summary `rows`, the received rates first: they are the result.

    Retransmits, window and round trip are known to the sender; jitter, loss and datagrams to the receiver.
    """
    ordered = sorted(
        (_lost_in_time(rows, row) for row in rows), key=lambda row: (row.end != RECEIVER, row.direction != SEND)
    )
    figures = [Figure(THROUGHPUT, row.rate, row.labels) for row in ordered]
    for row in ordered:
        mark = labels(direction=row.direction)
        pairs = (
            ((RETRANSMITS, row.retransmits), (WINDOW, row.window), (ROUND_TRIP, row.round_trip))
            if row.end == SENDER
            else ((LOST, row.lost), (JITTER, row.jitter), (DATAGRAMS, row.datagrams))
        )
        figures += [Figure(metric, value, mark) for metric, value in pairs if value is not None]
    return figures


# Transcript of iperf3's output, independent of the format, and its result.


MAXIMUM_MESSAGES = 5
"""Maximum errors and warnings repeated in notes."""

_EXPLANATIONS = {
    "connection refused": ("Nothing listens on that port of the server end: it did not start, or a firewall refuses."),
    "bad file descriptor": "iperf3 3.9 prints this where nothing listens on that port of the server end.",
    "server is busy": "The server is serving another client; run one test at a time or set another port.",
    "address already in use": "Another program listens on that port; set another port.",
    "block size invalid": "The length must be 16 to 65507 bytes for UDP and at most 1 MiB for TCP.",
    "name or service not known": "The address does not resolve; set the peer's address.",
    "no route to host": "No route to that address, or a firewall rejects it.",
    "timed out": "No answer; a firewall may drop the packets.",
    "unrecognized option": "This version of iperf3 does not know the option.",
    "client has terminated": "The test was stopped before its end.",
    "server has terminated": "The server end was stopped before the end of the test.",
    "control socket has closed": "The server end exited before the test ended.",
    "broken pipe": "The server end exited before the test ended.",
    "connection reset by peer": "The server end exited before the test ended.",
    "not found": "iperf3 is not installed on this host.",
}


@dataclass(slots=True)
class Transcript:
    """Content of the output. `summaries` are by direction and end; `ended` whether iperf3 reported its end."""

    intervals: Intervals = field(default_factory=Intervals)
    summaries: dict[tuple[str, str], Row] = field(default_factory=dict)
    cpu: list[Figure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    remarks: list[str] = field(default_factory=list)
    congestion: str = ""
    client: bool = True
    udp: bool = False
    ended: bool = False
    exit_status: int | None = None
    computed: bool = False  # the received rate, from the sent one and the loss
    without_bytes: Row | None = None  # a summary of 0 bytes, although datagrams arrived
    repeated: bool = False  # the last interval, by an end that broke off: its summary lacks the time after it

    def fail(self, message: str) -> None:
        """Add an error message."""
        words = printable_message(message)
        if words and words not in self.errors and len(self.errors) < MAXIMUM_MESSAGES:
            self.errors.append(words)

    def warn(self, message: str) -> None:
        """Add a warning."""
        words = printable_message(message)
        if words and words not in self.warnings and len(self.warnings) < MAXIMUM_MESSAGES:
            self.warnings.append(words)

    def use_of_cpu(self, client: float | None, server: float | None) -> None:
        """Set the CPU use of both ends, in percent of one core; of two lines about one test the first counts."""
        if self.client and not self.cpu:
            pairs = (("client", client), ("server", server))
            self.cpu = [Figure(CPU, value, labels(side=side)) for side, value in pairs if value is not None]

    def summarise(self, row: Row) -> None:
        """Add a summary row. An end prints a rate of 0 for the other end if it received no result from it.

        Only the receiving end of UDP, in the client's report, can have measured 0: every datagram was lost.
        One that lasted no time has no rate.
        """
        if row.stop <= row.start:
            return
        if not row.rate and row.end == RECEIVER and row.datagrams and (row.lost or 0.0) < 100:
            self.without_bytes = row
        if row.rate > 0 or (self.udp and self.client and row.end == RECEIVER and row.lost == 100):
            self.summaries[row.direction, row.end] = row

    def summarise_sent(self, row: Row) -> None:
        """Set the row of a sending client before 3.7: its own rate beside the jitter and the loss of the receiver."""
        self.computed = True
        self.summarise(replace(row, end=SENDER, jitter=None, lost=None, datagrams=None))
        self.summarise(replace(row, end=RECEIVER, rate=row.rate * (1 - (row.lost or 0.0) / 100)))

    @property
    def stopped(self) -> bool:
        """Whether iperf3 failed or was stopped: then it sums up what it has not measured."""
        return bool(self.errors or self.exit_status or self.repeated)

    def broken_off(self) -> bool:
        """Whether the summary is unreliable: an error, no end, or an incomplete set of rows.

        Examples: a client that never received the server's result; a direction with intervals but without a summary.
        """
        received = [end for _direction, end in self.summaries if end == RECEIVER]
        directions = {direction for direction, _end in self.summaries}
        seen = {row.direction for row in self.intervals.rows if row.rate > 0 and not row.omitted}
        lacks = not directions or len(received) < len(directions)
        cut = not self.ended or not seen <= directions or (self.client and lacks)
        return self.stopped or cut

    def summarised(self) -> set[str]:
        """Return the directions whose summary counts, of a test that was not stopped.

        It is that of the receiving end, or one of the sender over more time than the intervals in the output.
        """
        return {
            direction
            for (direction, end), row in self.summaries.items()
            if not self.stopped
            and (end == RECEIVER or self.intervals.seconds(direction) < SHOWN * (row.stop - row.start))
        }

    def figures(self, *, broken_off: bool) -> list[Figure]:
        """Return the figures: of the summary or, of a direction that lacks it, the mean of its intervals, if any."""
        whole = self.summarised()
        means = self.intervals.mean(without=whole) if broken_off else []
        if self.errors or (means and not whole):
            received = [row for (_, end), row in self.summaries.items() if end == RECEIVER and row.lost is not None]
            counted = received if self.repeated else [] if self.without_bytes is None else [self.without_bytes]
            return means + [one for one in summary_figures(counted) if one.metric is not THROUGHPUT]
        rows = [row for (direction, _end), row in self.summaries.items() if not means or direction in whole]
        return summary_figures(rows) + means + self.cpu

    def error_notes(self) -> list[str]:
        """Return the errors as iperf3 prints them, each with an explanation."""
        return [" ".join((f"iperf3: {words.rstrip('.')}.", *_explain(words))) for words in self.errors]

    def warning_notes(self, figures: list[Figure]) -> list[str]:
        """Return the warnings, and a note about datagram loss among `figures`."""
        notes = [*self.remarks, *(f"iperf3 warns: {words}" for words in self.warnings)]
        if self.congestion:
            notes.append(f"TCP's congestion control at the sending end was {self.congestion}.")
        if self.computed:
            notes.append("This iperf3 prints the sent rate and the loss: the received rate is computed from both.")
        notes += [
            f"{figure.value:.2g} % of the datagrams were lost ({dict(figure.labels)['direction']}): the received "
            "rate is the result, not the sent one."
            for figure in figures
            if figure.metric is LOST and figure.value > 0
        ]
        return notes


def _explain(words: str) -> list[str]:
    lowered = words.lower()
    return [explanation for fragment, explanation in _EXPLANATIONS.items() if fragment in lowered][:1]


_BINARY = {"": 1.0, "K": 2.0**10, "M": 2.0**20, "G": 2.0**30, "T": 2.0**40}
_PREFIXES = {"": 1.0, "K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
_NUMBER = r"\d{1,18}(?:\.\d{1,9})?"
_ROW = re.compile(
    r"\[ {0,3}(?P<id>\d{1,6}|SUM)\](?:\[(?P<role>[TR]X)-(?P<side>[CS])\])? {1,4}"
    rf"(?P<start>{_NUMBER})- {{0,4}}(?P<stop>{_NUMBER}) {{1,4}}sec {{1,4}}"
    rf"(?P<size>{_NUMBER} [KMGT]?Bytes) {{1,4}}(?P<rate>{_NUMBER} [KMGT]?(?:bits|Bytes))/sec(?P<rest>.{{0,120}})"
)
JITTER_AND_LOSS = re.compile(rf"\s{{1,16}}({_NUMBER}) ms\s{{1,8}}-?\d{{1,18}}/\s{{0,8}}(\d{{1,18}}) \(({_NUMBER})%\)")
_COUNT = re.compile(r"\s{1,24}(\d{1,18})(?:\s|$)")
_WINDOW = re.compile(rf"\s{{1,24}}\d{{1,18}}\s{{1,8}}({_NUMBER}) ([KMG]?)Bytes")
_CPU = re.compile(
    rf"CPU Utilization: local/(?:sender|receiver) (?P<local>{_NUMBER})% .{{0,80}}, "
    rf"remote/(?:sender|receiver) (?P<remote>{_NUMBER})% .{{0,80}}"
)
_CONGESTION_USED = re.compile(rf"snd_tcp_congestion (?P<name>{CONGESTION.pattern})")
_OMITTING = re.compile(r"Starting Test: .{1,200}, omitting (\d{1,9}) seconds, .*")
_CONNECTED = re.compile(r"\[ {0,3}\d{1,6}\] local .{1,300} connected to .{1,300}")
_HEADING = re.compile(r"\[ ID\](?:\[Role\])? Interval .*")
_SENDS = re.compile(r".* Retr\b.*|.* (?:Bitrate|Bandwidth) +Total Datagrams")  # the columns that only a sending end has
_END_SHOWN = re.compile(
    r"Connecting to host |Server listening on |Accepted connection from |Reverse mode, remote host "
)
_SENT = re.compile(r"\[ {0,3}(?:\d{1,6}|SUM)\] Sent \d{1,18} datagrams")  # before 3.7, after the rows of the summary
_ERROR = re.compile(r"(?:.{0,80}: )?iperf3: (?:error - |parameter error - |interrupt - )?(?P<words>.+)")
_WARNING = re.compile(r"(?:warning|WARNING): (?P<words>.+)")


def bits_per_second(text: str) -> float:
    """Return a rate as iperf prints it, without ``/sec``: ``32.8 Gbits`` in powers of 1000, ``-f M``'s ``381 MBytes``
    in powers of 1024."""
    number, _, unit = text.partition(" ")
    if unit.endswith("Bytes"):
        return float(number) * 8 * _BINARY[unit.removesuffix("Bytes")]
    return round(float(number) * _PREFIXES[unit.removesuffix("bits")], 3)  # 32.8 G without binary rounding


_DIGITS = 3
"""Significant digits of a size, which iperf prints in the unit that fits; a rate in a unit of -f may have fewer."""


def _rate(match: re.Match[str]) -> float:
    """Return the rate of a row in bit/s; of one with few digits, such as 0.01 Tbit/s with -f t, by its size."""
    number, seconds = match["rate"].partition(" ")[0], float(match["stop"]) - float(match["start"])
    if seconds <= 0 or len(number.replace(".", "").lstrip("0")) >= _DIGITS:
        return bits_per_second(match["rate"])
    return bits_per_second(match["size"]) / seconds


_INTERVAL, _SUMMARY, _OF_SENDER = "interval", "summary", "of the sender"
"""Kinds of rows; of the sender is that of a sending client before 3.7."""


def _sum_of(rows: list[Row]) -> Row:
    """Return the row of all streams: rates and counts added, the loss weighted by datagrams, the largest jitter."""
    jitters = [row.jitter for row in rows if row.jitter is not None]
    lost = [(row.lost, row.datagrams) for row in rows]
    known = [(share, count) for share, count in lost if share is not None and count]
    return replace(
        rows[0],
        rate=sum(row.rate for row in rows),
        retransmits=_added([row.retransmits for row in rows]),
        jitter=max(jitters, default=None),
        lost=sum(share * count for share, count in known) / sum(count for _, count in known) if known else None,
        datagrams=_added([row.datagrams for row in rows]),
        window=None,
        round_trip=None,
    )


def _added(values: list[float | None]) -> float | None:
    given = [value for value in values if value is not None]
    return sum(given) if len(given) == len(values) else None


@dataclass(slots=True)
class TextReader:
    """Parses lines for the transcript."""

    transcript: Transcript
    _connections: int = 0
    _summed: bool = False
    _streams: dict[tuple[str, str, str, float, float], dict[str, Row]] = field(default_factory=dict)
    _repeated: bool = False  # the server's own output follows (--get-server-output)
    _heading: str = ""
    _separated: bool = False  # whether the line that precedes a summary was read
    _end_shown: bool = False  # whether a line shows which end printed this
    _sends: bool | None = None  # whether this end sends; not known before the first heading

    def read(self, line: str) -> list[Sample]:
        """Parse one line; return its samples."""
        self._repeated = (self._repeated or line.startswith("Server output:")) and line.strip() != "iperf Done."
        if self._repeated:
            return []
        if match := _ROW.match(line):
            return self._take(match)
        if not self._read_verbose(line.strip()):
            self.read_words(line)
        return []

    def read_words(self, line: str) -> None:
        """Parse a line that is not a row of figures."""
        stripped = line.strip()
        self._end_shown = self._end_shown or _END_SHOWN.match(stripped) is not None
        self._separated = self._separated or stripped.startswith("- - - -")
        if _CONNECTED.match(line):
            self._connections += 1
        elif _HEADING.match(line):
            self._heading = line
            if self._sends is None:
                self._sends = _SENDS.fullmatch(line.rstrip()) is not None
        elif stripped.startswith("Reverse mode, remote host "):
            self._sends = False
        elif stripped.startswith(("Server listening on", "Accepted connection from")):
            self.transcript.client = False
        elif _SENT.match(line):
            self._sent()
            self.transcript.ended |= bool(self.transcript.summaries)  # only “iperf Done.” follows
        elif stripped == "iperf Done.":
            self.transcript.ended = True
        elif match := _WARNING.match(line):
            self.transcript.warn(match["words"])
        elif (match := _ERROR.match(line)) and match["words"] != "exiting":
            self.transcript.fail(match["words"])

    def _sent(self) -> None:
        """Take the last row, if it was the only kind of row so far, as that of a sending client."""
        rows = self.transcript.intervals.rows
        if not self.transcript.summaries and rows and rows[-1].jitter is not None:
            self.transcript.summarise_sent(replace(rows.pop(), direction=SEND))

    def _read_verbose(self, line: str) -> bool:
        """Parse a line that only -V prints, if it is one."""
        if match := _CPU.match(line):
            self.transcript.use_of_cpu(float(match["local"]), float(match["remote"]))
        elif match := _CONGESTION_USED.fullmatch(line):
            self.transcript.congestion = match["name"]
        elif match := _OMITTING.fullmatch(line):
            self.transcript.intervals.omit = float(match[1])
        return match is not None

    def _take(self, match: re.Match[str]) -> list[Sample]:
        """Parse a row: the sum if there are several streams in its direction, else the one stream."""
        streams = self._connections // 2 if match["role"] else self._connections
        self.transcript.client &= match["side"] != "S"
        self._summed |= match["id"] == "SUM"
        if match["id"] != "SUM" and self._summed:
            return []
        row, is_summary = self._row(match)
        sent = row.jitter is not None and not is_summary and self.transcript.client and bool(self._sends)
        kind = _SUMMARY if is_summary else _OF_SENDER if sent else _INTERVAL
        if match["id"] != "SUM":
            key = kind, row.direction, row.end, row.start, row.stop
            if key in self._streams or len(self._streams) < MAXIMUM_ROWS:
                self._streams.setdefault(key, {})[match["id"]] = row
            if streams > 1:
                return []
        return self._add(kind, row)

    def _add(self, kind: str, row: Row) -> list[Sample]:
        """Add the row of a direction to the transcript; return its samples."""
        if kind == _OF_SENDER:
            self.transcript.summarise_sent(row)
        elif kind == _INTERVAL:
            before = next(
                (one for one in reversed(self.transcript.intervals.rows) if one.direction == row.direction), None
            )
            self.transcript.repeated |= row == before
            return self.transcript.intervals.add(row)
        else:
            self.transcript.summarise(row)
            if not self.transcript.client:
                self.transcript.ended = True  # a server prints nothing after its summary
        return []

    def add_up(self) -> list[Sample] | None:
        """Take the sum of the streams where the output lacks that of iperf3; return all samples then.

        None if it has the sum, one stream in each direction, or not the rows of every stream.
        """
        most = max((len(rows) for rows in self._streams.values()), default=0)
        both = {key[1] for key in self._streams} == {SEND, RECEIVE}
        if self._summed or most < 2 or most < self._connections // (2 if both else 1):
            return None
        self.transcript.intervals = Intervals(omit=self.transcript.intervals.omit)
        self.transcript.summaries.clear()
        complete = {key: rows for key, rows in self._streams.items() if len(rows) == most}
        samples = [one for key, rows in complete.items() for one in self._add(key[0], _sum_of(list(rows.values())))]
        self.transcript.remarks.append(f"The total is the sum of {most} streams: the output has no [SUM] row.")
        return samples

    def _row(self, match: re.Match[str]) -> tuple[Row, bool]:
        rest = match["rest"]
        words = rest.split()
        named = bool(words) and words[-1] in {SENDER, RECEIVER}
        default = self.transcript.client if self._sends is None else self._sends
        sends = default if match["role"] is None else match["role"] == "TX"
        jitter = JITTER_AND_LOSS.match(rest)
        of_server = self._separated and not self.transcript.client and not float(match["start"])
        is_summary = named or (of_server and jitter is not None)  # old servers do not name the end
        self.transcript.udp |= jitter is not None or "Datagrams" in self._heading
        count = None if jitter else _COUNT.match(rest)
        retransmits = float(count[1]) if count and "Retr" in self._heading else None
        window = None if retransmits is None else _WINDOW.match(rest)
        datagrams = float(jitter[2]) if jitter else float(count[1]) if count and self.transcript.udp else None
        end = words[-1] if named else SENDER if sends else RECEIVER
        if jitter and not (is_summary or self._end_shown or self._sends or match["role"]):
            end = EITHER
        row = Row(
            direction=SEND if sends is self.transcript.client else RECEIVE,
            end=end,
            start=float(match["start"]),
            stop=float(match["stop"]),
            rate=_rate(match),
            retransmits=retransmits,
            jitter=float(jitter[1]) if jitter else None,
            lost=float(jitter[3]) if jitter else None,
            datagrams=datagrams,
            window=round(float(window[1]) * _BINARY[window[2]]) if window else None,
            omitted="(omitted)" in rest,
        )
        return row, is_summary
