"""Checks made again on a host: background load every few seconds, every pre-run check on request."""

import time
from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime

from app.checks.before import check_load, check_plan
from app.checks.catalogue import before_ids
from app.checks.host import LOAD_CHECKS
from app.checks.issues import HostReading
from app.plans.plan import Plan
from app.timestamps import seconds_since
from app.verdict.listing import VERIFIED_BY
from suites.facts import Facts, ProbeMeasurements
from suites.vocab import Finding

LOAD_IDS = frozenset(check.id for check in LOAD_CHECKS)

LOAD_PERIOD = 4.0
"""Seconds between readings of the background load."""

BACKGROUND_LOAD = LOAD_IDS | {VERIFIED_BY[check] for check in LOAD_IDS}
"""Ids of findings of background load, before a test and during it."""


def can_recheck(finding: Finding) -> bool:
    """Return whether reading the host again may change a finding: not where its remedy is another parameter."""
    of_plan = bool(finding.changes) or finding.host is None
    return not of_plan and (finding.id in BACKGROUND_LOAD or finding.id in before_ids())


def epoch_of(facts: Facts) -> float:
    """Return when `facts` were read, in seconds since the epoch."""
    return time.time() - seconds_since(facts.read_at)


def load_reading(plan: Plan, facts: Facts, load: ProbeMeasurements) -> HostReading:
    """Return the findings of the background load `load`, read now on the host of `facts`."""
    now = datetime.now(UTC)
    measured = replace(load, urandom_rate=facts.measured.urandom_rate)
    report = check_load(plan, replace(facts, measured=measured, read_at=now.isoformat()))
    skipped = frozenset((one.id, one.step) for one in report.cannot_tell)
    return HostReading(facts.host, now.timestamp(), report.findings, LOAD_IDS, skipped)


def facts_reading(plan: Plan, facts: Mapping[str, Facts], host: str, addresses: Mapping[str, str]) -> HostReading:
    """Return every finding on `host` from `facts`, of which those of `host` were read just now."""
    report = check_plan(plan, facts, addresses)
    load = check_load(plan, facts[host]).findings  # that of now: the run may be over
    found = (*load, *(one for one in report.findings if one.host == host and one.id not in LOAD_IDS))
    skipped = frozenset((one.id, one.step) for one in report.cannot_tell if one.host == host)
    return HostReading(host, epoch_of(facts[host]), found, before_ids(), skipped)
