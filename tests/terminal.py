"""The installed command `benchwright` at a terminal of its own: what it asks there can be answered."""

import os
import pty
import select
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.program import BENCHWRIGHT, environment

PATIENCE = 90.0
"""Seconds a word may take to be said on a busy machine."""


class Terminal:
    """A command under way. Everything it says, on either stream, is what its user sees."""

    def __init__(self, process: "subprocess.Popen[bytes]", descriptor: int) -> None:
        self._process = process
        self._descriptor = descriptor
        self.seen = ""

    def expect(self, words: str) -> None:
        """Wait until `words` are said."""
        deadline = time.monotonic() + PATIENCE
        while words not in self.seen:
            assert self._read(deadline), f"{words!r} was not said, but: {self.seen}"

    def type(self, line: str) -> None:
        """Type `line` and Enter."""
        os.write(self._descriptor, f"{line}\n".encode())

    def send(self, number: signal.Signals) -> None:
        """Send a signal to the command."""
        self._process.send_signal(number)

    def status(self) -> int:
        """Read to the end, and return the exit status."""
        deadline = time.monotonic() + PATIENCE
        while self._read(deadline):
            continue
        return self._process.wait(PATIENCE)

    def _read(self, deadline: float) -> bool:
        """Read what comes next; return whether the terminal is still open."""
        ready, _, _ = select.select([self._descriptor], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing more was said after: {self.seen}"
        try:
            data = os.read(self._descriptor, 65536)
        except OSError:  # EIO: the last process that had it open has ended
            return False
        self.seen += data.decode(errors="replace").replace("\r\n", "\n")
        return bool(data)


@contextmanager
def terminal(*words: str) -> Iterator[Terminal]:
    """Run `benchwright` with `words` at a terminal; it is ended after the test, whatever becomes of it."""
    leader, follower = pty.openpty()
    command = [*BENCHWRIGHT, *words]
    process = subprocess.Popen(
        command, stdin=follower, stdout=follower, stderr=follower, env=environment(), start_new_session=True
    )
    os.close(follower)
    try:
        yield Terminal(process, leader)
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGKILL)
            process.wait()
        os.close(leader)
