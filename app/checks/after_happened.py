"""Did it even happen: exit status, figures, bytes counted, runtime reached, errors in the output."""

import re

from app.checks.after_disk import seconds_of
from app.wording import bytes_text, duration_text
from suites.checks import CannotTell, Check, Outcome, OutcomeCheck, TrialCheck, When
from suites.evidence import StepOutcomeEvidence, TrialEvidence
from suites.verdict import Trust
from suites.vocab import Kind, Level

SHORT = 1.0
"""Seconds below which a tool's start, one disturbance or a cache decides the figure."""

FAR_TOO_SHORT = 0.1
"""Seconds below which a result is doubtful for it, not merely to be quoted with care."""

REACHED = 0.95
"""The share of the asked time that a trial has to last: tools stop at whole seconds."""

LATE = 2.0
"""Times the expected duration, plus LATE_BY seconds, after which something has held the trial up (flent warns at ten
times)."""

LATE_BY = 10.0
"""Seconds that setting up and cleaning up may add to any trial, however short."""

WHOLE = 0.999
"""The share of the bytes asked for that a copy must have copied."""

_ERRORS = re.compile(
    r"\b(I/O error|Input/output error|No space left|Read-only file system|short (?:read|write)|verif\w+ failed|"
    r"bad magic|residual\w* (?:too large|failed)|fatal|segmentation fault|out of memory|killed)\b",
    re.IGNORECASE,
)


def _failed(step: StepOutcomeEvidence) -> Outcome | None:
    lost = [trial for trial in step.trials if not trial.done]
    if not lost and step.trials:
        return None
    if not step.done:
        reason = lost[0].reason if lost else "No trial began."
        return Outcome(f"{len(lost)} of {len(step.trials)} trials failed or were stopped. {reason}".strip())
    return Outcome(
        f"{len(lost)} of {len(step.trials)} trials failed or were stopped; the figures are of the other "
        f"{len(step.done)}. {lost[0].reason}".strip(),
        level=Level.WARNING,
        trust=Trust.CAVEATS,
    )


def _nothing(trial: TrialEvidence) -> Outcome | None:
    if not trial.done:
        return None
    figure = trial.headline
    if figure is None:
        return Outcome("It ended without an error and printed no figure.")
    if figure.metric.kind is Kind.RATE and figure.value == 0:
        return Outcome(f"{figure.metric.title}: 0.")
    counted = trial.value("copied")
    if counted == 0:
        return Outcome("0 bytes were copied.")
    return None


def _asked_seconds(trial: TrialEvidence) -> float | None:
    """Return how long the tool was told to run, where time alone ends it."""
    values = trial.values
    if trial.suite.id == "fio":
        return float(values["runtime"]) + float(values["ramp_time"]) if values["runtime"] else None
    if values.get("events") or "total_size" in values or "time" not in values:
        return None
    given = values["time"]
    if trial.suite.id not in {"sysbench-cpu", "sysbench-threads", "sysbench-fileio", "iperf3"}:
        return None
    return float(given) + float(values.get("omit", 0) or 0)


def _early(trial: TrialEvidence) -> Outcome | CannotTell | None:
    asked = _asked_seconds(trial)
    if asked is None or not trial.done:
        return None
    if trial.duration is None:
        return CannotTell("How long the trial took is not known.")
    if trial.duration >= REACHED * asked:
        return None
    return Outcome(f"It was told to run {duration_text(asked)} and ended after {duration_text(trial.duration)}.")


def _brief(trial: TrialEvidence) -> Outcome | CannotTell | None:
    if not trial.done:
        return None
    seconds = seconds_of(trial)
    if seconds is None:
        return CannotTell("How long the tool measured is not known.")
    if seconds >= SHORT:
        return None
    took = f"{seconds * 1000:.3g} ms"
    far = seconds < FAR_TOO_SHORT
    return Outcome(f"The measurement took {took}.", trust=Trust.DOUBTFUL if far else Trust.CAVEATS)


