"""A step on a host: its sessions, its private directories, and what was prepared in them."""

import contextlib
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

from app.events import Activity, Event, FindingRaised, JobBegan, JobPlanned, WorkspaceRemoved, WorkspaceUsed
from app.plans.context import work_directory, writable_directory
from app.plans.plan import Step, host_words
from app.runs.control import CLEAN_UP_TIME, Control, LeftError, StoppedError
from app.runs.delivery import content_of, files_of
from app.runs.findings import path_used
from app.runs.mailbox import Mailbox
from app.runs.run_hosts import RunHosts
from remote.devices import guarded
from remote.jobs.files import put_file
from remote.jobs.job import OUTPUT_LIMIT, Job, Workspace, job_directory, make_workspace, remove_workspace
from remote.path import meet, read_path
from remote.script import new_mark
from remote.session import Chunk, Session
from remote.targets import CGROUP_PROGRAM, denied, judged
from suites.base import Command, Context, Purpose, destroys, device_of
from suites.errors import BenchwrightError
from suites.host_files import HostFile
from suites.probe.probe import architecture_of, shipped_resource
from suites.vocab import Resource

REPORTED = 2000
"""Characters of a failed command's output that its error message shows."""

OUTPUT_AT_ONCE = 4 * 2**20
OUTPUT_A_SECOND = 256 * 2**10
"""Bytes that a tool may print: eight times what the most talkative, fio with json+ every second, was seen to."""

LONGEST_CLEAN_UP = 300.0
"""Seconds a step's own cleaning up may take on a host before it is ended, and said to have failed."""

LEAST_TIME = 1.0
"""Seconds below which a clean-up command is not begun after Stop."""

CLEAN_UP_GRACE = 0.5
"""Seconds between TERM and KILL for a clean-up command that is ended after Stop: little time is left."""


class PrepareError(BenchwrightError):
    """A command that belongs to a step could not be run on a host."""


