"""Which version of the checks judged a run, and what it said before, as text."""

from app.checks.version import CHECKS_VERSION
from app.records import EarlierVerdict, RunRecord
from suites.quantities import first_upper
from suites.verdict import Verdict


def version_text(verdict: Verdict) -> str:
    """Return the version of the checks of a verdict: ``checks version 2``."""
    known = f"checks version {verdict.checks}" if verdict.checks else "checks of an unknown version"
    return known if verdict.checks == CHECKS_VERSION else f"{known}, present version {CHECKS_VERSION}"


def recall_text(record: RunRecord) -> str:
    """Return what a later version changed and why: ``Was valid until checks version 2: Page cache…``; empty if nothing.

    Of a change that the verdict of the run does not have, it names the trust that a step has now.
    """
    recall = record.recall
    if recall is None:
        return ""
    of_run = record.verdict is not None and record.verdict.trust.value == recall.now
    now = recall.reason if of_run else recall.text
    return f"{first_upper(recall.past)}{f': {now}' if now else ''}."


def unjudged_text(record: RunRecord) -> str:
    """Return why later checks could not judge a run again, as a sentence; empty if they did, or have not tried."""
    return f"Verdict kept: {record.unjudged}" if record.unjudged else ""


def earlier_verdicts(record: RunRecord) -> tuple[EarlierVerdict, ...]:
    """Return the earlier verdicts of a run, those that only differ in words left out, the last replaced first."""
    now = record.verdict
    return tuple(
        one
        for one in record.earlier
        if one.verdict.step is None
        and (now is None or (one.verdict.trust, one.verdict.limited_by) != (now.trust, now.limited_by))
    )


def earlier_text(one: EarlierVerdict) -> str:
    """Return an earlier verdict with its version: ``Until 2026-11-28, checks version 1: Valid: …``."""
    known = f"checks version {one.verdict.checks}" if one.verdict.checks else "checks of an unknown version"
    return f"Until {one.replaced[:10]}, {known}: {one.verdict.summary}"
