"""A job: a command that runs on a host in its own session, independent of the connection."""

import contextlib
import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence

from remote.errors import ConnectionLostError, JobError, OutputLimitError, RebootedError
from remote.jobs.job_record import JobExit, JobStart, booted, restarted
from remote.jobs.workspace import SCRIPT, Workspace, explain, make_workspace, remove_workspace, unsafe
from remote.script import MarkFilter, new_mark, open_script, query_script
from remote.session import Chunk, Session

__all__ = ["OUTPUT_LIMIT", "JobStart", "RemoteJob", "Workspace", "make_workspace", "remove_workspace"]

BESIDE = "+"
"""Prefix of the lease for a job that runs beside the one whose process tree the telemetry follows."""

OUTPUT_LIMIT = 64 * 2**20
"""Default limit of a job's output in bytes per stream."""

FOLLOW_WAIT = 1.0
"""Seconds without output after which `follow` yields None."""

FRUITLESS = 3
"""Consecutive attempts to follow a job without new output after which an error is raised."""

KILL_TIME = 3.0
"""Seconds after the grace period for SIGKILL to end all processes."""


def job_directory(name: str) -> str:
    """Return a random name, with the prefix `name`, for a job's output directory."""
    return f"{re.sub('[^A-Za-z0-9]', '', name)[:32]}-{secrets.token_hex(4)}"


