"""Reads iperf3's JSON: the one document of -J, and the events of --json-stream (3.17 and later)."""

from dataclasses import dataclass, replace
from typing import Any

from suites.iperf3.rows import CONGESTION, RECEIVE, RECEIVER, SEND, SENDER, Row
from suites.iperf3.transcript import Transcript
from suites.vocab import Sample

LARGEST = 1e18
"""No count, rate or time of iperf3 is larger; a number that is, is no figure."""

_REVERSED = "_bidir_reverse"


@dataclass(slots=True)
class JsonReader:
    """Takes decoded JSON, and tells the transcript what it says."""

    transcript: Transcript
    _reverse: bool = False

    def read_event(self, event: dict[str, Any]) -> list[Sample]:
        """Take one event of a stream; return the samples it gives."""
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
        """Take the document of -J; return the samples it gives.

        One that follows the events of a stream (--json-stream-full-output) says all of it again: its intervals end
        no later than those before, so they give no sample twice.
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

    def _interval(self, data: dict[str, Any]) -> list[Sample]:
        samples = []
        for name in ("sum", "sum" + _REVERSED):
            total = _object(data.get(name))
            sends = total.get("sender", self._direction(name) == SEND)
            end = SENDER if (sends is True) else RECEIVER
            if row := _row(total, self._direction(name), end):
                samples += self.transcript.intervals.add(_with_tcp(row, _streams(data), end == SENDER))
        return samples

    def _end(self, data: dict[str, Any]) -> None:
        for suffix in ("", _REVERSED):
            for name, end in (("sum_sent", SENDER), ("sum_received", RECEIVER)):
                if row := _row(_object(data.get(name + suffix)), self._direction(name + suffix), end):
                    told = [_object(stream.get("sender")) for stream in _streams(data)] if end == SENDER else []
                    self.transcript.summarise(_with_tcp(row, told, row.direction == SEND))
                    self.transcript.ended = True
        use = _object(data.get("cpu_utilization_percent"))
        if self.transcript.ended:
            self.transcript.use_of_cpu(_number(use.get("host_total")), _number(use.get("remote_total")))
        congestion = data.get("sender_tcp_congestion")
        if isinstance(congestion, str) and CONGESTION.fullmatch(congestion):
            self.transcript.congestion = congestion

    def _direction(self, name: str) -> str:
        """Return which way a total of this name went, as the client sees it."""
        return RECEIVE if name.endswith(_REVERSED) or self._reverse else SEND


def _row(total: dict[str, Any], direction: str, end: str) -> Row | None:
    """Return one of iperf3's totals as a row, or None where it lacks its rate or times."""
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


def _with_tcp(row: Row, streams: list[dict[str, Any]], sends: bool) -> Row:  # noqa: FBT001 (a private helper)
    """Return `row` with what TCP tells of its `streams`: the sum of their windows, the mean of their round trips.

    An interval has the window and the round trip of the moment, the end the mean round trip.
    """
    own = [stream for stream in streams if stream.get("sender", sends) is sends]
    windows = [value for stream in own if (value := _number(stream.get("snd_cwnd")))]
    trips = [value for stream in own if (value := _number(stream.get("mean_rtt", stream.get("rtt"))))]
    return replace(
        row,
        window=sum(windows) if windows else None,
        round_trip=sum(trips) / len(trips) if trips else None,
    )


def _object(value: object) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value <= LARGEST:
        return None
    return float(value)
