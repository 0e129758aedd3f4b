"""Checks of outputs of tools that ran elsewhere: what was not seen, and what the output cannot show."""

from collections.abc import Callable, Sequence
from itertools import pairwise

from app.checks.completion import first_error
from app.checks.evidence import HALF, READ, as_measured, directions, issued, most_reached
from suites.base import StepEvidence, Suite
from suites.checks import CheckOutcome, NotChecked, after_check
from suites.evidence import OutcomeCheck, StepOutcomeEvidence, TrialCheck, TrialEvidence
from suites.identities import CONTRADICTION
from suites.outputs import CACHE_DROPPED, LINES_CUT, NO_DISK, ONLY_READ
from suites.parameters import Values
from suites.quantities import figure_text, first_upper, label_text
from suites.verdict import Trust
from suites.vocab import Figure, Labels, Severity


def _unseen(step: StepOutcomeEvidence) -> CheckOutcome | None:
    if not step.elsewhere:
        return None
    facts = step.context.facts is None
    watched = any(trial.watch is not None for trial in step.trials)
    missing = [name for name, lacks in (("telemetry", not watched), ("facts of the host", facts)) if lacks]
    return CheckOutcome(f"Not seen: {', '.join((*missing, 'the run itself'))}.")


def _cut_off(trial: TrialEvidence) -> CheckOutcome | None:
    """Report why an output is incomplete, unless that is the error of the tool, which is a finding itself."""
    incomplete = trial.elsewhere and trial.done and trial.reason != first_error(trial)
    return CheckOutcome(trial.reason) if incomplete and trial.reason else None


def _cache_unknown(step: StepOutcomeEvidence) -> CheckOutcome | None:
    """Report that neither the options nor any count show whether the page cache served the I/O of an output."""
    if not step.elsewhere or any(trial.all_of("device_ios") or _is_counted(trial) for trial in step.trials):
        return None
    if step.trials and all(is_read_cold(step.suite, step.values, trial.notes) for trial in step.trials):
        return None
    before = StepEvidence(step.name, step.suite, step.values, step.context, step.host)
    open_ones = [
        check for check in step.suite.checks if check.id in CACHED and isinstance(check.outcome(before), NotChecked)
    ]
    if not open_ones:
        return None
    return CheckOutcome("The I/O may go through the page cache, and the output does not count what reached the device.")


def _is_counted(trial: TrialEvidence) -> bool:
    """Return whether the disks of the host show where the I/O went: reads, and of writes at least half.

    The check of the page cache reports reads that no disk did; writes that none did may follow.
    """
    trial = as_measured(trial)
    found = [(one, did, most_reached(trial, one)) for one in directions(trial) if (did := issued(trial, one))]
    return bool(found) and all(
        did.size and most is not None and (way == READ or most >= HALF * did.size) for way, did, most in found
    )


def is_read_cold(suite: Suite, values: Values, notes: Sequence[str]) -> bool:
    """Return whether a copy only reads, each block once, after the page cache was dropped."""
    return any(note.startswith(CACHE_DROPPED) for note in notes) and suite.workload(values).copied == ("read",)


def _noted(prefix: str) -> Callable[[TrialEvidence], CheckOutcome | None]:
    """Return the evaluation that reports the notes of an output that begin with `prefix`."""

    def evaluate(trial: TrialEvidence) -> CheckOutcome | None:
        notes = trial.notes if trial.done else ()
        found = [note.removeprefix(prefix) for note in notes if note.startswith(prefix)]
        return CheckOutcome(first_upper(" ".join(found))) if found else None

    return evaluate


CACHED = frozenset({"page-cache", "read-after-write", "unflushed-write"})
"""Ids of the suites' checks that predict a result of the page cache. Elsewhere, nothing verifies them."""


def _out_of_order(trial: TrialEvidence) -> CheckOutcome | None:
    """Report a percentile above a higher one of the same distribution: none can be."""
    series: dict[tuple[str, Labels], list[Figure]] = {}
    for one in trial.figures if trial.done else ():
        if one.metric.percentile is not None:
            series.setdefault((one.metric.name.rpartition("_")[0], one.labels), []).append(one)
    for (_, at), found in series.items():
        found.sort(key=lambda one: one.metric.percentile or 0.0)
        for lower, higher in pairwise(found):
            if lower.value > higher.value * _ROUNDED:
                of = f" ({label_text(at)})" if at else ""
                pair = (f"{one.metric.title} {figure_text(one.metric, one.value)}" for one in (lower, higher))
                return CheckOutcome(f"{' is above '.join(pair)}{of}.")
    return None


