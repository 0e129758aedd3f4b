"""A step on a host: its commands, private directories and clean-up."""

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.events import Activity, Event, FindingRaised, JobBegan, JobPlanned, WorkspaceRemoved, WorkspaceUsed
from app.plans.context import step_context, work_directory, writable_directory
from app.plans.duet import PINNED, cpus_of_trial, facts_seen, on_first_half, pinned
from app.plans.plan import Order, Step, host_label
from app.runs.control import CLEAN_UP_TIME, Control, StoppedError
from app.runs.delivery import content_of, files_of
from app.runs.event_queue import EventQueue, together
from app.runs.findings import mtu_not_carried, path_used
from app.runs.phase import RunOutcome
from app.runs.request import RunRequest
from app.runs.root_actions import RootWork
from app.runs.run_hosts import RunHosts
from app.runs.schedule import Slot, StepKey
from remote.devices import device_guard
from remote.jobs.files import put_file
from remote.jobs.job import BESIDE, OUTPUT_LIMIT, RemoteJob, Workspace, job_directory, make_workspace, remove_workspace
from remote.network_path import meet, read_path
from remote.script import new_mark, script
from remote.session import Session
from remote.target_guard import CGROUP_PROGRAM, denied, target_guard
from suites.base import Command, Context, Purpose, devices_of, own_directories
from suites.errors import BenchwrightError
from suites.facts import Facts
from suites.host_files import HostFile
from suites.perf import COUNTERS, STACKS, frequency, profiled_argv, profiled_commands, refusal_of
from suites.probe import architecture_of, shipped_resource
from suites.vocab import Resource

REPORTED = 2000
"""Characters of a failed command's output that its error message shows."""

OUTPUT_BURST = 4 * 2**20
OUTPUT_RATE = 256 * 2**10
"""Bytes a tool may print: eight times the most observed (fio with json+ every second)."""

MAX_CLEAN_UP = 300.0
"""Seconds a step's clean-up may take on a host before it is ended and reported as failed."""

MIN_TIME = 1.0
"""Seconds below which a clean-up command is not started after Stop."""

_MAY_REMAIN = " Its changes may remain on the host."

CLEAN_UP_GRACE = 0.5
"""Seconds between TERM and KILL for a clean-up command that is ended after Stop; short, since little time remains."""


class PrepareError(BenchwrightError):
    """A command of a step could not be run on a host."""


