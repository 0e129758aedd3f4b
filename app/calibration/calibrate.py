"""Calibration of a host: measure the instrument, then repeat a suite, as an ordinary run that is one session."""

import statistics
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from app.calibration.calibration import UNWATCHED, fingerprint_of, log_spread
from app.comparison.estimates import FEWEST_TRIALS, ratio_of
from app.events import Activity, Event, RunStarted
from app.hosts.packages import usable_suites
from app.plans.context import ON_EVERY_HOST, step_context
from app.plans.plan import MAXIMUM_TRIALS, Order, Plan, Repetition, Step, host_label, make_step
from app.plans.presets import tuned_step
from app.records import Calibration, Instrument, MetricNoise, RunRecord, TelemetryEffect, TrialRecord
from app.runs.control import Control
from remote.errors import RemoteError
from remote.jobs.build import BuildError, build_program
from remote.jobs.files import put_file
from remote.jobs.workspace import Workspace, make_workspace, remove_workspace
from remote.probe import read_facts
from remote.questions import plain
from remote.session import Session
from resources import read_bytes
from suites.errors import BenchwrightError
from suites.facts import Facts, known
from suites.parameters import Type, Value
from suites.probe import shipped_resource
from suites.registry import SUITES
from suites.registry import suite as find_suite
from suites.vocab import Labels

TRIALS = 10
"""Default number of trials with telemetry, and of those without: under two minutes together."""

BRIEF = 5.0
"""Seconds per trial, if the suite has a runtime parameter: a calibration needs many trials, not long ones."""

_TIMES = ("time", "runtime")


class CalibrationError(BenchwrightError):
    """A host cannot be calibrated."""


class CalibrationFailedError(CalibrationError):
    """A calibration did not complete."""


@dataclass(frozen=True, slots=True)
class CalibrationRequest:
    """Parameters of a calibration: suite (empty: default), its parameter values, trials with and without telemetry."""

    suite: str = ""
    trials: int = TRIALS
    given: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class CalibrationDone:
    """A calibration is complete and stored."""

    calibration: Calibration


@dataclass(frozen=True, slots=True)
class CalibrationServices:
    """Services of the workstation for a calibration; `run` runs a plan, without telemetry for the steps in its set."""

    connect: Callable[[str], Session]
    run: Callable[[Plan, frozenset[str]], Generator[Event]]
    load: Callable[[str], RunRecord]
    keep: Callable[[Calibration], None]


def calibrate(
    bench: CalibrationServices, host: str, wanted: CalibrationRequest, control: Control
) -> Generator[Event | CalibrationDone]:
    """Calibrate `host`; yield progress events, then the stored calibration.

    Raise CalibrationError if its run does not complete, and ConnectError.
    """
    if not FEWEST_TRIALS <= wanted.trials <= MAXIMUM_TRIALS:
        raise CalibrationError(
            f"Invalid number of trials: {wanted.trials}.", f"Set {FEWEST_TRIALS} to {MAXIMUM_TRIALS}."
        )
    named = host_label(host)
    yield Activity(f"connecting to {named}", host)
    with closing(bench.connect(host)) as session:
        facts = read_facts(session)
        plan = calibration_plan(host, facts, wanted)
        yield Activity(f"measuring clock and timers of {named}", host, measures=True)
        instrument = measure_instrument(session, facts)
    run_id = ""
    for event in bench.run(plan, frozenset({plan.steps[1].name})):
        if isinstance(event, RunStarted):
            run_id = event.run_id
        yield event
    if control.over:
        raise CalibrationFailedError(f"Calibration of {named} stopped.", _stored_run(run_id))
    calibration = new_calibration(bench.load(run_id), instrument)
    bench.keep(calibration)
    yield CalibrationDone(calibration)


def calibration_plan(host: str, facts: Facts, wanted: CalibrationRequest) -> Plan:
    """Return the plan of a calibration: a step, and an equal one without telemetry."""
    suite = wanted.suite or default_suite(facts)
    if find_suite(suite).needs_peer:
        raise CalibrationError(f"{suite} needs a second host.", "Calibrate with a suite that runs on one host.")
    step = _step(suite, host, facts, wanted)
    steps = (step, replace(step, name=f"{suite}, {UNWATCHED}"))
    return Plan(
        name=f"calibration of {host_label(host)}",
        hosts=(host,),
        steps=steps,
        question=f"How much do results of {suite} vary on this host when nothing changes?",
        repetition=Repetition(trials=wanted.trials, warm_ups=1),
        order=Order.RANDOMISED,
    )


def default_suite(facts: Facts) -> str:
    """Return the default suite for calibrating a host: the first calibrating one that works there, else the last."""
    usable = [suite for suite in usable_suites(facts) if suite.calibrates]
    return (usable or [suite for suite in SUITES if suite.calibrates][-1:])[0].id


def _step(suite: str, host: str, facts: Facts, wanted: CalibrationRequest) -> Step:
    tuned = tuned_step(suite, step_context(make_step(suite, {}), host, {host: facts}))
    brief: dict[str, Value] = {
        parameter.name: min(float(tuned.values[parameter.name]), BRIEF)
        for parameter in find_suite(suite).parameters
        if parameter.name in _TIMES and parameter.type is Type.DURATION and tuned.values[parameter.name]
    }
    return make_step(suite, {**tuned.values, **brief, **dict(wanted.given)})


