"""What can go wrong on the way to a host, each with what it means and what to do next."""

from enum import StrEnum

from suites.errors import BenchwrightError


class Outcome(StrEnum):
    """How an attempt to connect ended."""

    CONNECTED = "connected"
    NAME_NOT_FOUND = "name not found"
    REFUSED = "connection refused"
    UNREACHABLE = "not reachable"
    TIMED_OUT = "timed out"
    KEY_UNKNOWN = "host key not accepted"
    KEY_CHANGED = "host key changed"
    KEY_REVOKED = "host key revoked"
    AUTH_REFUSED = "authentication refused"
    JUMP_FAILED = "jump host failed"
    CANCELLED = "cancelled"
    PROTOCOL = "not a usable SSH server"
    NOT_ALLOWED = "needs consent"
    CONFIG = "ssh config not usable"


class RemoteError(BenchwrightError):
    """The base of errors about reaching or using a host."""

    def __init__(self, message: str, remedy: str = "", *, host: str = "") -> None:
        super().__init__(message, remedy)
        self.host = host


class ConnectError(RemoteError):
    """No connection was made; `outcome` says how it failed."""

    def __init__(self, outcome: Outcome, message: str, remedy: str = "", *, host: str = "") -> None:
        super().__init__(message, remedy, host=host)
        self.outcome = outcome


def outcome_of(error: BaseException | None) -> Outcome | None:
    """Return how an attempt to connect failed; where a jump host failed, how it did. None for any other error."""
    if not isinstance(error, ConnectError):
        return None
    beneath = outcome_of(error.__cause__) if error.outcome is Outcome.JUMP_FAILED else None
    return beneath or error.outcome


class ConnectionLostError(RemoteError):
    """The connection broke while something was under way."""


class NoRoomError(RemoteError):
    """The host opens no further session on a connection (MaxSessions of OpenSSH); on another it may."""


class RemoteTimeoutError(RemoteError):
    """A command on the host took longer than it may."""


class StartUpFileError(RemoteError):
    """A start-up file of the host's shell reads what commands are to get on their standard input."""


class OutputLimitError(RemoteError):
    """A command on the host printed more than it may."""


class JobError(RemoteError):
    """A job could not be started, followed or stopped."""


class RebootedError(JobError):
    """The host restarted while a job ran there: the job ended with it, and what it printed until then is all."""
