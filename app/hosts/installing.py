"""Runs the command that installs a tool on a host, once the user has agreed, and writes down what it printed."""

import contextlib
import shlex
import time
from collections.abc import Generator
from contextlib import closing

from app.hosts.packages import works_without
from app.store import Store
from app.store.host_log import OUTPUT_LIMIT
from remote.errors import RemoteError
from remote.privilege import as_root
from remote.probe import read_facts
from remote.questions import Asker
from remote.session import Session
from suites.base import LineSplitter
from suites.errors import BenchwrightError

INSTALL_TIME = 900.0
"""Seconds a package manager may take before it is let go of."""


class InstallError(RemoteError):
    """A package manager failed."""


class Installing:
    """One command on one host. What it prints and how it ends is in the host's log, whatever happens here."""

    def __init__(self, session: Session, asker: Asker, store: Store, command: str, what: str) -> None:
        self._session = session
        self._asker = asker
        self._store = store
        self._command = command
        self._what = what
        self._printed = bytearray()
        self._exit_status: int | None = None

    def lines(self) -> Generator[str]:
        """Run the command; yield its output line by line. A leading `sudo` is done as as_root() does it.

        Raises PrivilegeError, and InstallError where the command fails, saying what works on the host without it.
        """
        words = shlex.split(self._command)
        number = self._store.begin_action(self._session.host, self._what, self._command)
        reason = "closed before it ended"
        try:
            session = self._session
            if words[:1] == ["sudo"]:
                session = as_root(session, self._asker, f"install a tool: {self._command}")
                words = words[1:]
            yield from self._run(session, words)
            reason = ""
        except BenchwrightError as error:
            reason = error.message
            raise
        finally:
            self._store.end_action(number, self._exit_status, bytes(self._printed), reason)
        if self._exit_status != 0:
            raise self._failed()

    def _run(self, session: Session, words: list[str]) -> Generator[str]:
        lines = LineSplitter()
        deadline = time.monotonic() + INSTALL_TIME
        with closing(session.open(words)) as channel:
            while not channel.ended:
                if time.monotonic() > deadline:
                    raise InstallError(
                        f"“{self._command}” on {session.host} took longer than {INSTALL_TIME:g} s and was given up.",
                        host=session.host,
                    )
                for chunk in channel.read(0.2):
                    self._printed += chunk.data[: OUTPUT_LIMIT - len(self._printed)]
                    yield from lines.feed(chunk.data, chunk.stream)
            yield from lines.rest()
            self._exit_status = channel.exit_status

    def _failed(self) -> InstallError:
        how = "was ended" if self._exit_status is None else f"ended with exit status {self._exit_status}"
        without = ""
        with contextlib.suppress(BenchwrightError):  # the failure itself is what matters
            without = works_without(read_facts(self._session))
        remedy = f"Its output says why; without access to packages nothing can be installed there. {without}"
        return InstallError(
            f"“{self._command}” on {self._session.host} {how}.", remedy.strip(), host=self._session.host
        )