class RemoteJob:
    """A command running on a host. `follow` reads it in one thread; `stop` and `running` may be called from others.

    A new session or another process can attach to it by its workspace, directory and `began`; `received` is then the
    number of bytes of each stream that were read before.

    `exit_status` and `ended_clock` are known after `follow` or `stop`; both are None if the command left no exit
    status, with the cause in `reason`. `reason` is also set if a signal ended the command. `closed` is whether the
    device cgroup kept it from writing to block devices, except one whose loss was confirmed. `truncated` is empty, or
    names the stream that `follow` could not read completely, with the bytes read and written.
    """

    def __init__(
        self,
        session: Session,
        workspace: Workspace,
        directory: str,
        began: JobStart,
        *,
        limit: int = OUTPUT_LIMIT,
        received: Mapping[str, int] | None = None,
    ) -> None:
        self.workspace = workspace
        self.directory = directory
        self.began = began
        self.exit_status: int | None = None
        self.ended_clock: float | None = None
        self.reason = ""
        self.truncated = ""
        self.closed = False
        self._ending = JobExit()
        self._session = session
        self._limit = limit
        self._received = {"stdout": 0, "stderr": 0} | dict(received or {})
        self._first_nul: dict[str, int] = {}  # offset of the first NUL byte of each stream
        self._text: set[str] = set()  # streams that contain other bytes than NUL
        self._stopping = threading.Lock()
        self._stopped = False

    @classmethod
    def start(
        cls,
        session: Session,
        workspace: Workspace,
        argv: Sequence[str],
        name: str = "measure",
        *,
        directory: str = "",
        lease: str = "",
        limit: int = OUTPUT_LIMIT,
    ) -> "RemoteJob":
        """Start `argv` in the workspace. A missing program is no error: the job ends with status 127.

        `directory` is a result of job_directory(); a job that was started there already is not started again. `lease`
        is the path of the host's lease, which the job keeps alive while it runs. After BESIDE, the telemetry follows
        another job's process tree; this one's processes are not others either.
        Raises JobError if the workspace is gone or full.
        """
        directory = directory or job_directory(name)
        reply = query_script(session, SCRIPT, "start", *workspace.words, directory, lease, *argv)
        with contextlib.suppress(KeyError, ValueError):
            return cls(session, workspace, directory, JobStart.parse(reply["begun"]), limit=limit)
        raise _not_started(session.host, workspace, argv, reply.get("error", ""))

    @classmethod
    def find(cls, session: Session, workspace: Workspace, directory: str) -> "RemoteJob | None":
        """Return the job that was started in `directory`, such as by a request whose answer was lost; None if none."""
        return cls._found(session, workspace, directory, _status(session, workspace, directory))

    @classmethod
    def find_or_prevent(cls, session: Session, workspace: Workspace, directory: str) -> "RemoteJob | None":
        """Return the job that was started in `directory`; None if it verifiably never began, and never will.

        A start that is still in transit is prevented. Raises JobError if the directory is gone, so that neither is
        known.
        """
        found = cls.find(session, workspace, directory)
        if found is not None:
            return found
        cls.end(session, workspace, directory)
        reply = _status(session, workspace, directory)
        found = cls._found(session, workspace, directory, reply)
        if found is None and "out" not in reply:
            raise JobError(
                f"Whether a command began on {session.host} is unknown: {workspace.path} is gone or was replaced.",
                "Check for a cleaner of temporary files there, then run again.",
                host=session.host,
            )
        return found

    @classmethod
    def _found(
        cls, session: Session, workspace: Workspace, directory: str, reply: Mapping[str, str]
    ) -> "RemoteJob | None":
        with contextlib.suppress(KeyError, ValueError):
            return cls(session, workspace, directory, JobStart.parse(reply["begun"]))
        return None

    @staticmethod
    def under_way(session: Session, workspace: Workspace) -> frozenset[str]:
        """Return the directories of the workspace's jobs that still have a process of this account.

        Raises JobError if the host gives no answer.
        """
        reply = query_script(session, SCRIPT, "jobs", *workspace.words)
        if "jobs" not in reply:
            raise JobError(
                f"{session.host}: no answer about the jobs in {workspace.path}.", "Try again.", host=session.host
            )
        return frozenset(re.findall(r"(?<!\S)[A-Za-z0-9]{1,32}-[0-9a-f]{8}(?!\S)", reply["jobs"]))

    @staticmethod
    def end(session: Session, workspace: Workspace, directory: str, grace: float = 2.0) -> None:
        """End the job of `directory`, or keep it from starting if its start request has not arrived yet.

        Raises JobError naming the processes that could not be ended.
        """
        hundredths = str(round(grace * 100))
        timeout = grace + KILL_TIME + 30.0
        reply = query_script(session, SCRIPT, "stop", *workspace.words, directory, hundredths, timeout=timeout)
        if "stopped" not in reply:
            processes = reply.get("error", "").removeprefix("left").strip() or "no answer"
            raise JobError(
                f"The job on {session.host} could not be stopped: {processes}.",
                "End these processes on the host.",
                host=session.host,
            )

    @property
    def pid(self) -> int:
        """The PID of the command."""
        return self.began.pid

    @property
    def clock(self) -> float:
        """The host's monotonic clock at the start of the command: seconds since boot."""
        return self.began.clock

    @property
    def epoch(self) -> float:
        """The host's wall clock at the start of the command: seconds since 1970."""
        return self.began.epoch

    def running(self) -> bool:
        """Whether the command still runs."""
        return "alive" in self._ask("status")

    def follow(self) -> Iterator[Chunk | None]:
        """Yield the job's output as it arrives, None about every second without output, until the job has ended
        and every byte was read.

        Continues at the offset of the previous `follow`, also after a reconnection. Raises OutputLimitError, after
        stopping the job, if it prints too much; ConnectionLostError, while the job keeps running; RebootedError, after
        reading the remaining output, if the host restarted; JobError if the output cannot be read.
        """
        fruitless = 0
        while True:
            before = dict(self._received)
            lost = False
            try:
                yield from self._stream()
            except ConnectionLostError:
                lost = True  # the status request below waits for a new connection, or raises if there is none
            reply = self._ask("status")
            if "alive" not in reply and self._complete(reply):
                break
            fruitless = fruitless + 1 if self._received == before and not lost else 0
            if fruitless == FRUITLESS:
                raise JobError(
                    f"The job's output on {self._session.host} cannot be read.",
                    "The command may still run: stop it, then try again.",
                    host=self._session.host,
                )
        if "astray" in reply:  # end processes that the command left behind, without counting the job as stopped
            with self._stopping:
                self.end(self._session, self.workspace, self.directory, 0.0)
        self._finish(reply)
        self.truncated = self._loss(reply)
        if self.exit_status is None and restarted(reply, self.began.boot_id):
            raise RebootedError(
                f"{self._session.host} restarted {booted(reply)}, which ended the command.",
                "Run it again. Data up to the restart is kept.",
                host=self._session.host,
            )

    def stop(self, grace: float = 2.0) -> None:
        """End all processes of the job: SIGTERM, then SIGKILL after `grace` seconds. Safe to call again.

        Raises JobError naming the processes that could not be ended.
        """
        with self._stopping:
            if self._stopped:
                return
            self.end(self._session, self.workspace, self.directory, grace)
            self._stopped = True
            self._finish(self._ask("status"))

    def _ask(self, mode: str, *arguments: str, timeout: float = 30.0) -> Mapping[str, str]:
        return query_script(
            self._session, SCRIPT, mode, *self.workspace.words, self.directory, *arguments, timeout=timeout
        )

    def _stream(self) -> Iterator[Chunk | None]:
        """Read both streams from their offsets over one channel until the job or the channel ends."""
        mark = new_mark()
        read = [str(self._received[stream]) for stream in ("stdout", "stderr")]
        arguments = ("follow", mark, *self.workspace.words, self.directory, *read)
        after_mark = {stream: MarkFilter(f"@@{mark} follow\n".encode()) for stream in self._received}
        channel = open_script(self._session, SCRIPT, mark, *arguments)
        try:
            while not channel.ended:
                chunks = channel.read(FOLLOW_WAIT)
                found = [Chunk(chunk.stream, after_mark[chunk.stream].feed(chunk.data)) for chunk in chunks]
                for chunk in found:
                    remaining = self._limit - self._received[chunk.stream]
                    data = chunk.data[:remaining]
                    self._note(chunk.stream, data)
                    if data:
                        yield Chunk(chunk.stream, data)
                    if len(chunk.data) > remaining:
                        raise self._over_limit(chunk.stream)
                if not any(chunk.data for chunk in found):
                    yield None
        finally:
            channel.close()

    def _note(self, stream: str, data: bytes) -> None:
        """Count `data`, and note its first NUL byte and whether it has text: see _emptied()."""
        if stream not in self._first_nul and b"\0" in data:
            self._first_nul[stream] = self._received[stream] + data.index(b"\0")
        if stream not in self._text and data.strip(b"\0"):
            self._text.add(stream)
        self._received[stream] += len(data)

    def _over_limit(self, stream: str) -> OutputLimitError:
        """Stop the job, which printed too much; return the error."""
        self.stop()
        return OutputLimitError(
            f"The job on {self._session.host} printed more than {self._limit} bytes on {stream} and was stopped.",
            "The output up to the limit is kept.",
            host=self._session.host,
        )

    def _complete(self, reply: Mapping[str, str]) -> bool:
        """Return whether the output files were read to their end; a missing file counts as empty."""
        return bool(_LOST & reply.keys()) or (
            "out" in reply and all(self._received[stream] >= size for stream, size in _sizes(reply).items())
        )

    def _loss(self, reply: Mapping[str, str]) -> str:
        """Describe output that the command wrote and `follow` did not read; empty if none."""
        if _LOST & reply.keys() or self.exit_status is None:
            return ""
        wrote = self._ending.wrote
        for (stream, size), written in zip(_sizes(reply).items(), wrote or (None, None), strict=True):
            received = self._received[stream]
            if self._emptied(stream) or (received != written and (received > size or size < (written or 0))):
                of_all = "" if written is None else f" of {written} written"
                return f"{received} bytes of its {_NAMES[stream]} were read{of_all}, {size} are left"
        return ""

    def _emptied(self, stream: str) -> bool:
        """Return whether the file of `stream` was truncated while the command wrote to it.

        The command's offset stays, so that the next write leaves a hole of NUL bytes where text was.
        """
        offset = self._first_nul.get(stream)
        if offset is None or stream not in self._text:  # a tool may print only NUL bytes
            return False
        return offset == 0 or "blank" in self._ask("byte", _FILES[stream], str(offset))

    def _finish(self, reply: Mapping[str, str]) -> None:
        self.closed = "closed" in reply
        self._ending = JobExit.parse(reply, stopped=self._stopped, boot_id=self.began.boot_id)
        ending = self._ending
        self.exit_status, self.ended_clock, self.reason = ending.exit_status, ending.clock, ending.reason


