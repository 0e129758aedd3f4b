"""The bands that the baselines give to a step."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

from sqlalchemy import Connection

from app.baselines.bands import bands_of_group, bands_of_reference
from app.baselines.baselines import Baseline, remarks
from app.baselines.reference import facts_of, step_metrics
from app.comparing.choosing import choose
from app.comparing.gate import Profile, Weight, differences
from app.comparing.joining import join
from app.plans.plan import Step
from app.records import Band, RunRecord, TrialRecord
from app.store import reading
from app.store.baselines import baselines
from suites.facts import Facts

HANDLED = frozenset({"host", "instance"})
"""Differences that are no other universe: that a baseline is of another host is what it is often pinned for."""


def bands(connection: Connection, step: Step, host: str, facts: Facts | None = None) -> list[Band]:
    """Return the bands of every baseline, in its newest version, that measured the same as `step`."""
    found: list[Band] = []
    for baseline in baselines(connection):
        if baseline.newest:
            found += [
                replace(band, step=step.name, host=host) for band in _bands(connection, baseline, step, host, facts)
            ]
    return found


def _bands(connection: Connection, baseline: Baseline, step: Step, host: str, facts: Facts | None) -> Iterator[Band]:
    def load(run: str) -> RunRecord:
        return reading.record(connection, reading.find(connection, run))

    if baseline.reference is not None:
        note = "; ".join([*remarks(baseline), *_universe(step, host, facts, [facts_of(baseline.reference)])])
        for band in bands_of_reference(baseline.name, baseline.reference.of(step.suite_id), step_metrics(step)):
            yield replace(band, note=note)
        return
    runs = [run for word in baseline.parts for run in choose(load, word)]
    fitting = [run for run in runs if _names(run, step)]
    if not fitting:
        return
    samples = {run.summary.id: reading.samples(connection, run.summary.id) for run in fitting}
    record, series = join(fitting, samples)
    hosts = _hosts(record, step, host)
    theirs = [each for run in fitting for each in run.facts_before.values()]
    note = "; ".join([*remarks(baseline), *_universe(step, host, facts, theirs)])
    run_id = record.summary.id
    for band in bands_of_group(baseline.name, run_id, hosts, series):
        yield replace(band, note=note)


def _names(run: RunRecord, step: Step) -> list[str]:
    wanted = step.fingerprint()
    return [known.name for known in run.plan.steps if known.fingerprint() == wanted]


def _hosts(record: RunRecord, step: Step, host: str) -> list[list[TrialRecord]]:
    """Return the trials that measured the same, those of each host apart: of `host` alone where it has such."""
    by_host: dict[str, list[TrialRecord]] = {}
    for name in _names(record, step):
        for trial in record.trials_of(name):
            by_host.setdefault(trial.trial.host, []).append(trial)
    return [by_host[host]] if host in by_host else list(by_host.values())


def _universe(step: Step, host: str, facts: Facts | None, theirs: Sequence[Facts]) -> Iterator[str]:
    """Yield what differs between the host and those of a baseline: other kernel, other instance type."""
    if facts is None:
        return
    found = differences(Profile((step,), (host,), facts=(facts,)), Profile((step,), (host,), facts=tuple(theirs)))
    told = [each for each in found if each.weight is not Weight.HARMLESS and each.what not in HANDLED]
    said = [f"{each.what} {each.baseline}" for each in told if each.baseline]
    if said:
        yield f"another universe: {', '.join(said)}"
