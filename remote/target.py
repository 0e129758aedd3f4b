"""The way to a host over SSH: what its name means, through ~/.ssh/config."""

import contextlib
import ipaddress
import os
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path

from remote.errors import ConnectError, Outcome
from remote.ssh_config import Entry, Lookup, expand, literal_names, load, local_user

DEFAULT_PORT = 22
DEFAULT_TIMEOUT = 10.0
"""Seconds to reach a host and agree on keys, where ConnectTimeout says nothing."""

NO_IDENTITY = Path("none")
"""An IdentityFile that stands for no key at all."""

_ADDRESS = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@\s]+)@)?(?:\[(?P<literal>[^\]\s]+)\]|(?P<host>[^:@\s\[\]/]+))(?::(?P<port>\d+))?/?"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Everything needed to reach a host. `jumps` are passed in order; `connect_timeout` is in seconds.

    `name` is the host's as the user knows it. No `identity_files` means OpenSSH's own default keys.
    """

    name: str
    host_name: str
    port: int = DEFAULT_PORT
    user: str = ""
    identity_files: tuple[Path, ...] = ()
    identities_only: bool = False
    jumps: tuple["Target", ...] = ()
    connect_timeout: float = DEFAULT_TIMEOUT


@dataclass(frozen=True, slots=True)
class _Address:
    """A destination as a person writes it."""

    host: str
    user: str | None
    port: int | None


def aliases(config: Path | None = None) -> list[str]:
    """Return the host names that ~/.ssh/config (or `config`) has a block for; patterns are none.

    Raises ConnectError naming file and line for what cannot be understood.
    """
    return list(dict.fromkeys(literal_names(load(config))))


def resolve(
    name: str,
    *,
    host_name: str | None = None,
    port: int | None = None,
    user: str | None = None,
    identity_file: str | None = None,
    jump: str | None = None,
    config: Path | None = None,
) -> Target:
    """Return the way to `name`: an alias, ``user@host:port``, or an address; ``[::1]:22`` for IPv6.

    What is given by keyword holds, then what `name` says, then ~/.ssh/config, then the system's. `jump` is written as
    ProxyJump. Raises ConnectError where the name or the configuration cannot be understood, where jump hosts go in a
    circle, or where the configuration asks for a command on this computer (NOT_ALLOWED): none is ever run.
    """
    entries = load(config)
    address = _parse(name)
    address = _Address(address.host, user or address.user, port or address.port)
    return _resolve(entries, name, address, _Given(host_name, identity_file, jump), ())


@dataclass(frozen=True, slots=True)
class _Given:
    host_name: str | None = None
    identity_file: str | None = None
    jump: str | None = None


def _resolve(
    entries: tuple[Entry, ...], name: str, address: _Address, given: _Given, above: tuple[_Address, ...]
) -> Target:
    lookup = Lookup(address.host, address.user)
    lookup.run(entries)
    target = Target(
        name=name,
        host_name=given.host_name or lookup.host_name(),
        port=_port(lookup, address),
        user=address.user or lookup.first("user") or local_user(),
        identities_only=_flag(lookup.found.get("identitiesonly")),
        connect_timeout=_timeout(lookup.found.get("connecttimeout")),
    )
    target = replace(target, identity_files=_identity_files(lookup, target, given.identity_file))
    return replace(target, jumps=_jumps(entries, lookup, address, given.jump, above))


def _parse(text: str) -> _Address:
    user, at, rest = text.rpartition("@")
    if _is_ipv6(rest) and bool(user) is bool(at):
        return _Address(rest, user or None, None)
    match = _ADDRESS.fullmatch(text)
    parts = {} if match is None else match.groupdict()
    host = parts.get("literal") or parts.get("host") or ""
    if not host or host.startswith("-") or any(ord(character) <= 32 for character in text):
        raise ConnectError(
            Outcome.CONFIG,
            f"“{text[:60]}” is no host name.",
            "Write an alias of ~/.ssh/config, a name or address, or user@host:port.",
        )
    given = parts.get("port")
    if given is not None and not _is_port(given):
        raise ConnectError(Outcome.CONFIG, f"“{text[:60]}” has no valid port.", "Give a port from 1 to 65535.")
    return _Address(host, parts.get("user"), None if given is None else int(given))


def _is_ipv6(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text).version == 6
    return False


def _is_port(text: str) -> bool:
    return re.fullmatch(r"\d{1,5}", text) is not None and 1 <= int(text) <= 65535


def _port(lookup: Lookup, address: _Address) -> int:
    if address.port is not None:
        return address.port
    entry = lookup.found.get("port")
    if entry is None:
        return DEFAULT_PORT
    if not _is_port(entry.arguments[0]):
        raise entry.error(f"“{entry.arguments[0][:20]}” is no port.", "Give a number from 1 to 65535.")
    return int(entry.arguments[0])


def _flag(entry: Entry | None) -> bool:
    if entry is None:
        return False
    words = {"yes": True, "true": True, "no": False, "false": False}
    word = entry.arguments[0].lower()
    if word not in words:
        raise entry.error(f"“{word[:20]}” is neither yes nor no.")
    return words[word]


def _timeout(entry: Entry | None) -> float:
    """Return seconds, written as in ``10``, ``2m`` or ``1h30m``. Source: sshd_config(5), TIME FORMATS."""
    if entry is None or entry.arguments[0].lower() == "none":
        return DEFAULT_TIMEOUT
    text = entry.arguments[0].lower()
    factors = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
    if not re.fullmatch(r"(\d{1,6}[smhdw]?)+", text):
        raise entry.error(f"“{text[:20]}” is no time.", "Give seconds, such as 10.")
    seconds = sum(int(number) * factors[unit] for number, unit in re.findall(r"(\d+)([smhdw]?)", text))
    return float(seconds) or DEFAULT_TIMEOUT


def _identity_files(lookup: Lookup, target: Target, given: str | None) -> tuple[Path, ...]:
    if given is not None:
        return (Path(given).expanduser(),)
    host = socket.gethostname()
    tokens = {
        "d": str(Path.home()),
        "h": target.host_name,
        "i": str(os.getuid()),
        "L": host.partition(".")[0],
        "l": host,
        "n": lookup.name,
        "p": str(target.port),
        "r": target.user,
        "u": local_user(),
    }
    return tuple(
        NO_IDENTITY if entry.arguments[0].lower() == "none" else _identity_file(entry, tokens)
        for entry in lookup.identity_files
    )


def _identity_file(entry: Entry, tokens: dict[str, str]) -> Path:
    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise entry.error(f"the environment has no {match[1][:40]}.")
        return os.environ[match[1]]

    text = re.sub(r"\$\{(\w+)\}", variable, expand(entry, entry.arguments[0], tokens))
    return Path(text).expanduser()


def _jumps(
    entries: tuple[Entry, ...], lookup: Lookup, address: _Address, given: str | None, above: tuple[_Address, ...]
) -> tuple[Target, ...]:
    """Return the hosts on the way, in order. The first hop's own jump hosts come before it."""
    text = _jump_text(lookup) if given is None else given
    if not text or text.lower() == "none":
        return ()
    hops = [_parse(part.strip()) for part in text.split(",")]
    chain = (*above, address)
    names = [part.strip() for part in text.split(",")]
    if any(hop.host == passed.host for hop in hops for passed in chain):
        way = " > ".join([*(passed.host for passed in chain), *names])
        raise ConnectError(
            Outcome.CONFIG,
            f"The jump hosts of {chain[0].host} go in a circle: {way}.",
            "Mend ProxyJump in ~/.ssh/config.",
        )
    first = _resolve(entries, names[0], hops[0], _Given(), chain)
    others = [_resolve(entries, name, hop, _Given(jump="none"), chain) for name, hop in zip(names, hops, strict=True)][
        1:
    ]
    return (*first.jumps, replace(first, jumps=()), *others)


def _jump_text(lookup: Lookup) -> str | None:
    entry = lookup.found.get("proxyjump")
    if entry is None:
        return None
    if entry.keyword == "proxycommand":
        if entry.arguments[0].strip().lower() == "none":
            return None
        raise ConnectError(
            Outcome.NOT_ALLOWED,
            f"{entry.path}, line {entry.number}: ProxyCommand would run a command on this computer, "
            "which is never done from here.",
            "Use ProxyJump instead, or name the jump host here.",
            host=lookup.name,
        )
    return expand(entry, entry.arguments[0], {"h": lookup.host_name(), "n": lookup.name})
