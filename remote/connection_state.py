"""Connection state: stalled, lost, reconnecting, back, given up."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol, runtime_checkable


class LinkState(StrEnum):
    """State of a connection.

    LOST and RECONNECTING: commands on the host keep running. NOT_REACHED: the run continues without the host.
    """

    STALLED = "stalled"
    LOST = "lost"
    RECONNECTING = "reconnecting"
    BACK = "back"
    GIVEN_UP = "given up"
    NOT_REACHED = "not reached"

    @property
    def broken(self) -> bool:
        """Whether nothing arrives until the connection is made again, if at all."""
        return self in {LinkState.LOST, LinkState.RECONNECTING, LinkState.GIVEN_UP}


@dataclass(frozen=True, slots=True)
class Link:
    """A change of a connection's state. `since` is when data last arrived, on this computer's monotonic clock.

    `attempt` counts from 1 while reconnecting. `detail` is the cause, for people; `restarted` is the host's boot time,
    for people, if it has rebooted.
    """

    state: LinkState
    since: float
    attempt: int = 0
    detail: str = ""
    restarted: str = ""


@dataclass(frozen=True, slots=True)
class ReconnectPolicy:
    """Exponential backoff of reconnection attempts, in seconds."""

    first: float = 1.0
    longest: float = 30.0
    total: float = 30 * 60.0
    jitter: float = 0.25
    """Largest relative change of a pause, so that many hosts do not reconnect at the same moment."""

    def pause(self, attempt: int, luck: float) -> float:
        """Return the pause in seconds before `attempt` (from 1): 1, 2, 4 … 30; `luck` is random, from -1 to 1."""
        return min(self.longest, self.first * 2.0 ** min(attempt - 1, 16)) * (1.0 + self.jitter * luck)


PATIENCE = ReconnectPolicy()


@runtime_checkable
class MonitoredConnection(Protocol):
    """A session whose connection is monitored for silence and loss."""

    @property
    def silence(self) -> float:
        """Seconds since the last data from the host."""
        ...

    @property
    def stalls_after(self) -> float:
        """Seconds of silence after which the connection is stalled: a keepalive was sent and not answered."""
        ...

    @property
    def broken(self) -> bool:
        """Whether the connection is known to be closed."""
        ...


@runtime_checkable
class ChannelLimited(Protocol):
    """A session whose host may limit the channels per connection (OpenSSH: MaxSessions)."""

    channel_wait: float
    """Seconds a command waits for a free channel before SessionLimitError is raised."""
