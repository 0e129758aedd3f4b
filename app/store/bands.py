"""The bands that the pinned runs give to a step."""

from dataclasses import replace

from sqlalchemy import Connection, select

from app.bands import bands_of
from app.plan import Step
from app.records import Band, RunRecord, TrialRecord
from app.store import reading, schema


def bands(connection: Connection, step: Step, host: str) -> list[Band]:
    """Return the bands of every pinned run that measured the same as `step`, the newest pinned first."""
    pins = schema.pins.c
    found: list[Band] = []
    for name, run_id in connection.execute(select(pins.name, pins.run_id).order_by(pins.id.desc())):
        record = reading.record(connection, run_id)
        trials = _matching(record, step, host)
        if trials:
            made = bands_of(name, run_id, trials, reading.samples(connection, run_id))
            found += [replace(band, step=step.name, host=host) for band in made]
    return found


def _matching(record: RunRecord, step: Step, host: str) -> list[TrialRecord]:
    """Return the trials that measured the same: on `host` where the run has such, else on any host."""
    wanted = step.fingerprint()
    names = [known.name for known in record.plan.steps if known.fingerprint() == wanted]
    trials = [trial for name in names for trial in record.trials_of(name)]
    return [trial for trial in trials if trial.trial.host == host] or trials
