"""Checks that a trial completed: exit status, figures, bytes copied, runtime, errors in the output."""

import re
from dataclasses import replace

from app.checks.evidence import RUNNING, seconds_of, workload_of
from suites.checks import CheckOutcome, NotChecked, after_check, during_check
from suites.evidence import STOPPED, OutcomeCheck, StepOutcomeEvidence, TrialCheck, TrialEvidence
from suites.quantities import count_text, duration_text, quantity, share_text
from suites.verdict import Trust
from suites.vocab import MetricKind, Severity

SHORT = 1.0
"""Seconds below which start-up, one disturbance or a cache decides the figure."""

FAR_TOO_SHORT = 0.1
"""Seconds below which the result is doubtful instead of valid with caveats."""

REACHED = 0.95
"""The least share of the requested runtime: tools stop at whole seconds."""

LATE = 2.0
"""Times the expected duration, plus LATE_BY seconds, from which a trial was delayed (flent warns at ten times)."""

LATE_BY = 10.0
"""Seconds that setup and cleanup may add to any trial."""

WHOLE = 0.999
"""The least share of the requested bytes that a complete copy has."""

_ERRORS = re.compile(
    r"\b(I/O error|Input/output error|No space left|Read-only file system|short (?:read|write)|verif\w+ failed|"
    r"bad magic|residual\w* (?:too large|failed)|fatal|segmentation fault|out of memory|killed)\b",
    re.IGNORECASE,
)
"""Words of the tools themselves: notes quote their messages, and no tool marks which of them are errors."""


def _failed(step: StepOutcomeEvidence) -> CheckOutcome | None:
    lost = [trial for trial in step.trials if not trial.done]
    if not lost and step.trials and len(step.trials) >= (step.planned or 0):
        return None
    done, stopped = len(step.done), bool(step.trials) and all(trial.reason == STOPPED for trial in lost)
    reason = lost[0].reason if lost else "" if step.trials else "No trial started."
    planned = count_text(step.planned or len(step.trials), "trial")
    outcome = CheckOutcome(f"{done} of {planned} completed. {reason}".strip())
    if stopped:
        outcome = replace(outcome, remedy="Run it again to its end.")
    if not done:
        return replace(outcome, why="There is no result.")
    if not stopped:
        return replace(outcome, severity=Severity.WARNING, trust=Trust.CAVEATS)
    why = "Fewer trials give a wider interval, and stopping at a figure that looks right biases it."
    return replace(outcome, why=why, severity=Severity.INFO, trust=Trust.CAVEATS)


def _no_figures(trial: TrialEvidence) -> CheckOutcome | None:
    if not trial.done:
        return None
    figure = trial.headline
    if figure is None:
        how = (
            "The tool printed no figure."
            if trial.elsewhere
            else "The tool exited without an error and printed no figure."
        )
        return CheckOutcome(how)
    if figure.metric.kind is MetricKind.RATE and figure.value == 0:
        return CheckOutcome(f"{figure.metric.title}: 0.")
    counted = trial.value("copied")
    if counted == 0:
        return CheckOutcome("0 bytes were copied.")
    return None