_ROUNDED = 1.01
"""Factor by which printed percentiles may be rounded past each other."""

MEASURED_ELSEWHERE: OutcomeCheck = after_check(
    id="measured-elsewhere",
    severity=Severity.INFO,
    title="Measured elsewhere",
    why="Background load, throttling and steal time show in telemetry only; the caches and limits of the host in its "
    "facts.",
    remedy="Measure it with Benchwright, or give the facts and the telemetry beside the output.",
    source="The output itself.",
    evaluate=_unseen,
    needs="where the output is from",
    trust=Trust.UNVERIFIED,
)

CACHE_UNKNOWN: OutcomeCheck = after_check(
    id="cache-unknown",
    title="Page cache: cannot tell",
    why="Reads from the page cache and writes to it are as fast as memory, and look the same in the output.",
    remedy="Give the facts of the host and its telemetry, or repeat it with direct=1.",
    source="fio manual, direct and buffered.",
    evaluate=_cache_unknown,
    needs="the output of a tool that ran elsewhere, with buffered I/O",
    trust=Trust.UNDECIDED,
)

OUTCOME_CHECKS: tuple[OutcomeCheck, ...] = (CACHE_UNKNOWN, MEASURED_ELSEWHERE)

TRIAL_CHECKS: tuple[TrialCheck, ...] = (
    after_check(
        id="output-incomplete",
        title="Output is incomplete",
        why="Errors and the end of the run may be in the part that is missing.",
        remedy="Give the whole output.",
        source="The tool’s parser.",
        evaluate=_cut_off,
        needs="the output of a tool that ran elsewhere",
    ),
    after_check(
        id="figures-contradict",
        severity=Severity.ERROR,
        title="Figures contradict each other",
        why="A figure that follows from others differs from them by more than their rounding: one is wrong, was "
        "changed, or is from another run.",
        remedy="Read the raw output; give it as the tool printed it.",
        source="Identities: rate = amount / time; minimum ≤ mean ≤ maximum; total = sum of its parts.",
        evaluate=_noted(CONTRADICTION),
        needs="figures that follow from one another, in an output of a tool that ran elsewhere",
        trust=Trust.INVALID,
    ),
    after_check(
        id="lines-cut",
        title="Lines are cut",
        why="Figures may lack digits or belong to another line, and figures may be missing.",
        remedy="Give the output as the tool printed it.",
        source="The output itself: its lines end at one width, within words and numbers.",
        evaluate=_noted(LINES_CUT),
        needs="an output of a tool that ran elsewhere, as text",
        trust=Trust.DOUBTFUL,
    ),
    after_check(
        id="no-disk-written",
        severity=Severity.ERROR,
        title="No disk is measured",
        why="The rate is that of memory and of the system calls; a disk may be a hundred times slower.",
        remedy="Measure a file or a device on the disk: with direct=1 (fio), oflag=direct or conv=fdatasync (dd).",
        source="null(4), tmpfs(5), dd(1): if= and of=; fio manual, filename and directory.",
        evaluate=_noted(NO_DISK),
        needs="the paths of fio, or the command line of dd above its output",
        trust=Trust.INVALID,
    ),
    after_check(
        id="read-rate",
        severity=Severity.INFO,
        title="Rate of reads",
        why="Reading says nothing about writing.",
        remedy="Quote it as a rate of reads.",
        source="dd(1): if= and of=.",
        evaluate=_noted(ONLY_READ),
        needs="the command line of dd above its output",
        trust=Trust.VALID,
    ),
    after_check(
        id="percentiles-out-of-order",
        severity=Severity.ERROR,
        title="Percentiles are out of order",
        why="A percentile cannot be above a higher one of the same latencies: the figures were mixed up or changed.",
        remedy="Read the raw output.",
        source="The definition of a percentile.",
        evaluate=_out_of_order,
        needs="two percentiles of one latency",
        trust=Trust.INVALID,
    ),
)
