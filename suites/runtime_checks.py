"""The check that a test runs long enough for its figure to mean something."""

from suites.checks import Check, Outcome, StepEvidence
from suites.vocab import Level

ENOUGH = 10.0
"""Seconds below which a run is said to be short: what sysbench and iperf3 run by default."""

FAR_TOO_SHORT = 5.0
"""Seconds below which start-up, a clock that is still rising and one disturbance decide the figure."""

TRUSTED = 30.0
"""Seconds that the remedy gives: thirty samples of one second."""


def samples_text(seconds: float) -> str:
    """Return how many samples a time gives: ``4 samples of one second``."""
    return f"{int(seconds)} sample{'' if int(seconds) == 1 else 's'} of one second"


def _short_runtime(evidence: StepEvidence) -> Outcome | None:
    seconds = float(evidence.values["time"])
    if seconds >= ENOUGH:
        return None
    return Outcome(
        measured=f"time is {seconds:g} s: {samples_text(seconds)}.",
        level=Level.INFO if seconds >= FAR_TOO_SHORT else None,
        changes={"time": TRUSTED},
    )


SHORT_RUNTIME = Check(
    id="short-runtime",
    level=Level.WARNING,
    title="Too short to trust",
    why="Start-up, a processor clock that is still rising and any single disturbance weigh heavily in a short run.",
    remedy=f"Run for {TRUSTED:g} s.",
    source="Barrett and others, Virtual machine warmup blows hot and cold (OOPSLA 2017); sysbench and iperf3 run 10 s.",
    needs="The time, or the size and how fast such a disk may be.",
    evaluate=_short_runtime,
)
