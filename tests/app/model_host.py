"""A host as a model, and a Benchwright that is killed at any of its requests and commits: what may happen is counted.

A kill takes effect before or after the request or commit at which it comes: what follows of that Benchwright reaches
neither the host nor the library. A start that was on its way when it was killed may reach the host later.
"""

import re
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, cast

import pytest

import app.runs.host_setup
import app.runs.run
import app.store.store
from app.events import Event
from app.plans.plan import Plan, Repetition, Step
from app.questions import RefusingAsker
from app.runs.control import Control
from app.services import Workstation
from app.store.recorder import Recorder
from remote.connection_state import ReconnectPolicy
from remote.errors import ConnectError, ConnectionLostError, ConnectOutcome
from remote.script import script
from remote.session import LIMIT, Chunk, Completed
from suites import registry
from suites.base import Command, Context, Purpose
from suites.facts import Facts
from suites.parameters import Values
from tests.app import run_events
from tests.lab.counting import Counting

LINES = 3
"""Lines that each of the two measuring commands of a trial prints."""

SENT = 6
"""Words of a request before the mode of its script: see remote.script."""

BOOT = "024ac842-200f-484d-8c31-8482df5e9400"


class Killed(BaseException):
    """This Benchwright was killed."""


@dataclass
class Power:
    """What keeps one Benchwright alive: it fails at the event `at`, before or after that takes effect.

    That is a number, or a word: the first request or commit of that name.
    """

    at: int | str | None = None
    after: bool = False
    count: int = 0
    off: bool = False
    log: list[tuple[str, ...]] = field(default_factory=list)  # the words of every event

    def around(self, work: Callable[[], Any], *words: str) -> Any:
        """Do `work`, called `words`, unless the power fails; return what it returned, None where nobody heard of it."""
        if self.off:
            return None
        self.count += 1
        self.log.append(words)
        last = self.at == self.count or self.at in words
        if last and not self.after:
            self.off = True
            return None
        done = work()
        self.off = last
        return done


@dataclass
class ModelJob:
    """A job on the host: it prints a line whenever somebody looks, and has ended with the last."""

    nonce: str
    lines: Sequence[bytes]
    printed: int = 0
    ended: bool = False
    stopped: bool = False

    @property
    def alive(self) -> bool:
        return not self.ended

    @property
    def out(self) -> bytes:
        return b"".join(self.lines[: self.printed])

    def go_on(self) -> None:
        if self.printed < len(self.lines):
            self.printed += 1
        else:
            self.ended = True


