"""This computer as a host: the Session protocol over subprocess, without a shell."""

import contextlib
import os
import selectors
import signal
import subprocess
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from pathlib import Path

from remote.errors import ConnectionLostError
from remote.jobs.collect import collect
from remote.session import LIMIT, Channel, Chunk, Completed

BLOCK = 64 * 1024
"""Bytes per read: the capacity of a pipe (pipe(7))."""

HANG_UP_GRACE = 0.5
"""Seconds between SIGHUP and SIGKILL when a channel is closed."""

INPUT_PAUSE = 0.02
"""Seconds between attempts to write input to a full pipe."""

KILL_GRACE = 5.0
"""Seconds to wait for a killed process; only one in uninterruptible sleep takes longer."""


class LocalSession:
    """Session on this computer: each command is a session leader (setsid) in the user's home, as under sshd."""

    def __init__(self, host: str = "local") -> None:
        self._host = host
        self._closed = False
        self._channels: weakref.WeakSet[LocalChannel] = weakref.WeakSet()
        self._lock = threading.Lock()

    @property
    def host(self) -> str:
        """The host's name, as the user knows it."""
        return self._host

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        """Run `argv` to its end and return what it printed.

        Raises RemoteTimeoutError or OutputLimitError (the command is ended in both cases), or
        ConnectionLostError if this session was closed.
        """
        channel = self.open(argv, stdin=stdin)
        try:
            return collect(channel, argv, host=self._host, timeout=timeout, limit=limit)
        finally:
            channel.close()

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> Channel:
        """Start `argv` and return its channel; `stdin` is sent, then closed unless `keep_input` (see `send`).

        A program that cannot be started ends immediately with a shell's exit status: 127 if it is not found, 126 if it
        cannot be executed.
        """
        with self._lock:
            if self._closed:
                raise ConnectionLostError(f"The session with {self._host} is closed.", host=self._host)
            home = Path.home()
            try:
                # A memfd as stdin, so that no thread has to write to it.
                with _input(b"" if keep_input else stdin, keep_input=keep_input) as source:
                    process = subprocess.Popen(
                        list(argv),
                        stdin=source,
                        stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE,
                        cwd=home if home.is_dir() else "/",
                        start_new_session=True,
                    )
                channel = LocalChannel(process)
            except FileNotFoundError:
                return EndedChannel(f"{argv[0]}: not found\n".encode(), 127)
            except OSError as error:
                return EndedChannel(f"{argv[0]}: {error.strerror}\n".encode(), 126)
            self._channels.add(channel)
        if keep_input:
            channel.send(stdin, last=False)
        return channel

    def close(self) -> None:
        """End the session and its commands. Jobs are detached and keep running."""
        with self._lock:
            self._closed = True
            channels = list(self._channels)
        for channel in channels:
            channel.close()


@contextlib.contextmanager
def _input(stdin: bytes, *, keep_input: bool) -> Iterator[int]:
    """Return the stdin of a command: a file in memory with the bytes `stdin`, or a pipe with `keep_input`."""
    if keep_input:
        yield subprocess.PIPE
        return
    source = os.memfd_create("stdin") if stdin else os.open(os.devnull, os.O_RDONLY)
    try:
        if stdin:
            _fill(source, stdin)
        yield source
    finally:
        os.close(source)


def _fill(descriptor: int, data: bytes) -> None:
    """Write all of `data` and seek back to its start."""
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(descriptor, rest) :]
    os.lseek(descriptor, 0, os.SEEK_SET)


