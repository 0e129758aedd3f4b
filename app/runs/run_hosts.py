"""The hosts of a run: a session on each that outlives its connection, its lease, and its telemetry."""

import contextlib
import logging
import math
import statistics
import threading
import time
from collections.abc import Callable, Generator, Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial

from app.events import Activity, Event, FindingRaised, LinkChanged
from app.plans.plan import host_words
from app.runs.control import LETTING_GO_TIME, WAITING, Busy, Control, EndingTimeError
from app.runs.findings import connection_lost, holder_text, holders_text, host_in_use, no_lease
from app.runs.mailbox import IDLE, TICK, Mailbox
from remote.errors import ConnectError, Outcome
from remote.jobs.job import Job, Workspace
from remote.jobs.lease import FRESH, Claim, claim, leave, living_keeper, release, withdraw
from remote.link import PATIENCE, Link, LinkState, Patience
from remote.privilege import PrivilegeError
from remote.script import new_mark
from remote.session import Session
from remote.steady_session import SteadySession
from remote.telemetry.telemetry import Telemetry
from suites.errors import BenchwrightError

log = logging.getLogger(__name__)

ASK_AGAIN = 5.0
"""Seconds between two looks at whether a host in use is free."""

AWAY_AFTER = 15.0
"""Seconds without a connection after which the other hosts no longer wait for a trial's end: most are back by then."""


@dataclass(slots=True)
class _Lease:
    """How a host was claimed: `nonce` names the lease, `path` is None while there is none.

    `connection` is that over which it was last seen to hold, `told` that its findings were raised.
    """

    nonce: str = field(default_factory=new_mark)
    path: str | None = None
    connection: int = 0
    told: bool = False