@dataclass
class ModelHost:
    """What is on the host: directories, jobs, and the names that must not begin any more."""

    workspaces: dict[str, str] = field(default_factory=dict)  # nonce by path
    jobs: dict[str, ModelJob] = field(default_factory=dict)  # by their directory's name
    never: set[str] = field(default_factory=set)
    delayed: list[Callable[[], object]] = field(default_factory=list)
    late: bool = False  # whether a start that was on its way arrives later
    most: int = 0  # measuring jobs that were alive at once
    stubborn: bool = False  # whether jobs cannot be ended
    down: bool = False  # whether it is not reached any more
    lock: threading.RLock = field(default_factory=threading.RLock)

    def measuring(self) -> list[str]:
        return [name for name, job in self.jobs.items() if job.alive and name.startswith("measure")]

    def arrive(self) -> None:
        """Let what was on its way arrive."""
        with self.lock:
            arriving, self.delayed = self.delayed, []
            for work in arriving:
                work()

    def pass_time(self, lines: int) -> None:
        """Let every job print some lines while nobody looks."""
        with self.lock:
            for job in self.jobs.values():
                for _ in range(lines):
                    job.go_on()

    def answer(self, argv: Sequence[str], stdin: bytes) -> dict[str, str]:
        with self.lock:
            if stdin.endswith(script("job.sh")):
                mode, _mark, path, nonce, _identity, *rest = argv[SENT:]
                return getattr(self, f"do_{mode}")(path, nonce, *rest)
            if stdin.endswith(script("lease.sh")):
                return {"taken": "/dev/shm/benchwright-lease", "now": "100"}
            return {}

    def do_make(self, path: str, nonce: str) -> dict[str, str]:
        made = f"{path}/benchwright-{nonce}"
        self.workspaces[made] = nonce
        return {"path": made}

    def do_remove(self, path: str, nonce: str) -> dict[str, str]:
        if left := self._end([job for job in self.jobs.values() if job.nonce == nonce]):
            return left
        self.workspaces.pop(path, None)
        return {"removed": ""}

    def do_start(self, path: str, nonce: str, name: str, _lease: str, *argv: str) -> dict[str, str]:
        if path not in self.workspaces:
            return {"error": "foreign"}
        if name in self.never:
            return {"error": "never"}
        if name not in self.jobs:
            self.jobs[name] = ModelJob(nonce, _lines(argv))
            self.most = max(self.most, len(self.measuring()))
        return {"begun": self._begun(name)}

    def _begun(self, name: str) -> str:
        pid = 100 + list(self.jobs).index(name)
        return f"{pid} {pid} 5000 {BOOT} 1000.0 1795190203.6 ."

    def do_status(self, _path: str, _nonce: str, name: str) -> dict[str, str]:
        shown = {"boot": BOOT, "up": "1000.0"}
        job = self.jobs.get(name)
        if job is None:
            return shown | ({"out": "", "err": ""} if name in self.never else {"gone": ""})
        shown |= {"begun": self._begun(name), "out": str(len(job.out)), "err": "0"}
        if job.alive:
            return shown | {"alive": ""}
        return shown | {"rc": f"{143 if job.stopped else 0} 1001.0 ."}

    def do_stop(self, path: str, _nonce: str, name: str, _grace: str) -> dict[str, str]:
        if name not in self.jobs:
            if path in self.workspaces:
                self.never.add(name)
            return {"stopped": ""}
        return self._end([self.jobs[name]]) or {"stopped": ""}

    def _end(self, jobs: Sequence[ModelJob]) -> dict[str, str]:
        for job in jobs:
            if job.alive and self.stubborn:
                return {"error": "left 4711"}
            job.stopped, job.ended = job.stopped or job.alive, True
        return {}

    def do_jobs(self, _path: str, nonce: str) -> dict[str, str]:
        return {"jobs": " ".join(name for name, job in self.jobs.items() if job.alive and job.nonce == nonce)}


def _lines(argv: Sequence[str]) -> list[bytes]:
    if argv[0] != "count":
        return []
    first, last = int(argv[1]), int(argv[2])
    lines = [b"n %d\n" % number for number in range(first, last + 1)]
    return [*lines, b"done\n"] if last == 2 * LINES else lines


class ModelChannel:
    """The output of a job, followed."""

    def __init__(self, session: "ModelSession", argv: Sequence[str]) -> None:
        _mode, mark, _path, _nonce, _identity, self._name, out, _err = argv[SENT:]
        self._session = session
        self._sent = int(out)
        self._head: list[Chunk] = [Chunk(stream, f"@@{mark} follow\n".encode()) for stream in ("stdout", "stderr")]
        self.ended = False
        self.exit_status = None

    def read(self, timeout: float) -> list[Chunk]:
        del timeout
        head, self._head = self._head, []
        if head:
            return head
        return list(self._session.reached(self._read, f"read {self._name[:7]}"))

    def _read(self) -> list[Chunk]:
        with self._session.model.lock:
            job = self._session.model.jobs[self._name]
            job.go_on()
            data, self._sent = job.out[self._sent :], len(job.out)
            self.ended = not job.alive
            return [Chunk("stdout", data)] if data else []

    def send(self, data: bytes, *, last: bool) -> None: ...

    def close(self) -> None: ...


