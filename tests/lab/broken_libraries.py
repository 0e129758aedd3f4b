"""Runs of the real program whose library breaks in mid-run: what it says, and what is in which file afterwards."""

import os
import signal
import sqlite3
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.processes import processes_with
from tests.program import BENCHWRIGHT, DONE, benchwright, environment

LINES = "for i in $(seq {count}); do echo line $i of the output; sleep 0.1; done"

MOST = 60.0
"""Seconds that anything may take on a busy machine."""


@pytest.fixture
def library(tmp_path: Path) -> Path:
    """Return where the library is, in a folder of its own, that is not made yet."""
    (tmp_path / "lib").mkdir()
    return tmp_path / "lib/runs.sqlite3"


def assert_nothing_runs() -> None:
    """Assert that no process of a job is left of the runs with this test's home."""
    home = os.environ["HOME"]
    assert set(processes_with("BENCHWRIGHT_JOB=")) & set(processes_with(f"HOME={home}\0")) == set()


def plan(folder: Path, *, seconds: int = 4, trials: int = 3) -> Path:
    """Make a plan that prints ten lines a second on this computer."""
    path = folder / f"lines-{seconds}-{trials}.toml"
    words = ("--suite", "command", "--set", f"command={LINES.format(count=10 * seconds)}", "--set", "shell=yes")
    made = benchwright("plan", "new", "--defaults", "-o", path, *words, "--trials", str(trials), "--host", "local")
    assert made.status == DONE, made.err
    return path


class Running:
    """A run under way in another process; `lines` are what it has said, each with the time since its start."""

    def __init__(self, process: "subprocess.Popen[str]", library: Path) -> None:
        self.process, self.library = process, library
        self.lines: list[tuple[float, str]] = []
        self._began = time.monotonic()
        self._reader = threading.Thread(target=self._read)
        self._reader.start()

    def _read(self) -> None:
        assert self.process.stderr is not None
        for line in self.process.stderr:
            self.lines.append((time.monotonic() - self._began, line.rstrip()))

    @property
    def shown_text(self) -> str:
        """All that was said so far."""
        return "\n".join(line for _, line in self.lines)

    def expect(self, words: str, within: float = MOST, times: int = 1) -> None:
        """Wait until `words` are said."""
        self.until(lambda: self.shown_text.count(words) >= times, within)

    def until(self, there: Callable[[], bool], within: float = MOST) -> None:
        """Wait until something is so."""
        deadline = time.monotonic() + within
        while not there():
            assert time.monotonic() < deadline, self.shown_text
            assert self.process.poll() is None or there(), self.shown_text
            time.sleep(0.05)

    def measures(self, trial: int = 1) -> None:
        """Wait until output of a trial is stored."""
        self.expect("command on", times=trial)
        self.until(lambda: bool(self.rows("SELECT 1 FROM output WHERE trial = ?", trial)))

    def rows(self, query: str, *values: object) -> list[Any]:
        """Return what another program reads of the library."""
        with closing(sqlite3.connect(f"file:{self.library}?mode=ro", uri=True)) as connection:
            return connection.execute(query, values).fetchall()

    def press(self, number: signal.Signals = signal.SIGINT) -> float:
        """Send a signal; return when."""
        self.process.send_signal(number)
        return time.monotonic()

    def status(self, within: float = MOST) -> int:
        """Wait until the program has ended."""
        status = self.process.wait(within)
        self._reader.join()
        assert "Traceback" not in self.shown_text, self.shown_text
        return status

    def saved(self) -> Path:
        """Return the only file whose name begins as the library's does and goes on with the run's id."""
        (found,) = self.library.parent.glob(f"{self.library.stem}-*{self.library.suffix}")
        return found


@contextmanager
def running(library: Path, plan: Path, *program: str, **variables: str) -> Iterator[Running]:
    """Run a plan in another process, of the installed `program` or another one; it is killed at the end."""
    command = [*(program or BENCHWRIGHT), "--store", str(library), "run", str(plan)]
    with subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(**variables),
    ) as process:
        found = Running(process, library)
        try:
            yield found
        finally:
            process.kill()
            found._reader.join()


@contextmanager
def locked(library: Path, how: str = "BEGIN IMMEDIATE") -> Iterator[sqlite3.Connection]:
    """Have another program hold the library's lock."""
    with closing(sqlite3.connect(library, timeout=MOST, isolation_level=None)) as connection:
        connection.execute(how)
        yield connection


def assert_readable(library: Path, state: str) -> Any:
    """Assert that another program finds a library sound, and that Benchwright shows its only run; return the run."""
    with closing(sqlite3.connect(library)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
    (listed,) = benchwright("--store", library, "list", "--json").json
    assert listed["state"] == state
    shown = benchwright("--store", library, "show", "last", "--json")
    assert shown.status == DONE, shown.err
    exported = benchwright("--store", library, "export", "last", "--csv", library.with_suffix(".csv"))
    assert exported.status == DONE, exported.err
    return shown.json