@dataclass(slots=True)
class HostStep:
    """A step on a host and its peer. Its private directories are removed when the step ends.

    Each directory and job is reported as an event before it is created, so that it can be found after a crash.
    """

    step: Step
    host: str
    context: Context
    hosts: RunHosts
    workspace: Workspace | None = None
    peer_workspace: Workspace | None = None
    volumes: list[Workspace] = field(default_factory=list)  # those on the step's further directories
    prepared: bool = False
    cpus: tuple[int, ...] = ()  # to which the commands of the present trial are pinned; empty: all
    hertz: int = 0  # samples a second of each CPU if perf profiles the present trial; 0: it does not
    beside: bool = False  # the jobs of the present trial leave the counters of the process tree to its partner's
    agreed: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of the local files that may be copied, by path
    jobs: list[RemoteJob] = field(default_factory=list)
    _trial: int = 0  # id of the last trial for which a command was started

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command of a trial."""
        context = self.context
        if self.volumes and self.workspace is not None:
            paths = tuple(each.path for each in (self.workspace, *self.volumes))
            context = replace(context, work_directories=paths)
        found = pinned(self.step.suite.commands(self.step.values, context), self.cpus)
        return profiled_commands(found, self.hertz) if self.hertz else found

    @property
    def queue(self) -> EventQueue:
        """Event queue of the run."""
        return self.hosts.queue

    def open(self) -> Iterator[Event]:
        """Make the private directories if they do not exist."""
        if self.workspace is None:
            self.workspace = yield from self._make_workspace(
                work_directory(self.step.suite, self.step.values, self.context.facts), on_peer=False
            )
        for directory in own_directories(self.step.suite, self.step.values)[1 + len(self.volumes) :]:
            self.volumes.append((yield from self._make_workspace(directory, on_peer=False)))
        if self.step.peer is not None and self.peer_workspace is None:
            self.peer_workspace = yield from self._make_workspace(
                writable_directory(self.context.peer_facts), on_peer=True
            )

    def _make_workspace(self, directory: str, *, on_peer: bool) -> Generator[Event, None, Workspace]:
        where = self._where(on_peer=on_peer)
        planned = Workspace("", new_mark())
        planned = Workspace(f"{directory.rstrip('/')}/benchwright-{planned.nonce}", planned.nonce)
        yield WorkspaceUsed(self.step.name, self.host, where, on_peer, planned)
        session = self.hosts.sessions[where]
        made = yield from self.queue.during(lambda: make_workspace(session, directory, planned.nonce))
        if made != planned:  # the directory's real path differs
            yield WorkspaceUsed(self.step.name, self.host, where, on_peer, made)
        return made

    def start(
        self, command: Command, trial: int, number: int, before: Mapping[str, int]
    ) -> Generator[Event, None, RemoteJob]:
        """Start `command` of a trial as a job on the host or peer; `number` and `before` are those of JobPlanned."""
        self._trial = trial
        where = self._where(on_peer=command.on_peer)
        workspace = self._side(on_peer=command.on_peer)[1]
        session = self.hosts.session(where, root=command.root)
        directory = job_directory(f"{command.purpose}{trial}")
        yield JobPlanned(trial, command.purpose, number, where, workspace, directory, dict(before))
        control, cleans_up = self.hosts.control, command.purpose is Purpose.CLEAN_UP
        if control.over and not cleans_up:
            # JobPlanned may not be stored (library failed, run taken over): a job now could not be found again.
            control.raise_if_over()
        argv, lease, limit = self._argv(command), self._lease(command, where), self._output_limit()
        start = partial(RemoteJob.start, session, workspace, argv, directory=directory, lease=lease, limit=limit)
        within = contextlib.nullcontext() if cleans_up else self.hosts.sessions[where].not_after_end()
        job = yield from self.queue.during(start, within=within)
        self.jobs.append(job)
        yield JobBegan(directory, job.began)
        if control.stopped and not cleans_up:
            raise StoppedError
        return job

    def _lease(self, command: Command, where: str) -> str:
        """Return the path of the lease for a job; marked for one whose process tree the telemetry does not follow."""
        lease = self.hosts.leases.path(where)
        pinned_command = not command.on_peer and command.purpose in PINNED
        return f"{BESIDE}{lease}" if lease and self.beside and pinned_command else lease

    def _output_limit(self) -> int:
        """Return the bytes a command may print before it is ended as faulty."""
        seconds = self.step.suite.estimate(self.step.values, self.context).duration
        return OUTPUT_LIMIT if seconds is None else OUTPUT_BURST + round(OUTPUT_RATE * seconds)

    def _argv(self, command: Command) -> tuple[str, ...]:
        """Return the argv of `command`, wrapped to check its targets on the host immediately before it starts."""
        if not command.targets and (command.on_peer or not self._confined):
            return command.argv
        if command.on_peer:
            return target_guard(command.targets, command.argv, versions=())
        if not self.step.suite.destroys(self.step.values):
            return target_guard(command.targets, command.argv)
        devices = []
        for path in devices_of(self.step.suite, self.step.values):
            device = None if self.context.facts is None else self.context.facts.device(path)
            if device is None:
                raise PrepareError(
                    f"{self.step.name}: no facts of {path} on {host_label(self.host)}.", "Run the plan again."
                )
            devices.append(device)
        numbers = " ".join(device.number for device in devices)
        return device_guard(devices, target_guard(command.targets, command.argv, device=numbers))

    @property
    def _confined(self) -> bool:
        """Whether the step's commands are denied access to block devices: it uses disks or an unknown resource."""
        return self.step.suite.resource in {Resource.DISK, Resource.APPLICATION}

    def _where(self, *, on_peer: bool) -> str:
        return self.step.peer or self.host if on_peer else self.host

    def _side(self, *, on_peer: bool) -> tuple[Session, Workspace]:
        """Return the session and directory of the host or the peer."""
        workspace = self.peer_workspace if on_peer else self.workspace
        if workspace is None:
            raise PrepareError(f"{self.step.name}: no host for the server.", "Set the step's peer.")
        return self.hosts.sessions[self._where(on_peer=on_peer)], workspace

    def prepare(self, trial: int) -> Iterator[Event]:
        """Run the PREPARE commands once, before the first trial."""
        yield from self._find_path()
        if self.prepared:
            return
        yield from self.open()
        yield from self._deliver()
        control = self.hosts.control
        for number, command in enumerate(self.commands_for(Purpose.PREPARE)):
            yield Activity(f"preparing {self.step.name}", self.host, command=" ".join(command.argv[:6]))
            job = yield from self.start(command, trial, number, {})
            output, _ = yield from self.queue.during(partial(_read_to_end, job, lambda: not control.over))
            if job.exit_status != 0 and not control.over:
                raise self._not_prepared(job, command, output)
        self.prepared = not control.over

    def _not_prepared(self, job: RemoteJob, command: Command, output: str) -> PrepareError:
        status = "was killed" if job.exit_status is None else f"ended with exit status {job.exit_status}"
        status += f" ({job.reason})" if job.reason else ""
        return PrepareError(
            f"Preparing {self.step.name} on {host_label(self.host)} failed: "
            f"{command.argv[0]} {status}: {output}{denied(host_label(self.host), output.encode(), closed=job.closed)}",
            "Nothing was measured. Fix this error and run again.",
        )

    def try_profile(self, trial: int) -> Generator[Event, None, str]:
        """Return why perf does not profile a command on the host, empty if it does."""
        answered = yield from self._perf(trial, "probe", *profiled_argv(["true"], 0, self.hertz))
        lines = answered.decode("utf-8", "replace").splitlines()
        return refusal_of({key: value for key, _, value in (line.partition(" ") for line in lines)})

    def read_profile(self, trial: int) -> Generator[Event, None, Mapping[str, bytes]]:
        """Return the counters and the folded stacks of the present trial, by the name of their stream."""
        measured = [command for command in self.commands_for(Purpose.MEASURE) if not command.on_peer]
        lines = (yield from self._perf(trial, "fold", str(len(measured)))).splitlines(keepends=True)
        kinds = {COUNTERS: b"c ", STACKS: b"s "}
        return {name: b"".join(line[2:] for line in lines if line[:2] == mark) for name, mark in kinds.items()}

    def _perf(self, trial: int, *arguments: str) -> Generator[Event, None, bytes]:
        """Run perf.sh in the private directory, as root if the step's commands are, and return what it printed."""
        root = any(command.root for command in self.commands_for(Purpose.MEASURE))
        command = Command(("sh", "-c", script("perf.sh").decode(), "perf.sh", *arguments), Purpose.PREPARE, root=root)
        job = yield from self.start(command, trial, 0, {})
        limit = _TimeLimit(self.hosts.control, 1)
        found: list[bytes] = []
        yield from self.queue.during(lambda: found.append(_printed_by(job, limit.remaining)))
        return found[0]

    def _find_path(self) -> Iterator[Event]:
        """Read the network path to the peer and the rendezvous address, once; raise the finding of the path."""
        peer, context = self.step.peer, self.context
        if peer is None or context.meeting is not None:
            return
        address = str(self.step.values.get("address", "")) or context.peer_address or ""
        sessions = self.hosts.sessions
        read = partial(read_path, sessions[self.host], address, context.facts, context.peer_facts)
        path = yield from self.queue.during(read, until_over=True)
        meeting = yield from self.queue.during(partial(meet, sessions[peer]), until_over=True)
        self.context = replace(context, meeting=meeting)
        if not self.prepared:
            yield FindingRaised(path_used(self.step.name, self.host, peer, path))
            yield from map(FindingRaised, mtu_not_carried(self.step.name, self.host, path))

    def _deliver(self) -> Iterator[Event]:
        """Copy the commands' files to the host and peer."""
        for file, on_peer in self._files():
            activity = "building" if file.build else "copying"
            yield Activity(f"{activity} {file.name} for {self.step.name}", self.host)
            session, workspace = self._side(on_peer=on_peer)
            content = yield from self.queue.during(partial(content_of, file, self.agreed), until_over=True)
            put = partial(put_file, session, workspace, file.name, content, executable=file.executable)
            yield from self.queue.during(put, until_over=True)

    def _files(self) -> tuple[tuple[HostFile, bool], ...]:
        """Return the commands' files, with the cgroup program that denies block devices to commands run by root."""
        files = files_of(self.commands)
        resource = shipped_resource(CGROUP_PROGRAM, architecture_of(self.context.facts))
        facts = self.context.facts
        root = any(each.root for each in self.commands) or (facts is not None and facts.system.user == "root")
        if resource is None or not root or not (self._confined or any(each.targets for each in self.commands)):
            return files
        return (*files, (HostFile(CGROUP_PROGRAM, resource=resource, executable=True), False))

    def commands_for(self, purpose: Purpose) -> list[Command]:
        """Return the commands of the step for `purpose`, in order."""
        return [command for command in self.commands if command.purpose is purpose]

    @property
    def cleans_up(self) -> bool:
        """Whether close() runs a clean-up command."""
        return self._began and bool(self.commands_for(Purpose.CLEAN_UP))

    @property
    def _began(self) -> bool:
        return self.workspace is not None and (self.prepared or bool(self.jobs))

    def close(self, *, others: int = 0) -> Generator[Event, None, list[str]]:
        """End every job, clean up, remove the private directories; return the problems as messages.

        Host and peer are closed concurrently, so that one that hangs does not delay the other. If a command may still
        run there, `hosts` records it and no other trial runs on that host. After Stop, the clean-up time is shared
        with the `others` that clean up on the same host. Raises DetachedError if the run is detached during clean-up;
        attaching repeats it.
        """
        if self.hosts.control.taken_over:
            return []
        began, jobs, problems = self._began, tuple(self.jobs), list[str]()
        self.jobs.clear()
        sides = ((self.workspace, False), (self.peer_workspace, True))
        yield from together(
            self._close_side(workspace, jobs, problems, others if began else None, on_peer=on_peer)
            for workspace, on_peer in sides
            if workspace is not None
        )
        for volume in self.volumes:  # nothing writes there any more
            yield from self._close_side(volume, (), problems, None, on_peer=False)
        self.volumes.clear()
        self.workspace = self.peer_workspace = None
        self.prepared = False
        return problems

    def _close_side(
        self, workspace: Workspace, jobs: Iterable[RemoteJob], problems: list[str], others: int | None, *, on_peer: bool
    ) -> Iterator[Event]:
        """Close the host or the peer and append to `problems`; no clean-up if `others` is None."""
        where = self._where(on_peer=on_peer)
        for job in jobs:
            if job.workspace.nonce == workspace.nonce and job.exit_status is None and not job.reason:
                with contextlib.suppress(BenchwrightError):  # a lost connection is reported by the removal below
                    yield from self.queue.during(job.stop)
        if others is not None:
            problems += yield from self._clean_up(others, on_peer=on_peer)
        try:
            yield from self.queue.during(partial(remove_workspace, self.hosts.sessions[where], workspace))
            yield WorkspaceRemoved(workspace.nonce)
        except BenchwrightError as error:
            problems.append(f"{workspace.path} may remain on {host_label(where)}: {error.message}")
            yield from self.hosts.check_remaining(where, workspace)

    def _clean_up(self, others: int, *, on_peer: bool) -> Generator[Event, None, list[str]]:
        """Run the CLEAN_UP commands, which restore state outside the private directory; return failures as messages."""
        problems: list[str] = []
        host = host_label(self._where(on_peer=on_peer))
        commands = [command for command in self.commands_for(Purpose.CLEAN_UP) if command.on_peer is on_peer]
        for number, command in enumerate(commands):
            yield Activity(f"cleaning up {self.step.name}", self.host, command=" ".join(command.argv[:6]))
            failed = f"Clean-up of {self.step.name} on {host} failed"
            limit = _TimeLimit(self.hosts.control, others + len(commands) - number)
            try:
                if limit.remaining() < MIN_TIME:
                    raise PrepareError(f"{command.argv[0]} was not run: no time remained after the stop.")
                job = yield from self.start(command, self._trial, number, {})
                printed, timed_out = yield from self._followed(job, limit)
            except BenchwrightError as error:
                problems.append(f"{failed}: {error.message}{_MAY_REMAIN}")
                continue
            if timed_out:
                problems.append(f"{failed}: {command.argv[0]} was ended after {limit.allowed}.{_MAY_REMAIN}")
            elif job.exit_status != 0:
                how = f"{command.argv[0]} exit status {job.exit_status}: {printed or job.reason or 'no output'}"
                problems.append(f"{failed}: {how}.{denied(host, printed.encode(), closed=job.closed)}")
        self.jobs.clear()
        return problems

    def _followed(self, job: RemoteJob, limit: "_TimeLimit") -> Generator[Event, None, tuple[str, bool]]:
        """Follow a clean-up job, as _read_to_end() does; announce at Stop how long the run waits for it."""
        control, announced = self.hosts.control, False
        found: list[tuple[str, bool]] = []
        for event in self.queue.during(lambda: found.append(_read_to_end(job, limit.remaining))):
            control.raise_if_detached()
            if control.stopped and not announced:
                announced = True
                waited = f"waiting for the clean-up on {host_label(self.host)}, at most {limit.remaining():.0f} s"
                yield Activity(waited, self.host)
            yield event
        return found[0]