def new_calibration(record: RunRecord, instrument: Instrument) -> Calibration:
    """Return the calibration from the trials in `record` and the measured instrument.

    Raise CalibrationFailedError for too few completed trials, or no figure above zero.
    """
    host, steps = record.plan.hosts[0], record.plan.steps
    watched = record.trials_of(steps[0].name, host)
    if len(watched) < FEWEST_TRIALS:
        why = f" {record.reason}" if record.reason else ""
        raise CalibrationFailedError(
            f"The calibration of {host_label(host)} did not complete.{why}", _stored_run(record.summary.id)
        )
    noise = tuple(_noise(watched))
    if not noise or host not in record.facts_before:
        raise CalibrationFailedError(f"{steps[0].suite_id} gave no figure above zero.", _stored_run(record.summary.id))
    values = _values(watched, noise[0].metric, noise[0].labels)
    return Calibration(
        host=host,
        made=datetime.now(UTC).isoformat(timespec="seconds"),
        suite=steps[0].suite_id,
        run=record.summary.id,
        fingerprint=fingerprint_of(record.facts_before[host], steps[0].suite.tool),
        instrument=replace(instrument, telemetry_cost=record.telemetry_cost.get(host)),
        noise=noise,
        parameters=steps[0].fingerprint(),
        telemetry=_effect(values, _values(record.trials_of(steps[1].name, host), noise[0].metric, noise[0].labels)),
    )


def _noise(trials: Sequence[TrialRecord]) -> Iterator[MetricNoise]:
    """Yield the noise of each metric that is above zero in every trial, the headline metric first."""
    for figure in trials[0].figures:
        values = _values(trials, figure.metric.name, figure.labels)
        if len(values) == len(trials) and min(values) > 0:
            yield MetricNoise(figure.metric.name, figure.metric.title, figure.labels, len(values), log_spread(values))


def _values(trials: Sequence[TrialRecord], metric: str, labels: Labels) -> list[float]:
    return [
        figure.value
        for trial in trials
        for figure in trial.figures
        if figure.metric.name == metric and figure.labels == labels
    ]


def _effect(watched: list[float], unwatched: list[float]) -> TelemetryEffect | None:
    """Return the ratio of the figures with telemetry to those without."""
    if not unwatched:
        return None
    ratio = ratio_of(watched, unwatched)
    return None if isinstance(ratio, str) else TelemetryEffect(ratio.value, ratio.low, ratio.high)


def _stored_run(run_id: str) -> str:
    return f"The measured trials are stored as run {run_id}." if run_id else ""


ROUND_TRIPS = 20
"""Number of no-op commands for the median and maximum round trip."""

PATIENCE = 20.0
"""Time limit of the probe in seconds; with accurate timers it takes less than one."""

BUILD_PATIENCE = 60.0
"""Time limit of a compiler on the host in seconds."""

_SOURCES = ("probes/clock.c", "probes/probe.h")
_OPTIONS = ("-std=gnu11", "-O2", "-pthread")
_CLOCK = ("clock_resolution", "clock_cost", "sleep_late", "sleep_late_worst")


def measure_instrument(session: Session, facts: Facts) -> Instrument:
    """Return clock, timer and round-trip figures of the session's host; `absent` has the reasons for missing ones.

    Raise the errors of `Session.run` if the connection is lost.
    """
    found: dict[str, Any] = {"clock_source": known(facts.system.clock_source)}
    absent: dict[str, str] = {}
    trips = [_round_trip(session) for _ in range(ROUND_TRIPS)]
    found |= {"round_trip": statistics.median(trips), "round_trip_worst": max(trips)}
    try:
        found |= _clock(session, known(facts.system.architecture) or "")
    except RemoteError as error:
        absent["clock"] = error.message
    return Instrument(**found, absent=absent)


def _round_trip(session: Session) -> float:
    began = time.monotonic()
    session.run(["true"])
    return time.monotonic() - began


def _clock(session: Session, architecture: str) -> dict[str, float]:
    """Return the results of the clock and timer probe; raise RemoteError if it cannot be built or run."""
    with _workspace(session) as workspace:
        _put_probe(session, workspace, architecture)
        done = session.run([f"{workspace.path}/clock"], timeout=PATIENCE, limit=65536)
    if done.exit_status != 0:
        raise RemoteError(f"The clock probe failed: {plain(done.stderr) or 'no error output'}.")
    return dict(_results(done.stdout.decode("utf-8", "replace")))


def _results(text: str) -> Iterator[tuple[str, float]]:
    for line in text.splitlines()[:100]:
        words = line.split()
        if len(words) == 3 and words[0] == "result" and words[1] in _CLOCK:
            try:
                value = float(words[2])
            except ValueError:
                continue
            if 0 < value < PATIENCE:  # rejects overflow and NaN
                yield words[1], value


@contextmanager
def _workspace(session: Session) -> Iterator[Workspace]:
    workspace = make_workspace(session, ON_EVERY_HOST)
    try:
        yield workspace
    finally:
        remove_workspace(session, workspace)


def _put_probe(session: Session, workspace: Workspace, architecture: str) -> None:
    """Put the probe into the workspace: shipped, else built on this computer, else built on the host."""
    try:
        shipped = shipped_resource("clock", architecture)
        program = read_bytes(shipped) if shipped else build_program(_SOURCES, architecture, _OPTIONS)
    except BuildError:
        for source in _SOURCES:
            put_file(session, workspace, source.rpartition("/")[2], read_bytes(source))
        words = ["cc", *_OPTIONS, "-o", f"{workspace.path}/clock", f"{workspace.path}/clock.c"]
        done = session.run(words, timeout=BUILD_PATIENCE)
        if done.exit_status == 0:
            return
        raise
    put_file(session, workspace, "clock", program, executable=True)
