"""A job: one command line run on a host in a process group of its own, independent of the connection."""

import contextlib
import re
import secrets
import threading
from collections.abc import Iterator, Mapping, Sequence

from remote.errors import ConnectionLostError, JobError, OutputLimitError, RebootedError
from remote.jobs.job_record import Began, Ending, booted, restarted
from remote.jobs.workspace import SCRIPT, Workspace, explain, make_workspace, remove_workspace, unsafe
from remote.script import AfterMark, ask, new_mark, open_script
from remote.session import Chunk, Session

__all__ = ["OUTPUT_LIMIT", "Began", "Job", "Workspace", "make_workspace", "remove_workspace"]

OUTPUT_LIMIT = 64 * 2**20
"""Bytes a job may print on one stream, unless the caller allows another amount."""

FOLLOW_WAIT = 1.0
"""Seconds without output after which `follow` yields None."""

FRUITLESS = 3
"""Attempts to follow a job that bring no byte before that is an error."""

KILL_TIME = 3.0
"""Seconds the host may need after the grace to end everything by KILL."""


def job_directory(name: str) -> str:
    """Return a new name for the directory in which a job keeps its output; `name` is the beginning of it."""
    return f"{re.sub('[^A-Za-z0-9]', '', name)[:32]}-{secrets.token_hex(4)}"


