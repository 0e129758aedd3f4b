"""A run read from the store with all that is shown of it, ready before the window's thread touches it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.opinion.agreement import Agreement, agreements
from app.records import Band, RunRecord
from app.services import Workstation
from suites.errors import BenchwrightError
from widgets.collecting import collection_paused
from widgets.live.model import Place, RunModel
from widgets.live.replay import stored


@dataclass(frozen=True, slots=True)
class OpenedRun:
    """A run, folded into what the live view showed, and the baselines that measured the same.

    `agreements` is what tools of the run that ask one question say of each other. `problem` says why the baselines
    could not be read: that must not hide the run.
    """

    record: RunRecord
    model: RunModel
    bands: Mapping[Place, Sequence[Band]]
    problem: BenchwrightError | None = None
    agreements: tuple[Agreement, ...] = ()


def open_run(workstation: Workstation, run_id: str) -> OpenedRun:
    """Read a run; this takes a while where it has many samples."""
    with collection_paused():
        record = workstation.load(run_id)
        model = stored(record, workstation.samples(run_id), workstation.telemetry(run_id))
        return _with_bands(workstation, record, model)


def _with_bands(workstation: Workstation, record: RunRecord, model: RunModel) -> OpenedRun:
    places = [(step, host) for step in record.plan.steps for host in record.plan.hosts]
    try:
        facts = record.facts_before
        bands = {(step.name, host): workstation.bands(step, host, facts.get(host)) for step, host in places}
    except BenchwrightError as error:
        return OpenedRun(record, model, {}, error, agreements(record))
    return OpenedRun(record, model, bands, None, agreements(record))