def _early(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    workload = workload_of(trial)
    if workload.seconds is None or not trial.done:
        return None
    requested = workload.seconds + workload.ramp
    if trial.duration is None:
        return NotChecked("The trial’s duration is unknown.")
    if trial.duration >= REACHED * requested:
        return None
    return CheckOutcome(f"The tool ended after {duration_text(trial.duration)} of {duration_text(requested)}.")


def _brief(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    if not trial.done:
        return None
    seconds = seconds_of(trial)
    if seconds is None:
        return NotChecked("The tool’s measured time is unknown.")
    if seconds >= SHORT:
        return NotChecked("The run itself was not seen.") if trial.elsewhere else None  # what was requested counts
    far = seconds < FAR_TOO_SHORT
    measured = f"The measurement took {seconds * 1000:.3g} ms."
    return CheckOutcome(measured, trust=Trust.DOUBTFUL if far else Trust.CAVEATS)


def _late(trial: TrialEvidence) -> CheckOutcome | NotChecked | None:
    running = trial.state == RUNNING
    if not (trial.done or running) or trial.expected is None:
        return None
    if trial.duration is None:
        return NotChecked("The trial’s duration is unknown.")
    if trial.duration <= LATE * trial.expected + LATE_BY:
        return None
    lasted = "has run for" if running else "took"
    measured = f"The trial {lasted} {duration_text(trial.duration)}; planned: {duration_text(trial.expected)}."
    return CheckOutcome(measured, remedy="If the tool hangs, stop the run." if running else None)


def first_error(trial: TrialEvidence) -> str:
    """Return the first note of a trial that ended which quotes an error of the tool; empty if none does.

    “Cut off” is a parser's word about an output without an end, not the tool's.
    """
    quoted = (note for note in trial.notes if _ERRORS.search(note) and "cut off" not in note)
    return next(quoted, "") if trial.done else ""


def _errors(trial: TrialEvidence) -> CheckOutcome | None:
    error = first_error(trial)
    return CheckOutcome(error[:300]) if error else None


def _partly_copied(trial: TrialEvidence) -> CheckOutcome | None:
    copied, requested = trial.value("copied"), workload_of(trial).size
    if copied is None or not trial.done or requested is None or copied >= WHOLE * requested:
        return None
    return CheckOutcome(f"{quantity(copied)} of {quantity(requested)} were copied.")


MANY_FAILED, FEW_FAILED = 0.01, 1e-4
"""Shares of failed requests from which the rate is that of another workload, and below which it is as good as whole."""

_COUNTED_OUTSIDE = ("failed_transactions", "socket_errors")
_COUNTED_WITHIN = ("failed_responses",)
"""Counts of failures outside and within the total that a tool reports."""


def _failed_work(trial: TrialEvidence) -> CheckOutcome | None:
    total = trial.value("total_transactions") or trial.value("total_requests")
    outside = sum(trial.value(name) or 0.0 for name in _COUNTED_OUTSIDE)
    failed = outside + sum(trial.value(name) or 0.0 for name in _COUNTED_WITHIN)
    if not failed or total is None or not trial.done:
        return None
    part = failed / (total + outside)
    measured = f"{failed:.0f} of {total + outside:.0f} failed ({share_text(part)})."
    if part < FEW_FAILED:
        return CheckOutcome(measured, severity=Severity.INFO, trust=Trust.VALID)
    return CheckOutcome(measured, trust=Trust.DOUBTFUL if part >= MANY_FAILED else Trust.CAVEATS)


_TOOL = "The tool’s own output and exit status."

TRIALS_FAILED: OutcomeCheck = after_check(
    id="trials-failed",
    severity=Severity.ERROR,
    title="Incomplete trials",
    why="Failures under load may be what you want to measure; the completed trials are a biased sample.",
    remedy="Read the reason and the raw output, fix the cause, and run it again.",
    source=_TOOL,
    evaluate=_failed,
    needs="how each trial ended",
    trust=Trust.INVALID,
)

OUTCOME_CHECKS: tuple[OutcomeCheck, ...] = (TRIALS_FAILED,)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="nothing-counted",
        severity=Severity.ERROR,
        title="No work was measured",
        why="The tool exited without an error and did no work: there is no result.",
        remedy="Read the raw output; run the exact command by hand.",
        source=_TOOL,
        evaluate=_no_figures,
        needs="the figures of the trial",
        trust=Trust.INVALID,
    ),
    after_check(
        id="ended-early",
        severity=Severity.ERROR,
        title="Ended early",
        why="An error, a limit on its work or the end of its files stopped the tool. The figure covers the first part "
        "only.",
        remedy="Find the cause in the raw output.",
        source=_TOOL,
        evaluate=_early,
        needs="the requested runtime and the trial’s duration",
        trust=Trust.DOUBTFUL,
    ),
    after_check(
        id="too-brief",
        title="Runtime too short",
        why="Start-up, one disturbance or a cache decides the figure.",
        remedy="Measure for at least 10 s: set a longer runtime or more work.",
        source="A storage engineer’s fio series: 3 ms gave 85,333 IOPS while the device was idle.",
        evaluate=_brief,
        needs="how long the tool measured",
    ),
    during_check(
        id="took-too-long",
        title="Ran longer than planned",
        why="A device stall, a lock or other load delayed it. The figure includes the delay.",
        remedy="Check the host’s charts for this trial, and run it again.",
        source="flent warns of tests far beyond their length.",
        evaluate=_late,
        needs="expected and actual duration",
    ),
    after_check(
        id="errors-in-output",
        severity=Severity.ERROR,
        title="Tool output reports an error",
        why="The tool continued after the error; its figure includes or omits the failed work.",
        remedy="Fix what the message names, and run it again.",
        source=_TOOL,
        evaluate=_errors,
        needs="the tool’s output",
    ),
    after_check(
        id="work-failed",
        title="Requests or transactions failed",
        why="Failed work takes another time than work that is done, and is missing in the rate or in the latency.",
        remedy="Remove the cause of the errors (fewer connections, retries), or quote the share beside the figure.",
        source="PostgreSQL manual, pgbench: Failures and Serialization/Deadlock Retries; wrk: Socket errors.",
        evaluate=_failed_work,
        needs="the failed requests or transactions and their total",
    ),
    after_check(
        id="copied-in-part",
        severity=Severity.ERROR,
        title="Copy is incomplete",
        why="A short source or a full disk ended the copy early, so the rate is that of another workload.",
        remedy="Check the free disk space and the size of the source.",
        source=_TOOL,
        evaluate=_partly_copied,
        needs="the bytes copied and the bytes requested",
        trust=Trust.INVALID,
    ),
)
