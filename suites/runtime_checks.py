"""The check of a minimum runtime."""

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome
from suites.quantities import count_text
from suites.vocab import Severity

ENOUGH = 10.0
"""Seconds below which a run counts as short: the default of sysbench and iperf3."""

FAR_TOO_SHORT = 5.0
"""Seconds below which start-up, CPU frequency ramp-up and one disturbance dominate the figure."""

TRUSTED = 30.0
"""Seconds set by the remedy: thirty samples of one second."""


def samples_text(seconds: float) -> str:
    """Return the number of samples of a runtime: ``4 samples of one second``."""
    return f"{count_text(int(seconds), 'sample')} of one second"


def is_short(seconds: float, evidence: StepEvidence) -> bool:
    """Return whether a runtime is too short to note. A quick look is short by intent, down to FAR_TOO_SHORT."""
    return seconds < (FAR_TOO_SHORT if evidence.quick_look else ENOUGH)


def _short_runtime(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = float(evidence.values["time"])
    if not is_short(seconds, evidence):
        return None
    return CheckOutcome(
        measured=f"time is {seconds:g} s: {samples_text(seconds)}.",
        severity=Severity.INFO if seconds >= FAR_TOO_SHORT else None,
        changes={"time": TRUSTED},
    )


SHORT_RUNTIME = Check(
    id="short-runtime",
    title="Runtime too short",
    why="Start-up, CPU frequency ramp-up and a single disturbance dominate a short run.",
    remedy=f"Set time to {TRUSTED:g} s.",
    source="Barrett and others, Virtual machine warmup blows hot and cold (OOPSLA 2017); sysbench and iperf3 run 10 s.",
    needs="Runtime, or size and plausible rate of the disk.",
    evaluate=_short_runtime,
)
