"""The hosts a user has: this computer, those typed in, and the aliases of ~/.ssh/config."""

from dataclasses import dataclass
from enum import StrEnum

from app.plan import LOCAL
from remote.errors import Outcome


class Origin(StrEnum):
    """Where the workstation knows a host from."""

    THIS_COMPUTER = "this computer"
    SAVED = "saved"
    SSH_CONFIG = "ssh config"


@dataclass(frozen=True, slots=True)
class HostEntry:
    """One host as the user knows it. What is None is left to ~/.ssh/config and OpenSSH's defaults.

    `jump` is written as OpenSSH's ProxyJump: ``user@host:port``, several separated by commas.
    """

    name: str
    origin: Origin = Origin.SAVED
    host_name: str | None = None
    port: int | None = None
    user: str | None = None
    identity_file: str | None = None
    jump: str | None = None


THIS_COMPUTER = HostEntry(LOCAL, Origin.THIS_COMPUTER)


@dataclass(frozen=True, slots=True)
class ConnectReport:
    """How an attempt to connect ended, for people. `seconds` is how long it took."""

    host: str
    outcome: Outcome
    message: str
    remedy: str = ""
    seconds: float = 0.0
