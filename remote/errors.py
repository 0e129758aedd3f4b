"""Errors of connections, commands and jobs."""

from enum import StrEnum

from suites.errors import BenchwrightError


class ConnectOutcome(StrEnum):
    """Outcome of a connection attempt."""

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


FINAL = frozenset(
    {
        ConnectOutcome.KEY_UNKNOWN, ConnectOutcome.KEY_CHANGED, ConnectOutcome.KEY_REVOKED, ConnectOutcome.CANCELLED,
        ConnectOutcome.NOT_ALLOWED, ConnectOutcome.CONFIG,
    }
)  # fmt: skip
"""Failures to connect that a retry cannot fix: the user has to act."""


class RemoteError(BenchwrightError):
    """Base class of errors about connecting to or using a host."""

    def __init__(self, message: str, remedy: str = "", *, host: str = "") -> None:
        super().__init__(message, remedy)
        self.host = host


class ConnectError(RemoteError):
    """A connection attempt failed; `outcome` is how."""

    def __init__(self, outcome: ConnectOutcome, message: str, remedy: str = "", *, host: str = "") -> None:
        super().__init__(message, remedy, host=host)
        self.outcome = outcome

    @property
    def cancelled(self) -> bool:
        """Whether the user cancelled it."""
        return outcome_of(self) in {ConnectOutcome.CANCELLED, ConnectOutcome.NOT_ALLOWED}


def outcome_of(error: BaseException | None) -> ConnectOutcome | None:
    """Return how a connection attempt failed; for a jump host, its own outcome. None for any other error."""
    if not isinstance(error, ConnectError):
        return None
    jump_outcome = outcome_of(error.__cause__) if error.outcome is ConnectOutcome.JUMP_FAILED else None
    return jump_outcome or error.outcome


class ConnectionLostError(RemoteError):
    """The connection broke."""


class SessionLimitError(RemoteError):
    """The host opens no further session on this connection (OpenSSH: MaxSessions); it may on another."""


class RemoteTimeoutError(RemoteError):
    """A command on the host exceeded its timeout."""


class StartUpFileError(RemoteError):
    """A start-up file of the host's shell consumes the standard input of commands."""


class OutputLimitError(RemoteError):
    """A command on the host exceeded its output limit."""


class JobError(RemoteError):
    """A job could not be started, followed or stopped."""


class RebootedError(JobError):
    """The host restarted while a job ran: the job ended, and its output is incomplete."""
