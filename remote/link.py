"""How the way to a host stands, from the first silence to the new connection."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class LinkState(StrEnum):
    """How a connection stands.

    LOST and RECONNECTING: what runs on the host goes on without it. NOT_REACHED: the run goes on without the host.
    """

    STALLED = "stalled"
    LOST = "lost"
    RECONNECTING = "reconnecting"
    BACK = "back"
    GIVEN_UP = "given up"
    NOT_REACHED = "not reached"


@dataclass(frozen=True, slots=True)
class Link:
    """A change of the way to a host. `since` is when the host was last heard, on this computer's monotonic clock.

    `attempt` counts from 1 while reconnecting. `detail` says in words what broke, or why it is no longer tried;
    `restarted` is since when the host runs, in words, where it is no longer the boot of before.
    """

    state: LinkState
    since: float
    attempt: int = 0
    detail: str = ""
    restarted: str = ""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long and how often a lost connection is sought again, in seconds."""

    first: float = 1.0
    longest: float = 30.0
    total: float = 30 * 60.0
    jitter: float = 0.25
    """The share by which a pause is lengthened or shortened, so that many do not knock at once."""

    def pause(self, attempt: int, luck: float) -> float:
        """Return the pause before an attempt, counted from 1: 1, 2, 4 … 30 s; `luck` is from -1 to 1."""
        return min(self.longest, self.first * 2.0 ** min(attempt - 1, 16)) * (1.0 + self.jitter * luck)


PATIENCE = Patience()


@runtime_checkable
class Wire(Protocol):
    """A session whose connection can fall silent or break."""

    @property
    def silence(self) -> float:
        """Seconds since anything was heard of the host."""
        ...

    @property
    def stalls_after(self) -> float:
        """Seconds of silence after which something is wrong: the host was asked for a sign of life, and gave none."""
        ...

    @property
    def broken(self) -> bool:
        """Whether the connection is known to be gone."""
        ...


@runtime_checkable
class Crowded(Protocol):
    """A session on which a host may open only a few channels at once."""

    waits_for_room: float
    """Seconds for which a command waits until one of ours ends, where the host opens no more; then: NoRoomError."""