@dataclass(slots=True)
class RunHosts:
    """Opens, claims and watches the hosts of the run `run_id`; `connect` opens a session, `interval` is telemetry's."""

    run_id: str
    connect: Callable[[str], Session]
    mailbox: Mailbox
    control: Control
    interval: float = 1.0
    patience: Patience = PATIENCE
    sessions: dict[str, SteadySession] = field(default_factory=dict)
    roots: dict[str, Session] = field(default_factory=dict)  # sessions of root, where the plan needs them
    _leases: dict[str, _Lease] = field(default_factory=dict)
    _telemetry: dict[str, Telemetry] = field(default_factory=dict)
    _costs: dict[str, list[float]] = field(default_factory=dict)  # of watching that was stopped meanwhile, by host
    _loops: dict[str, tuple[str, ...]] = field(default_factory=dict)
    _lost: dict[str, tuple[float, str]] = field(default_factory=dict)  # since when, and why
    _occupied: dict[str, str] = field(default_factory=dict)  # where a command of the run may still run
    _held: dict[str, str] = field(default_factory=dict)  # in words, where a lease could not be removed
    _gone: dict[str, float] = field(default_factory=dict)  # since when there is no connection (monotonic seconds)
    _closing: bool = False
    _registering: threading.Lock = field(default_factory=threading.Lock)
    waited_since: float = (
        0.0  # when the run began to wait for lost hosts (monotonic seconds), infinite while it does not
    )

    def open(self, host: str) -> Iterator[Event]:
        """Connect to `host`; raise ConnectError where that fails."""
        try:
            yield from self.mailbox.during(partial(self._open, host), lasting=False)
        except EndingTimeError as error:
            raise ConnectError(Outcome.TIMED_OUT, f"{host} is not connected: {error.message}", host=host) from error

    def _open(self, host: str) -> None:
        session = SteadySession(
            lambda: self.connect(host),
            told=lambda link: self._tell(host, link),
            over=lambda: self._closing or self.control.over,
            patience=self.patience,
            waited_since=lambda: self.waited_since,
        )
        with self._registering:
            if not self._closing:
                self.sessions[host] = session
                return
        session.close()  # the run ended meanwhile

    def is_lost(self, host: str) -> bool:
        """Return whether the connection to `host` is lost, and sought again."""
        return host in self._gone

    def is_away(self, host: str) -> bool:
        """Return whether that is so for longer than the other hosts wait for it."""
        return time.monotonic() - self._gone.get(host, math.inf) > AWAY_AFTER

    def _tell(self, host: str, link: Link) -> None:
        """Pass a change of the link on; called on any thread."""
        if link.state in {LinkState.LOST, LinkState.RECONNECTING}:
            self._gone.setdefault(host, time.monotonic())
        else:
            self._gone.pop(host, None)
        if self._closing:
            return
        self.mailbox.put(LinkChanged(host, link.state, link.since, link.attempt, link.detail, link.restarted))
        if link.state is LinkState.LOST:
            self._lost.setdefault(host, (link.since, link.detail))
        elif link.state is LinkState.BACK and host in self._lost:
            since, detail = self._lost.pop(host)
            self.mailbox.put(FindingRaised(connection_lost(host, time.monotonic() - since, detail)))

    def session(self, host: str, *, root: bool) -> Session:
        """Return the session on `host`, or that of `root`; raise PrivilegeError where there is none."""
        if not root:
            return self.sessions[host]
        if host not in self.roots:
            raise PrivilegeError(
                f"This has to run as root on {host}, and no root session was opened there.",
                "Sign in as root, or let the account use sudo.",
                host=host,
            )
        return self.roots[host]

    def lease(self, host: str) -> str:
        """Return the path of the lease on `host`, empty where there is none."""
        return self._leases[host].path or "" if host in self._leases else ""

    def watch(self, host: str) -> Iterator[Event]:
        """Begin to watch `host`. A run without telemetry is still a run: nothing is drawn then."""
        with contextlib.suppress(BenchwrightError):
            loops = self._loops.get(host, ())
            start = partial(Telemetry.start, self.sessions[host], self.interval, self.lease(host), loops)
            started = yield from self.mailbox.during(start)
            self._telemetry[host] = started
            self.mailbox.watch(host, started, lambda: self._closing or self._telemetry.get(host) is not started)

    def watch_loops(self, host: str, loops: tuple[str, ...]) -> Iterator[Event]:
        """Watch these loop devices of `host`, too: once its facts tell which lie below what is measured."""
        if loops != self._loops.get(host, ()):
            self._loops[host] = loops
            if host in self._telemetry:
                yield from self.watch_or_not(host, watched=False)
                yield from self.watch_or_not(host, watched=True)

    def watches(self, host: str) -> bool:
        """Return whether `host` is watched, as far as is known."""
        return host in self._telemetry and not self._closing

    def watch_or_not(self, host: str, *, watched: bool) -> Iterator[Event]:
        """Stop watching `host` for a while, or begin again where that was stopped."""
        if watched and host in self._costs and host not in self._telemetry:
            yield from self.watch(host)
        elif not watched and host in self._telemetry:
            stopped = self._telemetry.pop(host)
            self._costs.setdefault(host, []).extend([] if stopped.cost is None else [stopped.cost])
            with contextlib.suppress(BenchwrightError):  # its host is gone, and the run says so already
                stopped.stop()

    # The lease

    def claim(self, host: str) -> Generator[Event, None, str]:
        """Claim `host`; return why it cannot be measured on, empty where it can.

        Somebody else's lease is told, waited for, or told and ignored, as the user wants it. Where it was claimed
        before, only a new connection is a reason to look again.
        """
        session = self.sessions[host]
        lease = self._leases.setdefault(host, _Lease())
        said = ""
        while lease.connection != session.connections and not self.control.over:
            anyway = self.control.busy is Busy.ANYWAY
            connection = session.connections
            claimed = yield from self.mailbox.during(
                partial(claim, session, self.run_id, nonce=lease.nonce, anyway=anyway)
            )
            if claimed.lease is not None or anyway or not claimed.blocked:
                lease.path, lease.connection = claimed.lease.path if claimed.lease else None, connection
                yield from self._told(host, lease, claimed)
                return ""
            in_use = holders_text(claimed, host)
            if self.control.busy is Busy.REFUSE:
                return in_use
            if in_use != said:
                said = in_use
                yield Activity(f"{WAITING}{in_use}", host)
            yield from self.pause(ASK_AGAIN)
        return ""

    def kept_elsewhere(self, host: str) -> Generator[Event, None, str]:
        """Return who keeps a lease of this run on `host`, in words: a Benchwright that lives and watches it; or "".

        It is waited for, or ignored, as the user wants it.
        """
        said = ""
        own = {lease.nonce for lease in self._leases.values()}  # two names may be of one machine
        look = partial(living_keeper, self.sessions[host], self.run_id, own)
        while self.control.busy is not Busy.ANYWAY:
            keeper = yield from self.mailbox.during(look)
            if keeper is None:
                return ""
            if self.control.busy is Busy.REFUSE or self.control.over:
                return holder_text(keeper, host)
            if not said:
                said = holder_text(keeper, host)
                yield Activity(f"{WAITING}{said}", host)
            yield from self.pause(ASK_AGAIN)
        return ""

    def pause(self, seconds: float) -> Iterator[Event]:
        """Wait `seconds`, less if the run is over; the tasks of other hosts go on."""
        until = time.monotonic() + seconds
        while time.monotonic() < until and not self.control.over:
            yield IDLE

    def _told(self, host: str, lease: _Lease, claimed: Claim) -> Iterator[Event]:
        if lease.path is None and not lease.told:
            lease.told = True
            yield FindingRaised(no_lease(host))
        if claimed.blocked:
            yield FindingRaised(host_in_use(host, claimed))

    def unfit(self, host: str) -> Generator[Event, None, str]:
        """Return why no further trial can run on `host`, empty where one can."""
        session = self.sessions[host]
        if session.restarted:
            return f"{host} restarted {session.restarted}: its remaining trials were not run."
        if host in self._occupied:
            return f"{self._occupied[host]}: the remaining trials on {host} were not run."
        in_use = yield from self.claim(host)
        return f"{in_use}: the remaining trials on {host} were not run." if in_use else ""

    def note_left(self, host: str, workspace: Workspace) -> Generator[Event, None, None]:
        """Find out whether something still runs in a directory that could not be removed: then `host` is not fit."""
        session = self.roots.get(host, self.sessions[host])
        try:
            running = yield from self.mailbox.during(partial(Job.under_way, session, workspace))
        except BenchwrightError as error:
            self._occupied[host] = f"A command of this run may still run on {host} ({error.message})"
        else:
            if running:
                self._occupied[host] = f"A command of this run still runs on {host} and could not be ended"

    # The end

    def withdraw(self, host: str) -> Iterator[Event]:
        """Let go of `host`, on which nothing of the run is left: nobody watches it, holds it or is connected to it."""
        with contextlib.suppress(EndingTimeError):
            yield from self.mailbox.during(partial(self._let_go, host, withdraw))
        root = self.roots.pop(host, None)
        if root is not None:
            root.close()  # it forgets its password
        self.sessions.pop(host, None)

    def _let_go(self, host: str, end: Callable[[Session, str], None]) -> None:
        """Stop watching `host`, `end` its lease and close its session; where that is not removed, it is in `_held`."""
        telemetry, lease = self._telemetry.pop(host, None), self._leases.pop(host, None)
        session = self.sessions.get(host)
        with contextlib.suppress(BenchwrightError):
            if telemetry is not None:
                self._costs.setdefault(host, []).extend([] if telemetry.cost is None else [telemetry.cost])
                telemetry.stop()
        if lease is not None and lease.path is not None:
            self._held[host] = _held_text(host)
        try:
            if session is not None and lease is not None:
                end(session, lease.nonce)
            self._held.pop(host, None)
        except BenchwrightError as error:
            log.info("the lease on %s was not removed: %s", host, error)
        if session is not None:
            session.close()

    def give_up(self) -> None:
        """From now on, wait for no host that is lost for longer than a last chance takes."""
        with self._registering:
            self._closing = True

    def close(self, *, keep: bool, refused: bool = False) -> tuple[Mapping[str, float], list[str]]:
        """Let go of every host; return the share of one core that watching took on each, where it is known, and in
        words which leases could not be removed.

        `keep` leaves the leases: what was left running there keeps them. One that was `refused` takes its own away
        alone: others may be of the run that goes on.
        """
        self.give_up()
        end = withdraw if refused else leave if keep else self._release
        # One that hangs keeps no other, nor the end of the program.
        letting_go = [
            threading.Thread(target=self._let_go, args=(host, end), name=f"let go {host}", daemon=True)
            for host in list(self.sessions)
        ]
        for thread in letting_go:
            thread.start()
        while any(thread.is_alive() for thread in letting_go) and self.control.remaining(LETTING_GO_TIME):
            next((thread for thread in letting_go if thread.is_alive()), letting_go[0]).join(TICK)
        self.mailbox.join(min(5.0, self.control.remaining(LETTING_GO_TIME)))
        costs = {host: statistics.fmean(costs) for host, costs in self._costs.items() if costs}
        return costs, [] if keep else list(dict(self._held).values())

    def _release(self, session: Session, _nonce: str) -> None:
        release(session, self.run_id)


def _held_text(host: str) -> str:
    return (
        f"The lease on {host_words(host)} was not removed: other runs are refused there until {FRESH:.0f} s after the "
        "host ends the connection and the commands of this run. "
        f"Remove it with: benchwright hosts leftovers {host} --remove"
    )
