"""What iperf3 has said so far, whichever way it said it, and what that means in the end."""

from dataclasses import dataclass, field

from suites.iperf3.rows import CPU, LOST, RECEIVER, Intervals, Row, summary_figures
from suites.tool_words import tool_words
from suites.vocab import Figure, labels

MAXIMUM_MESSAGES = 5
"""Errors and warnings that are repeated in notes."""

_EXPLANATIONS = {
    "connection refused": "Nothing listens on that port of the server end: it did not start, or a firewall refuses.",
    "bad file descriptor": "iperf3 3.9 says this where nothing listens on that port of the server end.",
    "server is busy": "Another client is being served; run one test at a time or give another port.",
    "address already in use": "Another program listens on that port; give another port.",
    "block size invalid": "The length must be 16 to 65507 bytes for UDP and at most 1 MiB for TCP.",
    "name or service not known": "The address does not resolve; give the peer's address.",
    "no route to host": "The network has no way to that address, or a firewall rejects it.",
    "timed out": "Nothing answered; a firewall may drop the packets.",
    "unrecognized option": "This version of iperf3 does not know the option.",
    "client has terminated": "The test was stopped before its end.",
    "server has terminated": "The server end was stopped before the end of the test.",
    "control socket has closed": "The server end ended before the test did.",
    "broken pipe": "The server end ended before the test did.",
    "connection reset by peer": "The server end ended before the test did.",
    "not found": "iperf3 is not installed on this host.",
}


@dataclass(slots=True)
class Transcript:
    """All that the output says. `summaries` are by direction and end; `ended` whether iperf3 said it was done."""

    intervals: Intervals = field(default_factory=Intervals)
    summaries: dict[tuple[str, str], Row] = field(default_factory=dict)
    cpu: list[Figure] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    congestion: str = ""
    client: bool = True
    udp: bool = False
    ended: bool = False

    def fail(self, message: str) -> None:
        """Take an error message."""
        words = tool_words(message)
        if words and words not in self.errors and len(self.errors) < MAXIMUM_MESSAGES:
            self.errors.append(words)

    def warn(self, message: str) -> None:
        """Take a warning."""
        words = tool_words(message)
        if words and words not in self.warnings and len(self.warnings) < MAXIMUM_MESSAGES:
            self.warnings.append(words)

    def use_of_cpu(self, client: float | None, server: float | None) -> None:
        """Take the CPU use of both ends, in percent of one core; of two lines about one test the first counts."""
        if self.client and not self.cpu:
            pairs = (("client", client), ("server", server))
            self.cpu = [Figure(CPU, value, labels(side=side)) for side, value in pairs if value is not None]

    def summarise(self, row: Row) -> None:
        """Take a summary row. A rate of 0 is what an end prints of the other that it never heard of.

        Only the receiving end of UDP, as the client tells it, can have measured 0: every datagram was lost.
        """
        if row.rate > 0 or (self.udp and self.client and row.end == RECEIVER and row.lost == 100):
            self.summaries[row.direction, row.end] = row

    def broken_off(self) -> bool:
        """Whether the summary cannot be trusted: an error, no end, or less than all in it.

        A client that never heard what was received is one case; a direction that has intervals and no summary another.
        """
        received = [end for _direction, end in self.summaries if end == RECEIVER]
        directions = {direction for direction, _end in self.summaries}
        seen = {row.direction for row in self.intervals.rows if row.rate > 0 and not row.omitted}
        cut = not self.ended or not seen <= directions or (self.client and len(received) < len(directions))
        return bool(self.errors) or cut

    def figures(self, *, broken_off: bool) -> list[Figure]:
        """Return the figures: of the summary, or where that is not to be trusted the mean of the intervals."""
        if broken_off:
            return self.intervals.mean()
        return summary_figures(list(self.summaries.values())) + self.cpu

    def error_notes(self) -> list[str]:
        """Return the errors in iperf3's words, each with what it means."""
        return [" ".join((f"iperf3: {words.rstrip('.')}.", *_explain(words))) for words in self.errors]

    def warning_notes(self, figures: list[Figure]) -> list[str]:
        """Return the warnings, and what datagram loss among `figures` means."""
        notes = [f"iperf3 warns: {words}" for words in self.warnings]
        if self.congestion:
            notes.append(f"TCP's congestion control at the sending end was {self.congestion}.")
        notes += [
            f"{figure.value:.2g} % of the datagrams were lost ({dict(figure.labels)['direction']}): "
            "the received rate is the result, not the sent one."
            for figure in figures
            if figure.metric is LOST and figure.value > 0
        ]
        return notes


def _explain(words: str) -> list[str]:
    lowered = words.lower()
    return [explanation for fragment, explanation in _EXPLANATIONS.items() if fragment in lowered][:1]
