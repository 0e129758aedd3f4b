"""A step on a host: its sessions, its private directories, and what was prepared in them."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field

from app.context import work_directory
from app.control import Control
from app.delivery import content_of, files_of
from app.plan import Step
from remote.files import put_file
from remote.job import Job, Workspace, make_workspace, remove_workspace
from remote.session import Chunk, Session
from suites.base import Command, Context, Purpose
from suites.errors import BenchwrightError

REPORTED = 2000
"""Characters of a failed command's output that its error message shows."""


class PrepareError(BenchwrightError):
    """A step could not be prepared on a host."""


@dataclass(slots=True)
class Place:
    """Where a step runs on a host, and where its server end runs. Removed as a whole when the step is over."""

    step: Step
    host: str
    context: Context
    session: Session
    peer_session: Session | None = None
    workspace: Workspace | None = None
    peer_workspace: Workspace | None = None
    prepared: bool = False
    jobs: list[Job] = field(default_factory=list)

    @property
    def commands(self) -> tuple[Command, ...]:
        """Every command of a trial here."""
        return self.step.suite.commands(self.step.values, self.context)

    def open(self) -> None:
        """Make the private directories, once."""
        if self.workspace is None:
            self.workspace = make_workspace(self.session, work_directory(self.step, self.context.facts))
        if self.peer_session is not None and self.peer_workspace is None:
            directory = work_directory_of_peer(self.context)
            self.peer_workspace = make_workspace(self.peer_session, directory)

    def start(self, command: Command, name: str) -> Job:
        """Start `command` as a job on the side it belongs to."""
        session, workspace = self._side(on_peer=command.on_peer)
        job = Job.start(session, workspace, command.argv, name=name)
        self.jobs.append(job)
        return job

    def _side(self, *, on_peer: bool) -> tuple[Session, Workspace]:
        """Return the session and directory of the host, or of the server end."""
        session, workspace = (self.peer_session, self.peer_workspace) if on_peer else (self.session, self.workspace)
        if session is None or workspace is None:
            raise PrepareError(
                f"{self.step.name}: there is no host for the server end.", "Name one as the step's peer."
            )
        return session, workspace

    def prepare(self, control: Control) -> Iterator[str]:
        """Run what must run before the first trial, once; yield what is being done, in words."""
        if self.prepared:
            return
        self.open()
        yield from self._deliver()
        for number, command in enumerate(self._of(Purpose.PREPARE)):
            yield f"preparing {self.step.name}: {' '.join(command.argv[:6])}"
            self._complete(self.start(command, f"prepare{number}"), command, control)
        self.prepared = True

    def _deliver(self) -> Iterator[str]:
        """Put what the commands need beside them; yield what is being done, in words."""
        for file, on_peer in files_of(self.commands):
            yield f"{'building' if file.build else 'copying'} {file.name} for {self.step.name}"
            session, workspace = self._side(on_peer=on_peer)
            put_file(session, workspace, file.name, content_of(file), executable=file.executable)

    def _of(self, purpose: Purpose) -> list[Command]:
        return [command for command in self.commands if command.purpose is purpose]

    def _complete(self, job: Job, command: Command, control: Control) -> None:
        printed: list[Chunk] = []
        for chunk in job.follow():
            if control.stopped:
                job.stop()
            if chunk is not None:
                printed.append(chunk)
        if control.stopped:
            return
        if job.exit_status != 0:
            said = b"".join(chunk.data for chunk in printed).decode("utf-8", "replace").strip()[-REPORTED:]
            status = "was killed" if job.exit_status is None else f"ended with exit status {job.exit_status}"
            raise PrepareError(
                f"{self.step.name} could not be prepared on {self.host}: {command.argv[0]} {status}: {said}",
                "Nothing was measured. Mend what it says and run again.",
            )

    def close(self) -> list[str]:
        """End every job, remove the private directories; return in words what could not be."""
        problems: list[str] = []
        for job in self.jobs:
            with contextlib.suppress(BenchwrightError):  # the connection may be gone; the removal below will say so
                if job.running():
                    job.stop()
        self.jobs.clear()
        for session, workspace in ((self.session, self.workspace), (self.peer_session, self.peer_workspace)):
            if session is None or workspace is None:
                continue
            try:
                remove_workspace(session, workspace)
            except BenchwrightError as error:
                problems.append(f"{workspace.path} on {session.host} may be left behind: {error.message}")
        self.workspace = self.peer_workspace = None
        self.prepared = False
        return problems


def work_directory_of_peer(context: Context) -> str:
    """Return where the server end's private directory is made."""
    for found in () if context.peer_facts is None else context.peer_facts.directories:
        if found.writable is True:
            return found.path
    return "/tmp"  # noqa: S108 (the private directory made in it is ours alone, mode 0700)