def _late(trial: TrialEvidence) -> Outcome | CannotTell | None:
    if not trial.done or trial.expected is None:
        return None
    if trial.duration is None:
        return CannotTell("How long the trial took is not known.")
    if trial.duration <= LATE * trial.expected + LATE_BY:
        return None
    return Outcome(f"It took {duration_text(trial.duration)}; {duration_text(trial.expected)} were expected.")


def _errors(trial: TrialEvidence) -> Outcome | None:
    said = [note for note in trial.notes if _ERRORS.search(note)] if trial.done else []
    return Outcome(said[0][:300]) if said else None


def _partly_copied(trial: TrialEvidence) -> Outcome | None:
    copied, values = trial.value("copied"), trial.values
    if copied is None or not trial.done:
        return None
    asked = values.get("size")
    if trial.suite.id == "dd":
        asked = int(values["block_size"]) * int(values["count"])
    if not isinstance(asked, int) or copied >= WHOLE * asked:
        return None
    return Outcome(f"{bytes_text(copied)} of {bytes_text(asked)} were copied.")


_TOOL = "The tool’s own output and exit status."

TRIALS_FAILED: OutcomeCheck = Check(
    id="trials-failed",
    level=Level.ERROR,
    title="Trials did not come to their end",
    why="What fails under load may be the very thing that was to be measured; the trials that did end are a choice.",
    remedy="Read the reason and the raw output, mend it, and run it again.",
    source=_TOOL,
    evaluate=_failed,
    when=When.AFTER,
    needs="how each trial ended",
    trust=Trust.INVALID,
)

OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="nothing-counted",
        level=Level.ERROR,
        title="Nothing was counted",
        why="The tool said that all was well and did no work: there is nothing to believe.",
        remedy="Read the raw output; run the exact command by hand.",
        source=_TOOL,
        evaluate=_nothing,
        when=When.AFTER,
        needs="the figures of the trial",
        trust=Trust.INVALID,
    ),
    Check(
        id="ended-early",
        level=Level.ERROR,
        title="It ended before its time",
        why="A tool that stops early has met something: an error, a limit on its work, or the end of its files. The "
        "figure is of the first part alone.",
        remedy="Read the raw output for what ended it.",
        source=_TOOL,
        evaluate=_early,
        when=When.AFTER,
        needs="the asked runtime, and how long the trial took",
        trust=Trust.DOUBTFUL,
    ),
    Check(
        id="too-brief",
        level=Level.WARNING,
        title="Too brief to measure",
        why="In so short a time the tool’s start, one disturbance or a cache decides the figure.",
        remedy="Measure for ten seconds or more: a longer runtime, or more to do.",
        source="A storage engineer’s fio series: 3 ms gave 85,333 IOPS while the device was idle.",
        evaluate=_brief,
        when=When.AFTER,
        needs="how long the tool measured",
    ),
    Check(
        id="took-too-long",
        level=Level.WARNING,
        title="It took far longer than expected",
        why="Something held it up: a stall of the device, a lock, or another load. The figure holds that time, too.",
        remedy="Look at the host’s curves beside the trial, and run it again.",
        source="flent warns of tests far beyond their length.",
        evaluate=_late,
        when=When.AFTER,
        needs="the expected and the actual duration",
    ),
    Check(
        id="errors-in-output",
        level=Level.ERROR,
        title="The output tells of an error",
        why="The tool went on after it, and its figure counts what failed, or leaves it out.",
        remedy="Mend what the message names, and run it again.",
        source=_TOOL,
        evaluate=_errors,
        when=When.AFTER,
        needs="what the tool said",
    ),
    Check(
        id="copied-in-part",
        level=Level.ERROR,
        title="Not everything was copied",
        why="A source that ends early or a full disk cuts the copy short, and the rate is of something else.",
        remedy="Check the room on the disk and the size of the source.",
        source=_TOOL,
        evaluate=_partly_copied,
        when=When.AFTER,
        needs="the bytes copied and those asked for",
        trust=Trust.INVALID,
    ),
)

OF_A_STEP: tuple[OutcomeCheck, ...] = (TRIALS_FAILED,)
