"""A run: the engine executes a plan phase by phase as one stream of events, which pass the stages in order."""

from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from functools import partial
from itertools import chain

from app.detached_runs import DetachedRun
from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    OutputRead,
    RunAttached,
    RunDetached,
    RunEnded,
    RunStarted,
    SampleRead,
    State,
    TelemetryRead,
    TrialAttached,
    TrialEnded,
    TrialStarted,
    apply_stages,
)
from app.library_location import Location
from app.plans.plan import host_label
from app.records import RunRecord, TrialRecord
from app.runs.attach import Attachment, Baseline, concluded, hosts_to_connect, is_complete
from app.runs.control import DetachedError, HostInUseError, StoppedError
from app.runs.event_queue import IDLE, TICK, EventQueue, together
from app.runs.findings import CLOCK_STEPPED, clock_offset_changed
from app.runs.host_setup import HostSetup
from app.runs.host_step import HostSteps
from app.runs.phase import Phase, RunOutcome, RunPhase
from app.runs.questions import SerialAsker
from app.runs.recording import RecordingStage, save_to_new_file
from app.runs.request import RunRequest
from app.runs.root_actions import RootWork
from app.runs.run_hosts import RunHosts
from app.runs.trials import Trials
from app.store.errors import DamagedError, StoreLostError
from app.store.recorder import Recorder
from app.store.store import Store
from app.timestamps import now, seconds_since
from app.verdict.stages import Verdicts, resumed_watching
from remote.errors import ConnectError, RemoteError, outcome_of
from remote.probe import read_facts
from suites.errors import BenchwrightError
from suites.evidence import STOPPED
from suites.outputs import ParsedTrial

FAILED = "Internal error during the run; see the log."


