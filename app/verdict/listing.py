"""Findings of a run as they are listed: the last of each check, without those that a later one replaces."""

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import replace

from app.checks import cloud, cpu, host
from app.checks.catalogue import AFTER_IDS, DURING_IDS
from app.checks.timing import SHAPE_CHECKS
from app.records import RunRecord
from suites.verdict import Verdict
from suites.vocab import Finding

VERIFIED_BY = {
    "page-cache": "not-from-the-device",
    "read-after-write": "not-from-the-device",
    "source-in-memory": "not-from-the-device",
    "unflushed-write": "not-from-the-device",
    "random-source": "generator-bound",
    "short-runtime": "too-brief",
    "cpu-quota": "quota-bound",
    "host-busy": "other-process",
    "disk-in-use": "others-on-the-disk",
}
"""Findings that predict an outcome, by the check that verifies it; if that check can decide, only it counts."""

_REPLACED_BY = {**VERIFIED_BY, "quota-throttled": "quota-bound"}
"""Findings that one on the trials repeats with the measured figure."""

SHAPES = frozenset(check.id for check in SHAPE_CHECKS)
"""Ids of the checks of a rate's shape: a trial has one at most, whose name may change while it runs."""

_OF_THE_HOST = frozenset(check.id for check in (*host.TRIAL_CHECKS, *cpu.TRIAL_CHECKS, *cloud.TRIAL_CHECKS))
"""Ids of the checks whose cause is the host: several steps meet the same one."""


def listed(record: RunRecord) -> tuple[Finding, ...]:
    """Return the findings of a run as current_findings() has them; of joined runs, those of each."""
    return record.findings if record.parts else current_findings(record.findings, record.verdicts)


def current_findings(raised: Iterable[Finding], verdicts: Collection[Verdict] = ()) -> tuple[Finding, ...]:
    """Return the findings that hold: what the end of a trial or step says replaces what was seen on the way.

    Of a check of trials and of a host before the run, the last finding on a step and host counts. A finding that
    predicts another is left out once that is made, and a shape on the way once the verdict has another.
    """
    found: dict[object, Finding] = {}
    for number, one in enumerate(raised):
        again = one.id in AFTER_IDS or (one.id in VERIFIED_BY and one.step is None)
        key = (one.id, one.step, one.host) if again else number
        found.pop(key, None)
        found[key] = one
    for one in (each for verdict in verdicts for each in verdict.findings if each.id in DURING_IDS):
        if (one.id, one.step, one.host) in found:  # of a check on the way, the verdict has the most severe
            found[one.id, one.step, one.host] = one
    shapes = {(one.step, one.host): SHAPES & {each.id for each in one.findings} for one in verdicts}
    there = {(one.id, *place) for one in found.values() for place in ((one.step, one.host), (None, one.host))}
    return tuple(
        one
        for one in found.values()
        if (_REPLACED_BY.get(one.id), one.step, one.host) not in there
        and not (one.id in SHAPES and one.id not in (shapes.get((one.step, one.host)) or SHAPES))
    )


def repetitions(
    findings: Sequence[Finding], reason_of: Callable[[Finding], str] = lambda _: ""
) -> list[tuple[Finding, ...]]:
    """Group findings that differ in `measured` only, or whose cause is the host and that differ in the step, in order.

    Acknowledged ones are in a group with those of the same reason.
    """
    groups: dict[tuple[object, ...], list[Finding]] = {}
    for one in findings:
        step = None if one.id in _OF_THE_HOST else one.step
        key = (one.id, one.severity, one.title, one.why, one.remedy, step, one.host, reason_of(one))
        groups.setdefault(key, []).append(one)
    return [tuple(found) for found in groups.values()]


def without_repetitions(
    findings: Sequence[Finding], reason_of: Callable[[Finding], str] = lambda _: ""
) -> list[Finding]:
    """Return one finding for each group of repetitions()."""
    return [merged(found) for found in repetitions(findings, reason_of)]


def merged(found: Sequence[Finding]) -> Finding:
    """Return the first of a group of repetitions(), with their number or the other steps."""
    first = found[0]
    steps = [one.step for one in found[1:] if one.step not in {None, first.step}]
    if steps:
        more = ", ".join(dict.fromkeys(map(str, steps)))
        return replace(first, measured=f"{first.measured} Also in {more}.")
    different = len({one.measured for one in found})
    if different == 1:
        return first
    return replace(first, measured=f"{first.measured.rstrip('.')}. Found {different} times; this is the first.")