@dataclass(slots=True)
class _TimeLimit:
    """Time limit of a clean-up command: after Stop, `shares` of them on one host divide CLEAN_UP_TIME."""

    control: Control
    shares: int
    allowed: str = f"{MAX_CLEAN_UP:.0f} s"
    _deadline: float = field(default_factory=lambda: time.monotonic() + MAX_CLEAN_UP)
    _shared: bool = False

    def remaining(self) -> float:
        """Return the remaining seconds."""
        if self.control.over and not self._shared:
            self._shared = True
            allowed = self.control.remaining(CLEAN_UP_TIME) / self.shares
            self.allowed = f"{allowed:.0f} s, the time remaining after the stop"
            self._deadline = min(self._deadline, time.monotonic() + allowed)
        return max(0.0, self._deadline - time.monotonic())


def _read_to_end(job: RemoteJob, remaining: Callable[[], float]) -> tuple[str, bool]:
    """Follow `job`; return its last output, and whether it was ended because no time was `remaining`.

    Raises JobError if it cannot be ended.
    """
    printed, ended = b"", False
    for chunk in job.follow():
        if chunk is not None:
            printed = (printed + chunk.data)[-REPORTED:]
        if not remaining():
            ended = True
            job.stop(CLEAN_UP_GRACE)  # its remaining output is dropped
            break
    return printed.decode("utf-8", "replace").strip(), ended