@dataclass(slots=True)
class Place:
    """Where a step runs on a host, and where its server end runs. Removed as a whole when the step is over.

    Whatever is made on a host is told as an event before it is made, so that it is found again after a crash.
    """

    step: Step
    host: str
    context: Context
    hosts: RunHosts
    workspace: Workspace | None = None
    peer_workspace: Workspace | None = None
    prepared: bool = False
    agreed: Mapping[str, str] = field(default_factory=dict)  # SHA-256 of the local files that may be copied, by path
    jobs: list[Job] = field(default_factory=list)
    _trial: int = 0  # the last one for which a command was started

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command of a trial here."""
        return self.step.suite.commands(self.step.values, self.context)

    @property
    def mailbox(self) -> Mailbox:
        """Where the threads of the run leave what they read."""
        return self.hosts.mailbox

    def open(self) -> Iterator[Event]:
        """Make the private directories, once."""
        if self.workspace is None:
            self.workspace = yield from self._make(
                work_directory(self.step.suite, self.step.values, self.context.facts), on_peer=False
            )
        if self.step.peer is not None and self.peer_workspace is None:
            self.peer_workspace = yield from self._make(writable_directory(self.context.peer_facts), on_peer=True)

    def _make(self, directory: str, *, on_peer: bool) -> Generator[Event, None, Workspace]:
        where = self._where(on_peer=on_peer)
        planned = Workspace("", new_mark())
        planned = Workspace(f"{directory.rstrip('/')}/benchwright-{planned.nonce}", planned.nonce)
        yield WorkspaceUsed(self.step.name, self.host, where, on_peer, planned)
        session = self.hosts.sessions[where]
        made = yield from self.mailbox.during(lambda: make_workspace(session, directory, planned.nonce))
        if made != planned:  # the directory's real path is another
            yield WorkspaceUsed(self.step.name, self.host, where, on_peer, made)
        return made

    def start(
        self, command: Command, trial: int, number: int, before: Mapping[str, int]
    ) -> Generator[Event, None, Job]:
        """Start `command` of a trial as a job on the side it belongs to; `number` and `before` are JobPlanned's."""
        self._trial = trial
        where = self._where(on_peer=command.on_peer)
        workspace = self._side(on_peer=command.on_peer)[1]
        session = self.hosts.session(where, root=command.root)
        directory = job_directory(f"{command.purpose}{trial}")
        yield JobPlanned(trial, command.purpose, number, where, workspace, directory, dict(before))
        control, cleans_up = self.hosts.control, command.purpose is Purpose.CLEAN_UP
        if control.over and not cleans_up:
            # The plan may not be stored: the library failed, or the run was taken over.
            raise LeftError if control.left else StoppedError
        lease, limit = self.hosts.lease(where), self._output_limit()

        def start() -> Job:
            with contextlib.nullcontext() if cleans_up else self.hosts.sessions[where].not_once_over():
                words = self._words(command)
                return Job.start(session, workspace, words, directory=directory, lease=lease, limit=limit)

        job = yield from self.mailbox.during(start)
        self.jobs.append(job)
        yield JobBegan(directory, job.began)
        if control.stopped and not cleans_up:
            raise StoppedError
        return job

    def _output_limit(self) -> int:
        """Return the bytes a command may print before it is broken, not talkative: then it is ended."""
        seconds = self.step.suite.estimate(self.step.values, self.context).duration
        return OUTPUT_LIMIT if seconds is None else OUTPUT_AT_ONCE + round(OUTPUT_A_SECOND * seconds)

    def _words(self, command: Command) -> tuple[str, ...]:
        """Return the words that start `command` once the host has looked at what it opens, in the same moment."""
        if not command.targets and (command.on_peer or not self._confined):
            return command.argv
        if command.on_peer:
            return judged(command.targets, command.argv, versions=())
        if not destroys(self.step.suite, self.step.values):
            return judged(command.targets, command.argv)
        path, facts = device_of(self.step.suite, self.step.values), self.context.facts
        device = None if facts is None else facts.device(path)
        if device is None:
            raise PrepareError(
                f"{self.step.name}: nothing was read about {path} on {host_words(self.host)}.", "Run it again."
            )
        return guarded(device, judged(command.targets, command.argv, device=device.number))

    @property
    def _confined(self) -> bool:
        """Whether block devices are closed to the step's commands: it works on disks, or on something unknown."""
        return self.step.suite.resource in {Resource.DISK, Resource.APPLICATION}

    def _where(self, *, on_peer: bool) -> str:
        return self.step.peer or self.host if on_peer else self.host

    def _side(self, *, on_peer: bool) -> tuple[Session, Workspace]:
        """Return the session and directory of the host, or of the server end."""
        workspace = self.peer_workspace if on_peer else self.workspace
        if workspace is None:
            raise PrepareError(
                f"{self.step.name}: there is no host for the server end.", "Name one as the step's peer."
            )
        return self.hosts.sessions[self._where(on_peer=on_peer)], workspace

    def prepare(self, control: Control, trial: int) -> Iterator[Event]:
        """Run what must run before the first trial, once."""
        yield from self._meet()
        if self.prepared:
            return
        yield from self.open()
        yield from self._deliver()
        for number, command in enumerate(self._of(Purpose.PREPARE)):
            yield Activity(f"preparing {self.step.name}: {' '.join(command.argv[:6])}", self.host)
            job = yield from self.start(command, trial, number, {})
            yield from self.mailbox.during(partial(self._complete, job, command, control))
        self.prepared = not control.over

    def _meet(self) -> Iterator[Event]:
        """Find out how the host reaches its server end and where they can meet, once; tell the path."""
        peer, context = self.step.peer, self.context
        if peer is None or context.meeting is not None:
            return
        address = str(self.step.values.get("address", "")) or context.peer_address or ""
        sessions = self.hosts.sessions
        read = partial(read_path, sessions[self.host], address, context.facts, context.peer_facts)
        path = yield from self.mailbox.during(read, until_over=True)
        meeting = yield from self.mailbox.during(partial(meet, sessions[peer]), until_over=True)
        self.context = replace(context, meeting=meeting)
        if not self.prepared:
            yield FindingRaised(path_used(self.step.name, self.host, peer, path))

    def _deliver(self) -> Iterator[Event]:
        """Put what the commands need beside them."""
        for file, on_peer in self._files():
            doing = "building" if file.build else "copying"
            yield Activity(f"{doing} {file.name} for {self.step.name}", self.host)
            session, workspace = self._side(on_peer=on_peer)
            content = yield from self.mailbox.during(partial(content_of, file, self.agreed), until_over=True)
            put = partial(put_file, session, workspace, file.name, content, executable=file.executable)
            yield from self.mailbox.during(put, until_over=True)

    def _files(self) -> tuple[tuple[HostFile, bool], ...]:
        """Return what the commands need, and what closes block devices to them where root runs them."""
        files = files_of(self.commands)
        resource = shipped_resource(CGROUP_PROGRAM, architecture_of(self.context.facts))
        facts = self.context.facts
        root = any(each.root for each in self.commands) or (facts is not None and facts.system.user == "root")
        if resource is None or not root or not (self._confined or any(each.targets for each in self.commands)):
            return files
        return (*files, (HostFile(CGROUP_PROGRAM, resource=resource, executable=True), False))

    def _of(self, purpose: Purpose) -> list[Command]:
        return [command for command in self.commands if command.purpose is purpose]

    def _complete(self, job: Job, command: Command, control: Control) -> None:
        printed: list[Chunk] = []
        for chunk in job.follow():
            if control.over:
                job.stop()  # what it still prints is not waited for
                return
            if chunk is not None:
                printed.append(chunk)
        if control.over:
            return
        if job.exit_status != 0:
            said = b"".join(chunk.data for chunk in printed).decode("utf-8", "replace").strip()[-REPORTED:]
            status = "was killed" if job.exit_status is None else f"ended with exit status {job.exit_status}"
            status += f" ({job.reason})" if job.reason else ""
            raise PrepareError(
                f"{self.step.name} could not be prepared on {host_words(self.host)}: "
                f"{command.argv[0]} {status}: {said}{denied(host_words(self.host), said.encode(), closed=job.closed)}",
                "Nothing was measured. Mend what it says and run again.",
            )

    @property
    def cleans_up(self) -> bool:
        """Whether closing it runs a command."""
        return self._began and bool(self._of(Purpose.CLEAN_UP))

    @property
    def _began(self) -> bool:
        return self.workspace is not None and (self.prepared or bool(self.jobs))

    def close(self, *, others: int = 0) -> Generator[Event, None, list[str]]:
        """End every job, clean up, remove the private directories; return in words what could not be.

        Where something may still run then, `hosts` notes it: nothing else is measured there. After Stop, the time to
        clean up is shared with the `others` that clean up on the same host. Raises LeftError where the run is let go of
        while it cleans up: that is done again by whoever attaches.
        """
        if self.hosts.control.lost:
            return []
        began = self._began
        for job in self.jobs:
            if job.exit_status is None and not job.reason:
                with contextlib.suppress(BenchwrightError):  # the connection may be gone; the removal below says so
                    yield from self.mailbox.during(job.stop)
        self.jobs.clear()
        problems = (yield from self._clean_up(others)) if began else []
        for workspace, on_peer in ((self.workspace, False), (self.peer_workspace, True)):
            if workspace is None:
                continue
            session = self.hosts.sessions[self._where(on_peer=on_peer)]
            try:
                yield from self.mailbox.during(partial(remove_workspace, session, workspace))
                yield WorkspaceRemoved(workspace.nonce)
            except BenchwrightError as error:
                problems.append(f"{workspace.path} on {host_words(session.host)} may be left behind: {error.message}")
                yield from self.hosts.note_left(self._where(on_peer=on_peer), workspace)
        self.workspace = self.peer_workspace = None
        self.prepared = False
        return problems

    def _clean_up(self, others: int) -> Generator[Event, None, list[str]]:
        """Run what puts things back that the private directory does not hold; return in words what failed."""
        problems: list[str] = []
        host, commands = host_words(self.host), self._of(Purpose.CLEAN_UP)
        for number, command in enumerate(commands):
            yield Activity(f"cleaning up {self.step.name}: {' '.join(command.argv[:6])}", self.host)
            following = _Following(self.hosts.control, others + len(commands) - number)
            try:
                if following.left() < LEAST_TIME:
                    raise PrepareError(f"{command.argv[0]} was not run: no time was left for it after the stop.")
                job = yield from self.start(command, self._trial, number, {})
                yield from self._followed(following, job)
            except BenchwrightError as error:
                how = f"{error.message} What it puts back may not be put back."
                problems.append(f"{self.step.name} could not clean up on {host}: {how}")
                continue
            if following.ended_by_us:
                how = f"{command.argv[0]} did not end in {following.allowed} and was ended"
                problems.append(f"{self.step.name} could not clean up on {host}: {how}; what it puts back may not be.")
            elif job.exit_status != 0:
                said = following.said
                how = f"{command.argv[0]} ended with exit status {job.exit_status}: {said or job.reason or 'no word'}"
                why = denied(host, said.encode(), closed=job.closed)
                problems.append(f"{self.step.name} could not clean up on {host}: {how}.{why}")
        self.jobs.clear()
        return problems

    def _followed(self, following: "_Following", job: Job) -> Iterator[Event]:
        """Follow a job that cleans up to its end; say at Stop for how long that is waited for."""
        announced = False
        for event in self.mailbox.during(partial(following.follow, job)):
            if self.hosts.control.left:
                raise LeftError
            if self.hosts.control.stopped and not announced:
                announced = True
                yield Activity(
                    f"waiting for the clean-up on {host_words(self.host)}, at most {following.left():.0f} s", self.host
                )
            yield event