_LOST = frozenset({"gone", "foreign", "open"})
"""Keys of job.sh for a job directory that is missing or has been changed."""

_FILES = {"stdout": "out", "stderr": "err"}
_NAMES = {"stdout": "standard output", "stderr": "standard error"}


def _sizes(reply: Mapping[str, str]) -> dict[str, int]:
    """Return the sizes of both output files in bytes; 0 for a missing file."""
    found = {stream: reply.get(name, "") for stream, name in _FILES.items()}
    return {stream: int(size) if size.isdecimal() else 0 for stream, size in found.items()}


def _status(session: Session, workspace: Workspace, directory: str) -> Mapping[str, str]:
    return query_script(session, SCRIPT, "status", *workspace.words, directory)


def _not_started(host: str, workspace: Workspace, argv: Sequence[str], complaint: str) -> JobError:
    error = unsafe(host, complaint)
    if error is not None:
        return error
    if complaint == "gone":
        reason, remedy = f"{workspace.path} is gone", "Start the step again."
    elif complaint == "no setsid":
        reason, remedy = "setsid is not installed", "Install util-linux on the host."
    elif complaint == "never":
        reason, remedy = "another Benchwright ended it before it started", "“benchwright attach --list” shows its run."
    else:
        reason, remedy = explain(complaint)
    return JobError(f"“{argv[0]}” was not started on {host}: {reason}.", remedy, host=host)