class LocalChannel:
    """A running command on this computer."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self._process = process
        self._lock = threading.Lock()  # held while reading, so that nothing is closed under a reader
        self._closing = threading.Lock()  # taken by the first `close` and never released
        self._closed = threading.Event()
        self._wake_reader, self._wake_writer = os.pipe()
        self._selector = selectors.DefaultSelector()
        self._selector.register(self._wake_reader, selectors.EVENT_READ)
        self._streams = 0
        for name, pipe in (("stdout", process.stdout), ("stderr", process.stderr)):
            if pipe is not None:
                self._selector.register(pipe.fileno(), selectors.EVENT_READ, name)
                self._streams += 1
        self._input = b""
        self._more_input = process.stdin is not None
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)

    def send(self, data: bytes, *, last: bool) -> None:
        """Send `data` to the command's stdin, which ends with the `last`. Called by the reading thread."""
        with self._lock:
            self._input += data
            self._more_input = not last
            self._pass_on()

    def _pass_on(self) -> None:
        """Write what the pipe takes; close it after the last byte, or if it has no reader."""
        pipe = self._process.stdin
        if pipe is None or pipe.closed or self._closed.is_set():
            return
        try:
            while self._input:
                self._input = self._input[os.write(pipe.fileno(), self._input) :]
        except BlockingIOError:
            return
        except BrokenPipeError:
            self._input, self._more_input = b"", False
        if not self._more_input:
            pipe.close()

    def read(self, timeout: float) -> list[Chunk]:
        """Return what has arrived, waiting up to `timeout` seconds for the first byte; [] if none arrives."""
        deadline = time.monotonic() + timeout
        with self._lock:
            chunks: list[Chunk] = []
            while self._streams and not chunks and not self._closed.is_set():
                self._pass_on()
                remaining = max(0.0, deadline - time.monotonic())
                ready = self._selector.select(min(remaining, INPUT_PAUSE) if self._input else remaining)
                chunks = [chunk for key, _ in ready if (chunk := self._take(key)) is not None]
                if time.monotonic() >= deadline:
                    break
            if not self._streams and not self._closed.is_set():
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(max(0.0, deadline - time.monotonic()))
            return chunks

    def _take(self, key: selectors.SelectorKey) -> Chunk | None:
        """Read once from a stream that is ready; None at its end, or for the wake-up pipe that `close` writes to."""
        if key.data is None:
            return None
        data = os.read(key.fd, BLOCK)
        if data:
            return Chunk(key.data, data)
        self._selector.unregister(key.fd)
        self._streams -= 1
        return None

    @property
    def ended(self) -> bool:
        """Whether both streams were read to their end and the process was reaped, or the channel was closed."""
        return self._closed.is_set() or (not self._streams and self._process.returncode is not None)

    @property
    def exit_status(self) -> int | None:
        """The exit status; None before the end, or if a signal ended the process, as over SSH."""
        status = self._process.returncode
        return status if self.ended and status is not None and status >= 0 else None

    def close(self) -> None:
        """Close the streams and end the command if it still runs: SIGHUP, then SIGKILL. Safe to call twice."""
        if not self._closing.acquire(blocking=False):
            return
        self._closed.set()
        os.write(self._wake_writer, b"x")
        with self._lock:
            self._selector.close()
            for pipe in (self._process.stdin, self._process.stdout, self._process.stderr):
                if pipe is not None:
                    pipe.close()
            for descriptor in (self._wake_reader, self._wake_writer):
                os.close(descriptor)
            self._end()

    def _end(self) -> None:
        """End the process group: SIGHUP, then SIGKILL. A reaped process is not signalled: its PID may be reused."""
        for number, grace in ((signal.SIGHUP, HANG_UP_GRACE), (signal.SIGKILL, KILL_GRACE)):
            if self._process.poll() is not None:
                return
            with contextlib.suppress(ProcessLookupError, subprocess.TimeoutExpired):
                os.killpg(self._process.pid, number)
                self._process.wait(grace)


class EndedChannel:
    """A command that could not be started: a line on stderr and an exit status."""

    def __init__(self, stderr: bytes, exit_status: int) -> None:
        self._stderr = stderr
        self._exit_status = exit_status

    def read(self, timeout: float) -> list[Chunk]:  # noqa: ARG002 (the protocol's; nothing to wait for)
        """Return the line of stderr, once."""
        data, self._stderr = self._stderr, b""
        return [Chunk("stderr", data)] if data else []

    def send(self, data: bytes, *, last: bool) -> None:
        """Do nothing: no process runs."""

    @property
    def ended(self) -> bool:
        """Whether stderr was read."""
        return not self._stderr

    @property
    def exit_status(self) -> int | None:
        """The exit status a shell would give."""
        return self._exit_status if self.ended else None

    def close(self) -> None:
        """Do nothing: no process runs."""
        self._stderr = b""