class Engine:
    """Execution of one plan, phase by phase.

    Trials run one after another. Hosts are independent: an unreachable host does not block the others, and while the
    connection to one is lost the others are measured; its trial continues to be read after reconnecting.
    """

    def __init__(self, request: RunRequest) -> None:
        detached_run, queue = request.detached_run, EventQueue(request.control)
        asking = SerialAsker(request.asker, queue)
        self.phase = RunPhase()
        self.outcome = RunOutcome() if detached_run is None else RunOutcome.of(detached_run.record.trials)
        self.request = request
        self._clocks_stepped: set[str] = set()  # hosts with a clock step during the run
        self._hosts = RunHosts(
            request.run_id,
            lambda host: request.connect(host, asking),
            queue,
            request.control,
            self.phase,
            interval=request.interval,
            patience=request.patience,
            admit=request.admit,
        )
        root = RootWork(request.run_id, request.plan, asking, self._hosts, _pending_changes(detached_run))
        self._setup = HostSetup(request, self._hosts, root, asking)
        self._steps = HostSteps(request, self._hosts, root, self._setup.facts, self.outcome)
        self._trials = Trials(request, self._hosts, self._setup, self._steps)
        self._attachment: Attachment | None = None

    def events(self) -> Iterator[Event]:
        """Run the plan; yield its events. The first is RunStarted or RunAttached, the last RunEnded or RunDetached.

        Raises HostInUseError if another run measures a host, or the error that prevented attaching a detached run;
        nothing was changed then, and `phase.refused` is true.
        """
        yield self._first_event()
        work = {
            Phase.CONNECTING: self._connect,
            Phase.PREPARING: self._prepare,
            Phase.MEASURING: self._measure,
            Phase.STOPPING: self._stop,
            Phase.DETACHED: self._detach,
        }
        try:
            while self.phase.now is not Phase.FINISHED:
                begun = self.phase.now
                try:
                    for event in work[begun]():
                        for happened in (event,) if event is not IDLE else self._hosts.queue.arrived(TICK):
                            self._note(happened)
                            yield happened
                except DetachedError:
                    self.phase.to(Phase.FINISHED if begun is Phase.DETACHED else Phase.DETACHED)
                except StoppedError:
                    self.outcome.problem(State.PARTIAL, STOPPED)
                    self.phase.to(Phase.STOPPING)
                except BenchwrightError as error:
                    self._fail(begun, error)
        except BaseException:
            # Refused, a bug, or the generator was closed early: clean up the hosts.
            self._clean_up()
            raise
        finally:
            cost, program = self._close()
        if self.phase.detached:
            yield RunDetached(self.request.run_id)
        else:
            outcome = self.outcome
            problems = tuple(outcome.problems)
            yield RunEnded(
                self.request.run_id, outcome.state, outcome.reason, cost, problems, program, outcome.unreached
            )

    def _first_event(self) -> Event:
        request = self.request
        if request.detached_run is None:
            return RunStarted(request.run_id, request.plan, now(), request.session)
        return RunAttached(request.run_id, request.plan, seconds_since(request.detached_run.record.summary.started))

    def _note(self, event: Event) -> None:
        """Record what later phases need from the events."""
        if isinstance(event, FindingRaised) and event.finding.id == CLOCK_STEPPED:
            self._clocks_stepped.add(event.finding.host or "")
        if isinstance(event, TelemetryRead):
            self._hosts.telemetry.last_sample[event.host] = event.samples[-1].time

    def _fail(self, begun: Phase, error: BenchwrightError) -> None:
        """End the run because of `error`, raised in the phase `begun`; re-raise it if the run is refused."""
        if begun in {Phase.STOPPING, Phase.DETACHED}:
            raise error
        if begun is Phase.CONNECTING and (isinstance(error, HostInUseError) or self.request.detached_run is not None):
            self.phase.to(Phase.FINISHED)
            raise error
        stopped = self.request.control.stopped
        self.outcome.unreached = outcome_of(error)
        if stopped:
            self.outcome.problem(State.PARTIAL, STOPPED)
        self.outcome.problem(State.PARTIAL if stopped else State.FAILED, str(error))
        self.phase.to(Phase.STOPPING)

    # Work of each phase

    def _connect(self) -> Iterator[Event]:
        request = self.request
        if request.detached_run is not None and request.control.stopped:
            request.control.stop_clock()
        yield from self._setup.begin(hosts_to_connect(request.plan, request.detached_run, request.control))
        if request.detached_run is not None:
            self._attachment = Attachment(request.detached_run, request.stored_output, self._trials)
            yield from self._attachment.begin()
        self.phase.to(Phase.PREPARING)

    def _prepare(self) -> Iterator[Event]:
        if self.request.control.over:
            self.request.control.start_clock()
        if self._attachment is not None:
            yield from self._attachment.resume()
        self.phase.to(Phase.MEASURING)

    def _measure(self) -> Iterator[Event]:
        return chain(self._trials.events(), self._facts_after())

    def _stop(self) -> Iterator[Event]:
        self._hosts.stop_reconnecting()
        yield from self._steps.end()
        self.phase.to(Phase.FINISHED)

    def _detach(self) -> Iterator[Event]:
        self._hosts.stop_reconnecting()
        yield from self._steps.end(detached=True)
        self.phase.to(Phase.FINISHED)

    def _facts_after(self) -> Iterator[Event]:
        self.phase.to(Phase.STOPPING)
        control = self.request.control
        control.raise_if_detached()
        if control.stopped:
            return
        yield from together(map(self._facts_of, sorted(self._setup.ready)))
        control.raise_if_detached()

    def _facts_of(self, host: str) -> Iterator[Event]:
        try:
            read = partial(read_facts, self._hosts.sessions[host])
            after = yield from self._hosts.queue.during(read, until_over=True)
        except BenchwrightError as error:
            self.outcome.problem(State.PARTIAL, f"Facts after the run could not be read: {error}")
            return
        yield FactsRead(host, Moment.AFTER, after)
        if host not in self._clocks_stepped:
            yield from map(FindingRaised, clock_offset_changed(host, self._setup.facts[host], after))

    # The end

    def _clean_up(self) -> None:
        """Clean up the hosts after an error, or when the generator is closed early."""
        if self.phase.now not in {Phase.DETACHED, Phase.FINISHED}:
            self.phase.to(Phase.STOPPING)
        self._hosts.stop_reconnecting()
        with suppress(DetachedError):
            for event in self._steps.end(detached=self._attach_refused):
                if event is IDLE:
                    list(self._hosts.queue.arrived(TICK))

    def _close(self) -> tuple[Mapping[str, float], Mapping[str, str]]:
        """Close every session; return the cost of telemetry by host (share of one core), and its program."""
        self._setup.root.close()
        detached = self.phase.detached
        cost, leases = self._hosts.close(
            keep=detached or self.request.control.taken_over, refused=self._attach_refused and not detached
        )
        self.outcome.problems += leases
        self.phase.to(Phase.FINISHED)
        return cost, self._hosts.telemetry.programs

    @property
    def _attach_refused(self) -> bool:
        """Whether a detached run could not be attached and stays unchanged."""
        return self.request.detached_run is not None and not self.phase.opened


def _pending_changes(detached_run: DetachedRun | None) -> dict[str, set[str]]:
    """Return the paths of the settings that a detached run changed and has not restored, by host."""
    changed: dict[str, set[str]] = {}
    for record in () if detached_run is None else detached_run.record.changes:
        if record.pending:
            changed.setdefault(record.change.host, set()).add(record.change.path)
    return changed


# A run as its caller gets it