class Job:
    """A command under way on a host. `follow` reads it in one thread; `stop` and `running` may be called from others.

    It is found again, on a new session or by another process, by its workspace, directory and `began`; `received`
    is then how many bytes of each stream were read before.

    `exit_status` and `ended_clock` are known after `follow` or `stop`; both are None where the command left no
    exit status behind, and `reason` then says why. `reason` is also set where the status tells of a signal.
    `closed` then says whether the kernel let it write to no block device but one whose loss was confirmed.
    `truncated` is empty, or says which stream `follow` could not read whole, with the bytes read and written.
    """

    def __init__(
        self,
        session: Session,
        workspace: Workspace,
        directory: str,
        began: Began,
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
        self._ending = Ending()
        self._session = session
        self._limit = limit
        self._received = {"stdout": 0, "stderr": 0} | dict(received or {})
        self._blank: dict[str, int] = {}  # where the first NUL of a stream was read, counted from 0
        self._text: set[str] = set()  # streams in which something else was read
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
    ) -> "Job":
        """Start `argv` in the workspace. A program that is missing is no error here: the job ends with status 127.

        `directory` is one that job_directory() drew; a job that began there already is not started again. `lease` is
        the path of the host's lease, which is then kept by the job for as long as it runs.
        Raises JobError where the workspace is gone or full.
        """
        directory = directory or job_directory(name)
        said = ask(session, SCRIPT, "start", *workspace.words, directory, lease, *argv)
        with contextlib.suppress(KeyError, ValueError):
            return cls(session, workspace, directory, Began.parse(said["begun"]), limit=limit)
        raise _not_started(session.host, workspace, argv, said.get("error", ""))

    @classmethod
    def find(cls, session: Session, workspace: Workspace, directory: str) -> "Job | None":
        """Return the job that was started in `directory` by somebody who was not told; None where none began there."""
        said = ask(session, SCRIPT, "status", *workspace.words, directory)
        with contextlib.suppress(KeyError, ValueError):
            return cls(session, workspace, directory, Began.parse(said["begun"]))
        return None

    @staticmethod
    def under_way(session: Session, workspace: Workspace) -> frozenset[str]:
        """Return the directories of the jobs of the workspace of which a process still runs, as far as it is ours.

        Raises JobError where the host gives no answer.
        """
        said = ask(session, SCRIPT, "jobs", *workspace.words)
        if "jobs" not in said:
            raise JobError(
                f"{session.host} does not say what runs in {workspace.path}.", "Try again.", host=session.host
            )
        return frozenset(re.findall(r"(?<!\S)[A-Za-z0-9]{1,32}-[0-9a-f]{8}(?!\S)", said["jobs"]))

    @staticmethod
    def end(session: Session, workspace: Workspace, directory: str, grace: float = 2.0) -> None:
        """End the job of `directory`, also where nobody knows whether it began: one whose start is still on its way to
        the host does not begin any more.

        Raises JobError naming the processes that could not be ended.
        """
        hundredths = str(round(grace * 100))
        timeout = grace + KILL_TIME + 30.0
        said = ask(session, SCRIPT, "stop", *workspace.words, directory, hundredths, timeout=timeout)
        if "stopped" not in said:
            left = said.get("error", "").removeprefix("left").strip() or "it gave no answer"
            raise JobError(
                f"The job on {session.host} could not be stopped: {left}.",
                "Look for these processes on the host.",
                host=session.host,
            )

    @property
    def pid(self) -> int:
        """The process id of the command itself."""
        return self.began.pid

    @property
    def clock(self) -> float:
        """The host's monotonic clock when the command began: seconds since boot."""
        return self.began.clock

    @property
    def epoch(self) -> float:
        """The host's wall clock when the command began: seconds since 1970."""
        return self.began.epoch

    def running(self) -> bool:
        """Whether the command still runs."""
        return "alive" in self._ask("status")

    def follow(self) -> Iterator[Chunk | None]:
        """Yield the job's output as it arrives, None about every second when nothing came, until the job ended
        and every byte was read.

        Begins where the last `follow` of this object left off, and goes on there where a session that outlives its
        connection has a new one. Raises OutputLimitError, once the job is stopped, where it prints too much;
        ConnectionLostError, and the job goes on; RebootedError, once what survived was read, where the host
        restarted; JobError where its output cannot be read.
        """
        fruitless = 0
        while True:
            before = dict(self._received)
            lost = False
            try:
                yield from self._stream()
            except ConnectionLostError:
                lost = True  # asking waits for a new connection, or says that there will be none
            said = self._ask("status")
            if "alive" not in said and self._complete(said):
                break
            fruitless = fruitless + 1 if self._received == before and not lost else 0
            if fruitless == FRUITLESS:
                raise JobError(
                    f"The output of the job cannot be read on {self._session.host}.",
                    "The command may still run there; stop it, then try again.",
                    host=self._session.host,
                )
        if "astray" in said:  # what the command left behind is no part of the measurement; nor was that stopped
            with self._stopping:
                self.end(self._session, self.workspace, self.directory, 0.0)
        self._settle(said)
        self.truncated = self._loss(said)
        if self.exit_status is None and restarted(said, self.began.boot_id):
            raise RebootedError(
                f"{self._session.host} restarted {booted(said)}, and the command ended with it.",
                "What was measured until then is kept. Run it again.",
                host=self._session.host,
            )

    def stop(self, grace: float = 2.0) -> None:
        """End the whole job: TERM, and KILL where it still runs `grace` seconds later. Safe to call again.

        Raises JobError naming the processes that could not be ended.
        """
        with self._stopping:
            if self._stopped:
                return
            self.end(self._session, self.workspace, self.directory, grace)
            self._stopped = True
            self._settle(self._ask("status"))

    def _ask(self, mode: str, *arguments: str, timeout: float = 30.0) -> Mapping[str, str]:
        return ask(self._session, SCRIPT, mode, *self.workspace.words, self.directory, *arguments, timeout=timeout)

    def _stream(self) -> Iterator[Chunk | None]:
        """Follow both streams from where they were read to, over one channel, until the job or the channel ends."""
        mark = new_mark()
        read = [str(self._received[stream]) for stream in ("stdout", "stderr")]
        words = ("follow", mark, *self.workspace.words, self.directory, *read)
        after_mark = {stream: AfterMark(f"@@{mark} follow\n".encode()) for stream in self._received}
        channel = open_script(self._session, SCRIPT, mark, *words)
        try:
            while not channel.ended:
                chunks = channel.read(FOLLOW_WAIT)
                found = [Chunk(chunk.stream, after_mark[chunk.stream].feed(chunk.data)) for chunk in chunks]
                for chunk in found:
                    yield from self._take(chunk)
                if not any(chunk.data for chunk in found):
                    yield None
        finally:
            channel.close()

    def _take(self, chunk: Chunk) -> Iterator[Chunk]:
        room = self._limit - self._received[chunk.stream]
        data = chunk.data[:room]
        if chunk.stream not in self._blank and b"\0" in data:
            self._blank[chunk.stream] = self._received[chunk.stream] + data.index(b"\0")
        if chunk.stream not in self._text and data.strip(b"\0"):
            self._text.add(chunk.stream)
        self._received[chunk.stream] += len(data)
        if data:
            yield Chunk(chunk.stream, data)
        if len(chunk.data) > room:
            self.stop()
            raise OutputLimitError(
                f"The job on {self._session.host} printed more than {self._limit} bytes on {chunk.stream} "
                "and was stopped.",
                "What was read until then is kept.",
                host=self._session.host,
            )

    def _complete(self, said: Mapping[str, str]) -> bool:
        """Whether every byte was read that the files still hold; a file that is gone holds none."""
        return bool(_LOST & said.keys()) or (
            "out" in said and all(self._received[stream] >= size for stream, size in _sizes(said).items())
        )

    def _loss(self, said: Mapping[str, str]) -> str:
        """Return in words what of the output was lost: what was read is not what the command wrote."""
        if _LOST & said.keys() or self.exit_status is None:
            return ""
        wrote = self._ending.wrote
        for (stream, size), written in zip(_sizes(said).items(), wrote or (None, None), strict=True):
            received = self._received[stream]
            if self._emptied(stream) or (received != written and (received > size or size < (written or 0))):
                of_all = "" if written is None else f" of {written} written"
                return f"{received} bytes of its {_NAMES[stream]} were read{of_all}, {size} are left"
        return ""

    def _emptied(self, stream: str) -> bool:
        """Whether the file of `stream` was emptied while the command wrote to it: what was text there is NUL now."""
        blank = self._blank.get(stream)
        if blank is None or stream not in self._text:  # a tool may print NULs and nothing else
            return False
        return blank == 0 or "blank" in self._ask("byte", _FILES[stream], str(blank))

    def _settle(self, said: Mapping[str, str]) -> None:
        self.closed = "closed" in said
        self._ending = Ending.parse(said, stopped=self._stopped, boot_id=self.began.boot_id)
        ending = self._ending
        self.exit_status, self.ended_clock, self.reason = ending.exit_status, ending.clock, ending.reason


_LOST = frozenset({"gone", "foreign", "open"})
"""What is said of a directory that is not there, or not as it was made."""

_FILES = {"stdout": "out", "stderr": "err"}
_NAMES = {"stdout": "standard output", "stderr": "standard error"}


def _sizes(said: Mapping[str, str]) -> dict[str, int]:
    """Return the bytes in the files of both streams; a file that is gone has none."""
    found = {stream: said.get(name, "") for stream, name in _FILES.items()}
    return {stream: int(size) if size.isdecimal() else 0 for stream, size in found.items()}


def _not_started(host: str, workspace: Workspace, argv: Sequence[str], complaint: str) -> JobError:
    error = unsafe(host, complaint)
    if error is not None:
        return error
    if complaint == "gone":
        why, remedy = f"{workspace.path} is gone", "Start the step again."
    elif complaint == "no setsid":
        why, remedy = "setsid is not installed", "Install util-linux on the host."
    elif complaint == "never":
        why, remedy = "another Benchwright ended it before it began", "“benchwright attach --list” shows its run."
    else:
        why, remedy = explain(complaint)
    return JobError(f"“{argv[0]}” was not started on {host}: {why}.", remedy, host=host)