class ModelSession:
    """A connection to the host that lasts as long as its Benchwright."""

    host = "web-1"

    def __init__(self, model: ModelHost, power: Power) -> None:
        self.model = model
        self._power = power

    def reached(self, work: Callable[[], Any], *words: str) -> Any:
        done = self._power.around(work, *words)
        if self._power.off:
            raise ConnectionLostError("The connection to web-1 broke.", host="web-1")
        return done

    def run(self, argv: Sequence[str], *, stdin: bytes = b"", timeout: float = 30.0, limit: int = LIMIT) -> Completed:
        del timeout, limit
        if argv[0] == "cat":
            return Completed(f"{BOOT}\n1000.0 500.0\n".encode(), b"", 0)
        off = self._power.off
        try:
            shown: Mapping[str, str] = self.reached(lambda: self.model.answer(argv, stdin), *_words(argv))
        except ConnectionLostError:
            if not off and not self._power.after and self.model.late and argv[SENT : SENT + 1] == ["start"]:
                self.model.delayed.append(lambda: self.model.answer(argv, stdin))
            raise
        mark = argv[3] if len(argv) > SENT else ""
        return Completed("".join(f"@@{mark} {word} {value}\n" for word, value in shown.items()).encode(), b"", 0)

    def open(self, argv: Sequence[str], *, stdin: bytes = b"", keep_input: bool = False) -> ModelChannel:
        del keep_input
        if not stdin.endswith(script("job.sh")):
            raise ConnectError(ConnectOutcome.CONFIG, "The model has no telemetry.", host="web-1")
        if self._power.off:
            raise ConnectionLostError("The connection to web-1 broke.", host="web-1")
        return ModelChannel(self, argv)

    def close(self) -> None: ...


class TwoCommands(Counting):
    """Counts with two commands, one after the other; the second goes on where the first ended."""

    def commands(self, values: Values, context: Context) -> tuple[Command, ...]:
        del values, context
        first, second = ("count", "1", str(LINES)), ("count", str(LINES + 1), str(2 * LINES))
        return Command(("prepare",), Purpose.PREPARE), Command(first), Command(second)


VALUES = {"count": 2 * LINES, "prepare": 0, "deaf": False}
PLAN = Plan(
    "model",
    ("web-1",),
    (Step("one", "counting", VALUES), Step("two", "counting", VALUES)),
    repetition=Repetition(trials=2),
)
OUTPUT = b"".join(b"n %d\n" % number for number in range(1, 2 * LINES + 1)) + b"done\n"