def _printed_by(job: RemoteJob, remaining: Callable[[], float]) -> bytes:
    """Return the standard output of `job`, which is ended if no time is `remaining`."""
    printed: list[bytes] = []
    for chunk in job.follow():
        if chunk is not None and chunk.stream == "stdout":
            printed.append(chunk.data)
        if not remaining():
            job.stop(CLEAN_UP_GRACE)
            break
    return b"".join(printed)


class HostSteps:
    """The open steps of a run: opened with their first trial, closed after their last or at the end of the run."""

    def __init__(
        self, request: RunRequest, hosts: RunHosts, root: RootWork, facts: Mapping[str, Facts], outcome: RunOutcome
    ) -> None:
        self.outcome = outcome
        self._request, self._hosts, self._root, self._facts = request, hosts, root, facts
        self._open: dict[StepKey, HostStep] = {}
        self._ended: set[str] = set()  # hosts on which the run is ended

    def at(self, slot: Slot) -> HostStep:
        """Return the step of `slot`, on the CPUs of its trial; open it if it is not open."""
        if slot.key not in self._open:
            context = self._context(slot)
            self._open[slot.key] = HostStep(slot.step, slot.host, context, self._hosts, agreed=self._request.agreed)
        host_step, plan = self._open[slot.key], self._request.plan
        host_step.cpus = cpus_of_trial(plan, slot.step.name, slot.number, self._facts.get(slot.host))
        seconds = slot.step.suite.estimate(slot.step.values, host_step.context).duration
        host_step.hertz = frequency(host_step.context.facts, seconds) if slot.profiled else 0
        host_step.beside = plan.order is Order.DUET and on_first_half(plan, slot.step.name, slot.number)
        return host_step

    def _context(self, slot: Slot) -> Context:
        facts = facts_seen(self._request.plan, self._facts)
        return step_context(slot.step, slot.host, facts, self._request.addresses)

    def estimate(self, slot: Slot) -> float | None:
        """Return the estimated seconds of `slot`; None if unknown or if the facts of its host are not read yet."""
        if slot.host not in self._facts:
            return None
        return slot.step.suite.estimate(slot.step.values, self._context(slot)).duration

    def open_keys(self) -> tuple[StepKey, ...]:
        """Return the keys of the open steps."""
        return tuple(self._open)

    def hosts(self) -> set[str]:
        """Return the hosts of the open steps."""
        return {host for _, host in self._open}

    def has_ended(self, host: str) -> bool:
        """Whether the run has ended on `host`."""
        return host in self._ended

    def close(self, key: StepKey) -> Iterator[Event]:
        """Close the step `key` if it is open."""
        host_step = self._open.pop(key, None)
        if host_step is not None:
            others = sum(other.cleans_up for (_, host), other in self._open.items() if host == key[1])
            self.outcome.problems += yield from host_step.close(others=others)

    def end(self, *, detached: bool = False) -> Iterator[Event]:
        """End the run on every host concurrently; `detached` as in end_on()."""
        hosts = dict.fromkeys([*(host for _, host in self._open), *self._hosts.sessions])
        yield from together([self.end_on(host, detached=detached) for host in hosts])

    def end_on(self, host: str, *, detached: bool = False) -> Iterator[Event]:
        """Close the steps of `host` and restore its settings; if `detached`, close only steps not prepared."""
        if self._request.control.taken_over:
            return
        for key in [key for key in self._open if key[1] == host]:
            if not (detached and self._open[key].prepared):
                yield from self.close(key)
        if not detached and host not in self._ended:
            self._ended.add(host)
            self.outcome.problems += yield from self._root.restore([host])
