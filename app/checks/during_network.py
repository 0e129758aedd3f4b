"""What is lost on the way while a trial of a network runs."""

from app.checks.during_words import total, watched
from app.wording import share_text
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.evidence import HostWatch, TrialEvidence
from suites.vocab import Level, Resource

SENT_AGAIN, MUCH_SENT_AGAIN = 0.001, 0.05
"""Shares of the segments from which those that were sent again are told, and are a warning. A sound TCP finds the rate
of a link by losing about one in a hundred to its queue."""

FOR_A_SHARE = 1000
"""Segments from which a share is told."""

DROPPED = 100
"""Packets or datagrams that have to be dropped: a few are lost at the start of every test."""


@watched
def _sent_again(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    if trial.suite.resource is not Resource.NETWORK:
        return None
    again, sent = watch.total("network_retransmits"), watch.total("network_segments")
    if again is None or sent is None:
        return CannotTell("The host does not count what TCP sends again.")
    if sent < FOR_A_SHARE or again < SENT_AGAIN * sent:
        return None
    return Outcome(
        f"{again:.0f} of {sent:.0f} segments were sent again ({share_text(again / sent)}).",
        level=Level.WARNING if again >= MUCH_SENT_AGAIN * sent else Level.INFO,
    )


@watched
def _dropped(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    if trial.suite.resource is not Resource.NETWORK:
        return None
    packets, damaged = total(watch, "network_drops"), total(watch, "network_errors")
    datagrams = total(watch, "network_datagrams_dropped")
    if packets is None and datagrams is None:
        return CannotTell("The host does not count what it drops.")
    counts = {
        "packets dropped at an interface": packets,
        "packets that arrived damaged": damaged,
        "datagrams that no program fetched in time": datagrams,
    }
    told = [f"{count:.0f} {what}" for what, count in counts.items() if count is not None and count >= DROPPED]
    return Outcome(f"Counted on the host: {', '.join(told)}.") if told else None


OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="segments-sent-again",
        level=Level.WARNING,
        title="TCP had to send much again",
        why="Segments were lost on the way, or came too late. TCP slows down with each: the figure is that of the loss "
        "as much as of the link.",
        remedy="Look for the queue or cable that loses them; fewer streams show whether it is a queue.",
        source="RetransSegs and OutSegs in /proc/net/snmp.",
        evaluate=_sent_again,
        when=When.DURING,
        needs=f"the host’s count of segments: {share_text(SENT_AGAIN)}, a warning from {share_text(MUCH_SENT_AGAIN)}",
    ),
    Check(
        id="packets-dropped",
        level=Level.WARNING,
        title="The host dropped packets",
        why="They had come as far as the host, and it or its program was too slow for them: that is no limit of the "
        "link.",
        remedy="Use larger receive buffers, more streams or a processor of its own for the receiver; quote the "
        "received rate.",
        source="/proc/net/dev, and RcvbufErrors in /proc/net/snmp.",
        evaluate=_dropped,
        when=When.DURING,
        needs=f"the host’s counters of dropped and damaged packets: {DROPPED} or more",
    ),
)