@dataclass(slots=True)
class _Following:
    """Follows a job that cleans up; after Stop, `shares` of them on one host share CLEAN_UP_TIME.

    `ended_by_us`: it did not end within what it was `allowed`, and was ended.
    """

    control: Control
    shares: int
    said: str = ""  # what it printed last
    ended_by_us: bool = False
    allowed: str = f"{LONGEST_CLEAN_UP:.0f} s"
    _deadline: float = field(default_factory=lambda: time.monotonic() + LONGEST_CLEAN_UP)
    _shared: bool = False

    def left(self) -> float:
        """Return the seconds it may still take."""
        if self.control.over and not self._shared:
            self._shared = True
            allowed = self.control.remaining(CLEAN_UP_TIME) / self.shares
            self.allowed = f"the {allowed:.0f} s that were left after the stop"
            self._deadline = min(self._deadline, time.monotonic() + allowed)
        return max(0.0, self._deadline - time.monotonic())

    def follow(self, job: Job) -> None:
        """Follow `job` to its end, and end it where that does not come; raise JobError where it cannot be ended."""
        printed = b""
        for chunk in job.follow():
            if chunk is not None:
                printed = (printed + chunk.data)[-REPORTED:]
            if not self.left():
                self.ended_by_us = True
                job.stop(CLEAN_UP_GRACE)
                break
        self.said = printed.decode("utf-8", "replace").strip()
