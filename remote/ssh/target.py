"""The way to a host over SSH: what its name means, through ~/.ssh/config."""

import contextlib
import ipaddress
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path

from remote.errors import ConnectError, Outcome
from remote.questions import Asker, LocalProgramQuestion, Refuse
from remote.ssh.known_hosts import DEFAULT_PORT
from remote.ssh.local_program import consult
from remote.ssh.ssh_config import Entry, literal_names, load, load_own
from remote.ssh.ssh_lookup import Lookup
from remote.ssh.target_settings import (
    ALIVE,
    DEFAULT_TIMEOUT,
    NO_IDENTITY,
    Alive,
    HostKeyRules,
    address_family,
    agent,
    alive,
    command,
    flag,
    host_key_rules,
    is_port,
    jump_text,
    key_files,
    seconds,
)

__all__ = ["NO_IDENTITY", "Target", "aliases", "resolve"]


_ADDRESS = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@\s]+)@)?(?:\[(?P<literal>[^\]\s]+)\]|(?P<host>[^:@\s\[\]/]+))(?::(?P<port>\d+))?/?"
)


@dataclass(frozen=True, slots=True)
class Target:
    """Everything needed to reach a host. `jumps` are passed in order; `connect_timeout` is in seconds.

    `name` is the host's as the user knows it. No `identity_files` means OpenSSH's own default keys. `agent` is a
    socket, "" for none, None for the one that SSH_AUTH_SOCK names. With a `proxy`, a program of this computer takes
    the place of the network; it runs only if the user allows it.
    """

    name: str
    host_name: str
    port: int = DEFAULT_PORT
    user: str = ""
    identity_files: tuple[Path, ...] = ()
    identities_only: bool = False
    jumps: tuple["Target", ...] = ()
    connect_timeout: float = DEFAULT_TIMEOUT
    certificate_files: tuple[Path, ...] = ()
    agent: str | None = None
    host_key: HostKeyRules = HostKeyRules()
    alive: Alive = ALIVE
    family: socket.AddressFamily = socket.AF_UNSPEC
    proxy: LocalProgramQuestion | None = None

    @property
    def known_as(self) -> tuple[str, int]:
        """The name and port under which known_hosts has the host: an alias stands for both."""
        return (self.host_key.alias, DEFAULT_PORT) if self.host_key.alias else (self.host_name, self.port)


@dataclass(frozen=True, slots=True)
class _Address:
    """A destination as a person writes it."""

    host: str
    user: str | None
    port: int | None


def aliases(config: Path | None = None) -> list[str]:
    """Return the hosts that ~/.ssh/config (or `config`) has a block for; patterns are none, nor is the system's file.

    Raises ConnectError naming file and line for what cannot be understood.
    """
    return literal_names(load_own(config))


def resolve(
    name: str,
    *,
    host_name: str | None = None,
    port: int | None = None,
    user: str | None = None,
    identity_file: str | None = None,
    jump: str | None = None,
    config: Path | None = None,
    asker: Asker | None = None,
) -> Target:
    """Return the way to `name`: an alias, ``user@host:port``, or an address; ``[::1]:22`` for IPv6.

    What is given by keyword holds, then what `name` says, then ~/.ssh/config, then the system's. `jump` is written as
    ProxyJump. `asker` is asked before a Match exec runs its command; without one, none is run.
    Raises ConnectError where the name or the configuration cannot be understood, where jump hosts go in a circle, or
    where a command was not allowed to run that decides about this host (NOT_ALLOWED).
    """
    address = _parse(name)
    address = _Address(address.host, user or address.user, port or address.port)
    reading = _Reading(load(config), asker or Refuse())
    return reading.target(name, address, _Given(host_name, identity_file, jump), ())


