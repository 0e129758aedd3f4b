"""Who measures a host now: a lease on the host itself, seen by everybody who measures there."""

import getpass
import re
import socket
import time
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass

from remote.script import ask, new_mark
from remote.session import Session

SCRIPT = "lease.sh"

FRESH = 15.0
"""Seconds after its last sign of life for which a lease counts; telemetry gives one a second."""

ESTABLISHED = 5.0
"""Seconds after which a lease is no claim any more that might still be given up."""

PATIENCE = 2 * ESTABLISHED

WATCH = 3.5
"""Seconds in which a Benchwright that watches a host touches its lease: its telemetry does so every second."""

PAUSE = 0.3
"""For how many seconds, and how many seconds apart, two who claim a host at the same moment look again."""


@dataclass(frozen=True, slots=True)
class Lease:
    """A lease of ours. `path` is its directory on the host."""

    path: str
    nonce: str


@dataclass(frozen=True, slots=True)
class Holder:
    """Who measures a host. `account` is the host's word; `run` and `workstation` are what the other one wrote.

    `held` and `silent` are the seconds since it began and since its last sign of life; `working` tells that its
    command runs, so that the lease counts however long nothing was heard; `settled` that it does not give way to a
    claim of the same moment. What is not told is empty or None.
    """

    nonce: str
    account: str
    run: str
    workstation: str
    held: float | None
    silent: float
    working: bool
    settled: bool = False
    touched: float = 0.0  # when that was, by the host's wall clock

    @property
    def counts(self) -> bool:
        """Whether it still measures, as far as can be told."""
        return self.working or abs(self.silent) <= FRESH


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of a claim: a lease, or those who hold the host. Both where it was claimed all the same.

    Neither means that no lease can be made there. `unread` tells that not all leases could be read in time: whoever is
    not among the holders may still measure there.
    """

    lease: Lease | None
    holders: tuple[Holder, ...]
    unread: bool = False

    @property
    def blocked(self) -> bool:
        """Whether somebody measures there, or may."""
        return bool(self.holders) or self.unread


def claim(session: Session, run: str, *, nonce: str = "", anyway: bool = False) -> Claim:
    """Claim the session's host for `run`. Of two who claim it at once, one gets it.

    `nonce` is that of an earlier claim, to make sure of it again. `anyway` keeps the claim beside those who hold
    the host. Leases of the same run are not in each other's way.
    """
    nonce = nonce or new_mark()
    said = ask(session, SCRIPT, "claim", nonce, run, workstation_name())
    holders = _holders(said, run)
    path = said.get("taken")
    lease = None if path is None else Lease(path, nonce)
    unread = "cut" in said or (lease is not None and "now" not in said)
    if lease is None or anyway:
        return Claim(lease, holders, unread)
    deadline = time.monotonic() + PATIENCE
    while holders and time.monotonic() < deadline:
        if any(holder.nonce < nonce or holder.settled or (holder.held or 0.0) > ESTABLISHED for holder in holders):
            break
        # Whoever has the greater nonce gives way when they see this claim.
        time.sleep(PAUSE)
        said = ask(session, SCRIPT, "look", nonce)
        holders, unread = _holders(said, run), "cut" in said or "now" not in said
    if not holders and not unread:
        ask(session, SCRIPT, "settle", nonce)
        return Claim(lease, ())
    withdraw(session, nonce)
    return Claim(None, holders, unread)


def living_keeper(session: Session, run: str, own: Collection[str]) -> Holder | None:
    """Return whose Benchwright keeps a lease of `run` alive besides our `own` nonces; None where none does.

    A lease that only its job keeps is not touched; one that is touched while we look has somebody who watches the host.
    Leases of other accounts prove nothing.
    """
    first = _kept(session, run, own)
    if not any(holder.counts for holder in first.values()):
        return None
    deadline = time.monotonic() + WATCH
    while time.monotonic() < deadline:
        time.sleep(PAUSE)
        for holder in _kept(session, run, own).values():
            if holder.nonce in first and holder.touched > first[holder.nonce].touched:
                return holder
    return None


def _kept(session: Session, run: str, own: Collection[str]) -> dict[str, Holder]:
    said = ask(session, SCRIPT, "kept", new_mark(), run)
    return {holder.nonce: holder for holder in _told(said) if holder.nonce not in own}


def own_leases(session: Session) -> tuple[tuple[str, Holder], ...]:
    """Return every lease that this account has on the session's host, whether or not it counts, with its path."""
    said = ask(session, SCRIPT, "own", new_mark())
    paths = {path.rpartition("-")[2]: path for word, path in said.items() if re.fullmatch(r"path\d{1,3}", word)}
    return tuple((paths[holder.nonce], holder) for holder in _told(said) if holder.nonce in paths)


def leave(session: Session, nonce: str) -> None:
    """Note that nobody watches the host under this lease any more; a job may go on keeping it."""
    ask(session, SCRIPT, "leave", nonce)


def withdraw(session: Session, nonce: str) -> None:
    """Take this lease away, and no other."""
    ask(session, SCRIPT, "withdraw", nonce)


def release(session: Session, run: str) -> None:
    """Give up every lease that `run` has on the session's host."""
    ask(session, SCRIPT, "release", new_mark(), run)


def sweep(session: Session) -> None:
    """Take away what is left of leases of this account whose run was broken off."""
    ask(session, SCRIPT, "sweep", new_mark())


def workstation_name() -> str:
    """Return how this computer and its user are called in a lease."""
    return re.sub(r"[^A-Za-z0-9._@-]", "-", f"{getpass.getuser()}@{socket.gethostname()}")[:64]


_LINE = re.compile(r"([0-9a-f]{16}) ([^ ]{1,64}) (\d{1,12}) ([01]) (.{0,2000})")
_NAME = re.compile(r"(run|from|since|settled)=([A-Za-z0-9._@-]{1,64})")


def _holders(said: Mapping[str, str], run: str) -> tuple[Holder, ...]:
    """Return whose leases count, but for those of `run`."""
    return tuple(holder for holder in _told(said) if holder.counts and holder.run != run)


def _told(said: Mapping[str, str]) -> list[Holder]:
    """Return every lease that was told of. What other users wrote may be anything."""
    now = said.get("now", "")
    if not re.fullmatch(r"\d{1,12}", now):
        return []
    lines = [value for word, value in said.items() if re.fullmatch(r"lease\d{1,3}", word)]
    return [holder for line in lines for holder in _holder(line, int(now))]


def _holder(line: str, now: int) -> Iterator[Holder]:
    match = _LINE.fullmatch(line)
    if match is None:
        return
    nonce, account, touched, working, names = match.groups()
    told = dict(reversed([pair for name in names.split(" ") for pair in _NAME.findall(name)]))
    since = told.get("since", "")
    yield Holder(
        nonce=nonce,
        account=account,
        run=told.get("run", ""),
        workstation=told.get("from", ""),
        held=float(now - int(since)) if since.isdecimal() and len(since) <= 12 else None,
        silent=float(now - int(touched)),
        working=working == "1",
        settled="settled" in told,
        touched=float(touched),
    )
