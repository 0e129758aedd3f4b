"""Hosts as a user writes them, one per line: an alias, user@host:port, an ssh:// URL, or an ssh command."""

from collections.abc import Iterable
from dataclasses import dataclass

from app.hosts.hosts import HostEntry, Origin
from app.plans.plan import LOCAL
from remote.errors import ConnectError
from remote.ssh.destination import Destination, parse_destination

MOST = 1000
"""Limit of lines."""

MAXIMUM = 255
"""Longest name, address or user in characters: the limit of DNS names."""


@dataclass(frozen=True, slots=True)
class HostLine:
    """A line with its host, or with the reason why it is none."""

    number: int
    text: str
    entry: HostEntry | None = None
    fault: str = ""


def host_lines(text: str, taken: Iterable[str] = ()) -> list[HostLine]:
    """Return the hosts of each line that is neither empty nor a comment (#), named apart from `taken` and each other.

    A host is named by its alias or address; if that is in use for another, by address and port or user.
    """
    names = {LOCAL, *taken}
    found: list[HostLine] = []
    for number, line in enumerate(text.splitlines()[:MOST], start=1):
        words = line.strip()
        if words and not words.startswith("#"):
            read = _line(number, words, names)
            if read.entry is not None:
                names.add(read.entry.name)
            found.append(read)
    return found


def _line(number: int, text: str, names: set[str]) -> HostLine:
    try:
        wanted = parse_destination(text)
    except ConnectError as error:
        return HostLine(number, text, fault=f"{error.message} {error.remedy}".strip())
    if any(len(word or "") > MAXIMUM for word in (wanted.host, wanted.host_name, wanted.user)):
        return HostLine(number, text, fault=f"Longer than {MAXIMUM} characters.")
    name = _name(wanted, names)
    if name is None:
        return HostLine(number, text, fault=f"{wanted.host} is already in the list.")
    host_name = wanted.host_name or (None if name == wanted.host else wanted.host)
    return HostLine(
        number,
        text,
        HostEntry(name, Origin.SAVED, host_name, wanted.port, wanted.user, wanted.identity_file, wanted.jump),
    )


def _name(wanted: Destination, names: set[str]) -> str | None:
    """Return a name that is not in use; None if every name that distinguishes the host is."""
    host, user, port = wanted.host, wanted.user, wanted.port
    proposed = [host, f"{host}-{port}" if port else "", f"{user}-{host}" if user else ""]
    proposed.append(f"{user}-{host}-{port}" if user and port else "")
    return next((name for name in proposed if name and name not in names), None)
