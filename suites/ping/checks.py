"""What is known to fool people about latency under load."""

import math
from dataclasses import replace

from suites.checks import CannotTell, Check, Outcome, StepCheck, StepEvidence
from suites.iperf3.checks import IPERF3_CHECKS
from suites.net_blocks.checks import NET_BLOCKS_CHECKS
from suites.peer_checks import SAME_HOST
from suites.ping.output import FEWEST_FOR_P99
from suites.ping.parameters import PROBE
from suites.vocab import Level


def _few_round_trips(evidence: StepEvidence) -> Outcome | None:
    seconds, interval = float(evidence.values["time"]), float(evidence.values["interval"])
    trips = round(seconds / interval)
    if trips >= FEWEST_FOR_P99:
        return None
    return Outcome(
        f"{seconds:g} s at one every {interval:g} s are {trips} round trips in each phase.",
        changes={"time": float(math.ceil(FEWEST_FOR_P99 * interval))},
    )


def _of_the_probe(check: StepCheck) -> StepCheck:
    """Return `check`, silent where ping times the round trips."""

    def evaluate(evidence: StepEvidence) -> Outcome | CannotTell | None:
        return check.evaluate(evidence) if evidence.values["method"] == PROBE else None

    return replace(check, evaluate=evaluate)


PING_CHECKS: tuple[StepCheck, ...] = (
    SAME_HOST,
    Check(
        id="few-round-trips",
        level=Level.INFO,
        title="Too few round trips for a 99th percentile",
        why="Of fewer than a hundred, the 99th percentile is the one that happened to be the slowest.",
        remedy="Time round trips for longer, or at a shorter interval.",
        source="The definition of a percentile.",
        needs="How many round trips the time and interval allow.",
        evaluate=_few_round_trips,
    ),
    *(check for check in IPERF3_CHECKS if check.id in {"udp-default-rate", "iperf3-bidir-too-old"}),
    *(_of_the_probe(check) for check in NET_BLOCKS_CHECKS if check.id.startswith("probe-no-compiler")),
)