def recorded(
    engine: Engine, store: Store, use_library: Callable[[Location], None], resumed: Recorder | None = None
) -> Generator[Event]:
    """Yield the events of `engine` with those added by the stages; `use_library` is that of RecordingStage.

    Each event is stored before it is yielded, by the recorder of the `resumed` run or a new one. If closed early, the
    run is stopped and its end stored. Raises HostInUseError if a host is in use; a new run is then not stored.
    """
    request, ended, by_user = engine.request, False, False
    control, detached_run = request.control, request.detached_run
    try:
        with store.recorder(request.run_id) if resumed is None else nullcontext(resumed) as recorder:
            recorder.when_taken_over = control.note_taken_over
            recording = RecordingStage(recorder, control, use_library)
            source = engine.events()
            with_verdicts = apply_stages(source, resumed_watching(detached_run), Verdicts(recorder))
            try:
                for event in apply_stages(with_verdicts, recording):
                    ended = isinstance(event, RunEnded | RunDetached)
                    yield event
            except (KeyboardInterrupt, GeneratorExit) as error:
                by_user = True
                recording.hurried = isinstance(error, KeyboardInterrupt)
                raise
            finally:
                if not ended:
                    (control.note_taken_over if recorder.taken_over else control.stop)()
                    state, reason = (State.PARTIAL, STOPPED) if by_user else (State.FAILED, FAILED)
                    otherwise = None if engine.phase.refused else RunEnded(request.run_id, state, reason)
                    # KeyboardInterrupt ends only the generators on the stack; the engine's may not have run its end.
                    recording.wind_up(chain(with_verdicts, source), otherwise)
    except HostInUseError:
        if detached_run is None:
            store.delete(request.run_id)
        raise


def attached(
    request: RunRequest, taken: DetachedRun, store: Store, baseline: Baseline, use_library: Callable[[Location], None]
) -> Generator[Event]:
    """Yield the stored events of a detached run, then its new ones.

    Raises the error that prevents attaching; the run then stays detached. A run whose trials are complete ends
    without its hosts if they cannot be reached.
    """
    with store.later_recorder(taken) as recorder:
        engine: Engine | None = None
        try:
            # Read first: the library may be lost by the time the output is needed.
            numbers = [*(one.trial.id for one in taken.under_way), *(job.trial for job in taken.unstored)]
            output = {number: store.output_in_order(taken.id, number) for number in numbers}
            yield from stored_events(taken.record, store)
            engine = Engine(replace(request, detached_run=taken, stored_output=output, take_over=recorder.claim))
            for event in recorded(engine, store, use_library, recorder):
                yield event
                if isinstance(event, TrialAttached):
                    for stream, data in output.get(event.trial.id, ()):
                        yield OutputRead(event.trial.id, stream, data)
        except BenchwrightError as error:
            refused = engine is not None and engine.phase.refused
            try:
                if refused and isinstance(error, RemoteError) and is_complete(taken, baseline):
                    recorder.claim()
                    yield from concluded(taken, recorder, baseline, str(error))
                    return
                if refused or engine is None:  # otherwise its end is recorded or queued
                    if recorder.owns:
                        recorder.record(RunDetached(taken.id))
                    else:
                        store.detached_runs()  # raises if the library was lost meanwhile
                    _add_remedy(error, taken)
            except (StoreLostError, DamagedError) as lost:
                lost.message = f"{error.message} {lost.message}"
                raise save_to_new_file(recorder, lost) from error
            raise


def _add_remedy(error: BenchwrightError, taken: DetachedRun) -> None:
    """Extend the remedy of `error`, if a host with parts of the run was not reached, with how to end without it."""
    holding = {used.where for used in taken.workspaces} | {one.trial.host for one in taken.under_way}
    if not isinstance(error, ConnectError) or error.host not in holding:
        return
    error.remedy = (
        f"{error.remedy} Run {taken.id} has commands or files on {host_label(error.host)} and stays detached. "
        f"To end it without its hosts: benchwright attach {taken.id} --forget"
    ).strip()


def stored_events(record: RunRecord, store: Store, *, running: bool = False) -> Iterator[Event]:
    """Yield the stored events of a run that has not ended; those of its `running` trials as of attached ones."""
    run_id = record.summary.id
    yield RunStarted(run_id, record.plan, record.summary.started)
    if running:
        yield RunAttached(run_id, record.plan, seconds_since(record.summary.started))
    for host, facts in record.facts_before.items():
        yield FactsRead(host, Moment.BEFORE, facts)
    for finding in record.findings:
        yield FindingRaised(finding)
    for host, watched in store.telemetry(run_id).items():
        yield TelemetryRead(host, watched)
    samples = store.samples(run_id)
    for trial in record.trials:
        if trial.state is not State.RUNNING:
            yield TrialStarted(trial.trial, None)
            for sample in samples.get(trial.trial.id, ()):
                yield SampleRead(trial.trial.id, sample)
            yield _ended(trial)
        elif running:
            yield TrialAttached(trial.trial, None, samples.get(trial.trial.id, ()))


def _ended(record: TrialRecord) -> TrialEnded:
    parsed = ParsedTrial(record.figures, (), record.notes, record.state is State.DONE)
    return TrialEnded(record.trial.id, record.state, record.exit_status, parsed, record.reason, origin=record.origin)