class Lab:
    """The host, the library, and one Benchwright after another."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch) -> None:
        self.host = ModelHost()
        self.power = Power()
        self._events: Generator[Event] | None = None
        self._store = folder / "runs.sqlite3"
        self._hosts = folder / "hosts.toml"
        lab = self

        class MortalRecorder(Recorder):
            """Commits as long as its Benchwright lives."""

            def __init__(self, *arguments: Any) -> None:
                self._power = lab.power
                super().__init__(*arguments)

            def _commit(self, patience: float | None = None) -> None:
                words = [type(event).__name__ for event in self._waiting]
                self._power.around(partial(super()._commit, patience), *words)
                if self._power.off:
                    raise Killed

        patch.setattr(registry, "SUITES", (*registry.SUITES, TwoCommands()))
        patch.setattr(app.store.store, "Recorder", MortalRecorder)
        for module in (app.runs.host_setup, app.runs.run):
            patch.setattr(module, "read_facts", _facts)
        events = app.runs.run.Engine.events

        def noted(engine: app.runs.run.Engine) -> Iterator[Event]:
            self._events = cast("Generator[Event]", events(engine))
            return self._events

        patch.setattr(app.runs.run.Engine, "events", noted)
        patch.setattr(app.runs.run, "TICK", 0.005)  # of hundreds of runs, none needs to wait for anybody's sake

    def _connect(self, power: Power) -> Callable[..., ModelSession]:
        def connect(*_words: object) -> ModelSession:
            if power.off or self.host.down:
                raise ConnectError(ConnectOutcome.CONFIG, "web-1 refused the connection.", host="web-1")
            return ModelSession(self.host, power)

        return connect

    def workstation(self, at: int | str | None = None, *, after: bool = False) -> Workstation:
        """Start a Benchwright that is killed at its event number `at`; raise Killed where that is soon."""
        self.power = Power(at, after)
        made = Workstation(self._store, self._hosts, patience=ReconnectPolicy(0.0, 0.0, 0.0, 0.0))
        made._hosts.connect = self._connect(self.power)  # type: ignore[method-assign]
        return made

    def run(self, at: int | str | None = None, *, after: bool = False) -> bool:
        """Run the plan; return whether it came to its end."""
        return self._lives(lambda made: made.run(PLAN, RefusingAsker(), Control()), at, after=after)

    def attach(self, at: int | str | None = None, *, after: bool = False) -> bool:
        """Go on with the run, if it is detached; return whether there is none any more."""

        def go_on(made: Workstation) -> Iterator[Event]:
            for left in made.detached_runs():
                yield from made.attach(left.id, RefusingAsker(), Control())

        return self._lives(go_on, at, after=after)

    def _lives(self, work: Callable[[Workstation], Iterator[Event]], at: int | str | None, *, after: bool) -> bool:
        try:
            with closing(self.workstation(at, after=after)) as made:
                for _ in work(made):
                    self.host.most = max(self.host.most, len(self.host.measuring()))
        except Killed:
            return False
        except ConnectionLostError:  # a Benchwright that dies before it has written anything refuses to attach
            if not self.power.off:
                raise
        finally:
            if self._events is not None:  # of a killed run: collected later, they would no longer find its suite
                self._events.close()
        return not self.power.off


def _words(argv: Sequence[str]) -> list[str]:
    """Return what a request is called: its mode, and with the kind of job that it is about."""
    words = argv[SENT:]
    mode = words[0] if words else argv[0]
    return [mode, *([f"{mode} {words[5][:7]}"] if len(words) > 5 else [])]


def _facts(session: Any, _directories: Sequence[str] = (), *, watch: bool = False) -> Facts:
    session.run(["true"])
    return run_events.facts("web-1")


def assert_whole(lab: Lab) -> None:
    """Assert that the run has each trial once, byte by byte, and an end that is true; and that the host is clean."""
    assert lab.host.most <= 1
    with closing(lab.workstation()) as made:
        runs = made.runs()
        if not runs:  # killed before the run was in the library
            assert lab.host.jobs == {}
            return
        (line,) = runs
        record = made.load(line.id)
        if not record.trials and line.state.value == "partial":  # killed before anything was measured
            assert record.reason == "Benchwright ended while it ran"
        else:
            assert line.state.value == "done", record.reason
            assert not line.detached
            assert [(one.trial.step, one.trial.number) for one in record.trials] == [
                ("one", 1), ("one", 2), ("two", 1), ("two", 2),
            ]  # fmt: skip
            for trial in record.trials:
                assert (trial.state.value, [figure.value for figure in trial.figures]) == ("done", [2.0 * LINES])
                assert made.output(line.id, trial.trial.id) == {"stdout": OUTPUT}
                values = [sample.value for sample in made.samples(line.id)[trial.trial.id]]
                assert values == [float(number) for number in range(1, 2 * LINES + 1)]
            started = [name for name in lab.host.jobs if name.startswith("measure")]
            assert len(started) == 2 * len(record.trials)
            assert record.summary.trust
            absent = re.search(r"Not read: facts of", record.reason)
            assert bool(record.facts_after) is not bool(absent), record.reason
    assert not any(job.alive for job in lab.host.jobs.values())
    assert lab.host.workspaces == {}