@dataclass(frozen=True, slots=True)
class _Given:
    host_name: str | None = None
    identity_file: str | None = None
    jump: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One reading of the configuration, for a host and all its jump hosts."""

    entries: tuple[Entry, ...]
    asker: Asker

    def target(self, name: str, address: _Address, given: _Given, above: tuple[_Address, ...]) -> Target:
        """Return the way to one host; `above` are those that are reached through it."""
        lookup = Lookup(address.host, address.user, given.host_name, address.port, consult(self.asker, name))
        lookup.run(self.entries)
        port, tokens = _port(lookup, address), lookup.tokens()
        jumps = self._jumps(lookup, address, given.jump, above)
        identities = (Path(given.identity_file).expanduser(),) if given.identity_file else None
        return Target(
            name=name,
            host_name=lookup.host_name(),
            port=port,
            user=lookup.user_name(),
            identity_files=key_files(lookup, tokens, "identityfile") if identities is None else identities,
            identities_only=flag(lookup.found.get("identitiesonly")),
            jumps=jumps,
            connect_timeout=seconds(lookup.found.get("connecttimeout")) or DEFAULT_TIMEOUT,
            certificate_files=key_files(lookup, tokens, "certificatefile"),
            agent=agent(lookup, tokens),
            host_key=host_key_rules(lookup, tokens),
            alive=alive(lookup),
            family=address_family(lookup.found.get("addressfamily")),
            proxy=None if given.jump is not None else _proxy(lookup, name),
        )

    def _jumps(
        self, lookup: Lookup, address: _Address, given: str | None, above: tuple[_Address, ...]
    ) -> tuple[Target, ...]:
        """Return the hosts on the way, in order. The first hop's own jump hosts come before it."""
        text = _jump_text(lookup) if given is None else given
        if not text or text.lower() == "none":
            return ()
        names = [part.strip() for part in text.split(",")]
        hops = [_parse(name) for name in names]
        chain = (*above, address)
        if any(hop.host == passed.host for hop in hops for passed in chain):
            raise _circle(chain, names)
        first = self.target(names[0], hops[0], _Given(), chain)
        others = [
            self.target(name, hop, _Given(jump="none"), chain) for name, hop in zip(names[1:], hops[1:], strict=True)
        ]
        return (*first.jumps, replace(first, jumps=()), *others)


def _circle(chain: tuple[_Address, ...], names: list[str]) -> ConnectError:
    way = " > ".join([*(passed.host for passed in chain), *names])
    return ConnectError(
        Outcome.CONFIG,
        f"The jump hosts of {chain[0].host} go in a circle: {way}.",
        "Mend ProxyJump in ~/.ssh/config.",
    )


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
    if given is not None and not is_port(given):
        raise ConnectError(Outcome.CONFIG, f"“{text[:60]}” has no valid port.", "Give a port from 1 to 65535.")
    return _Address(host, parts.get("user"), None if given is None else int(given))


def _is_ipv6(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text).version == 6
    return False


def _port(lookup: Lookup, address: _Address) -> int:
    if address.port is not None:
        return address.port
    entry = lookup.found.get("port")
    if entry is None:
        return DEFAULT_PORT
    if not is_port(entry.arguments[0]):
        raise entry.error(f"“{entry.arguments[0][:20]}” is no port.", "Give a number from 1 to 65535.")
    return int(entry.arguments[0])


def _proxy(lookup: Lookup, name: str) -> LocalProgramQuestion | None:
    """Return the ProxyCommand, where it and no ProxyJump is the way to the host."""
    entry = lookup.found.get("proxycommand")
    if entry is None or entry.arguments[0].strip().lower() == "none":
        return None
    descriptors = lookup.found.get("proxyusefdpass")
    if descriptors is not None and flag(descriptors):
        raise descriptors.error("ProxyUseFdpass is not understood here.", "Let ProxyCommand pass the data on itself.")
    return LocalProgramQuestion(name, "ProxyCommand", command(entry, lookup.tokens()), str(entry.path), entry.number)


def _jump_text(lookup: Lookup) -> str | None:
    entry = lookup.found.get("proxyjump")
    return None if entry is None else jump_text(entry, lookup.tokens())
