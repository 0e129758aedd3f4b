"""Resolve a host name to an SSH target through ~/.ssh/config."""

import os
import re
import socket
from dataclasses import dataclass, replace
from pathlib import Path

from remote.errors import ConnectError, ConnectOutcome
from remote.questions import Asker, LocalProgramQuestion, RefusingAsker
from remote.ssh.destination import Destination, is_port, parse_address
from remote.ssh.known_hosts import DEFAULT_PORT
from remote.ssh.local_program import consult
from remote.ssh.ssh_config import (
    Entry,
    Tokens,
    expand,
    expand_file,
    expand_for_shell,
    literal_names,
    load,
    load_user_config,
)
from remote.ssh.ssh_lookup import Lookup

# Values of single settings.


DEFAULT_TIMEOUT = 10.0
"""Seconds for connection and key exchange without ConnectTimeout."""

DEFAULT_ALIVE_COUNT = 3
"""Unanswered keepalives after which a connection is lost. Source: ssh_config(5), ServerAliveCountMax."""

NO_IDENTITY = Path("none")
"""IdentityFile none: no key."""

_TIME = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}


@dataclass(frozen=True, slots=True)
class HostKeyRules:
    """Host key settings. Files that are None are OpenSSH's defaults.

    `ask` is False if an unknown key is refused without a question; `hashed` is HashKnownHosts. `note` names settings
    that are ignored.
    """

    alias: str = ""
    user_files: tuple[Path, ...] | None = None
    global_files: tuple[Path, ...] | None = None
    ask: bool = True
    hashed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Keepalive:
    """Seconds of silence before a keepalive is sent (`interval`) and before the connection is lost (`limit`)."""

    interval: float = 5.0
    limit: float = 25.0


ALIVE: Keepalive = Keepalive()
"""Default without ServerAliveInterval. OpenSSH then sends no keepalives, but a measuring connection needs them."""


def flag(entry: Entry | None) -> bool:
    """Return a yes/no setting; False if it is not set."""
    if entry is None:
        return False
    values = {"yes": True, "true": True, "no": False, "false": False}
    word = entry.arguments[0].lower()
    if word not in values:
        raise entry.error(f"“{word[:20]}” is neither yes nor no.")
    return values[word]


def seconds(entry: Entry | None) -> float:
    """Return a time such as ``2m`` or ``1h30m`` in seconds; 0 for none. Source: sshd_config(5), TIME FORMATS."""
    if entry is None or entry.arguments[0].lower() == "none":
        return 0.0
    text = entry.arguments[0].lower()
    if not re.fullmatch(r"(\d{1,6}[smhdw]?)+", text):
        raise entry.error(f"invalid time “{text[:20]}”.", "Write seconds, such as 10.")
    return float(sum(int(number) * _TIME[unit] for number, unit in re.findall(r"(\d+)([smhdw]?)", text)))


def address_family(entry: Entry | None) -> socket.AddressFamily:
    """Return the address family. Source: ssh_config(5), AddressFamily."""
    word = "any" if entry is None else entry.arguments[0].lower()
    if entry is not None and word not in _FAMILIES:
        raise entry.error(f"invalid address family “{word[:20]}”.", "Write any, inet or inet6.")
    return _FAMILIES[word]


def alive(lookup: Lookup) -> Keepalive:
    """Return the keepalive settings: the limit is ServerAliveInterval x ServerAliveCountMax, if set.

    Keepalives are sent at least as often as by default, so that a stalled link is detected early.
    """
    interval = seconds(lookup.found.get("serveraliveinterval"))
    entry = lookup.found.get("serveralivecountmax")
    if entry is not None and not re.fullmatch(r"\d{1,6}", entry.arguments[0]):
        raise entry.error(f"invalid number “{entry.arguments[0][:20]}”.")
    count = DEFAULT_ALIVE_COUNT if entry is None else int(entry.arguments[0])
    return Keepalive(min(interval, ALIVE.interval), interval * count) if interval and count else ALIVE


def agent(lookup: Lookup, tokens: Tokens) -> str | None:
    """Return the agent's socket, "" for none, or None for SSH_AUTH_SOCK. Source: ssh.c, main."""
    entry = lookup.found.get("identityagent")
    if entry is None or entry.arguments[0] == "SSH_AUTH_SOCK":
        return None
    text = entry.arguments[0]
    if text.lower() == "none":
        return ""
    if re.fullmatch(r"\$\w+", text):
        return os.environ.get(text[1:], "")
    return str(expand_file(entry, text, tokens))


def key_files(lookup: Lookup, tokens: Tokens, keyword: str) -> tuple[Path, ...]:
    """Return the files of IdentityFile or CertificateFile, in order."""
    return tuple(
        NO_IDENTITY if entry.arguments[0].lower() == "none" else expand_file(entry, entry.arguments[0], tokens)
        for entry in lookup.several.get(keyword, [])
    )


def host_key_rules(lookup: Lookup, tokens: Tokens) -> HostKeyRules:
    """Return the host key settings."""
    ask, note = _strictness(lookup.found.get("stricthostkeychecking"))
    return HostKeyRules(
        alias=lookup.first("hostkeyalias") or "",
        user_files=_known_hosts(lookup.found.get("userknownhostsfile"), tokens),
        global_files=_known_hosts(lookup.found.get("globalknownhostsfile"), tokens),
        ask=ask,
        hashed=flag(lookup.found.get("hashknownhosts")),
        note=note,
    )


def _strictness(entry: Entry | None) -> tuple[bool, str]:
    """Return whether to ask about an unknown key, and a note; an unknown key is never accepted silently."""
    word = "ask" if entry is None else entry.arguments[0].lower()
    if entry is None or word == "ask":
        return True, ""
    if word in {"yes", "true"}:
        return False, ""
    if word in {"no", "false", "off", "accept-new"}:
        setting = f"StrictHostKeyChecking {entry.arguments[0]} ({entry.path}, line {entry.number})"
        return True, f"{setting} is ignored: unknown keys need confirmation, changed keys are refused."
    raise entry.error(f"invalid StrictHostKeyChecking “{word[:20]}”.", "Write yes, ask, accept-new or no.")


def _known_hosts(entry: Entry | None, tokens: Tokens) -> tuple[Path, ...] | None:
    if entry is None:
        return None
    if [word.lower() for word in entry.arguments] == ["none"]:
        return ()
    if entry.keyword == "globalknownhostsfile":
        return tuple(Path(word) for word in entry.arguments)
    return tuple(expand_file(entry, word, tokens) for word in entry.arguments)


def command(entry: Entry, tokens: Tokens) -> str:
    """Return a ProxyCommand with its tokens expanded."""
    return expand_for_shell(entry, entry.arguments[0], tokens.chosen(("h", "k", "n", "p", "r")))


def jump_text(entry: Entry, tokens: Tokens) -> str:
    """Return a ProxyJump with its tokens expanded."""
    return expand(entry, entry.arguments[0], tokens.chosen(("h", "n", "p", "r")))


@dataclass(frozen=True, slots=True)
class SshTarget:
    """All settings for connecting to a host. `jumps` are in order; `connect_timeout` is in seconds.

    `name` is the host's name for the user. Empty `identity_files` are OpenSSH's default keys. `agent` is a socket, ""
    for none, None for SSH_AUTH_SOCK. `proxy` is a ProxyCommand, which runs only if the user allows it.
    """

    name: str
    host_name: str
    port: int = DEFAULT_PORT
    user: str = ""
    identity_files: tuple[Path, ...] = ()
    identities_only: bool = False
    jumps: tuple["SshTarget", ...] = ()
    connect_timeout: float = DEFAULT_TIMEOUT
    certificate_files: tuple[Path, ...] = ()
    agent: str | None = None
    host_key: HostKeyRules = HostKeyRules()
    alive: Keepalive = ALIVE
    family: socket.AddressFamily = socket.AF_UNSPEC
    proxy: LocalProgramQuestion | None = None

    @property
    def known_as(self) -> tuple[str, int]:
        """The name and port in known_hosts; HostKeyAlias replaces both."""
        return (self.host_key.alias, DEFAULT_PORT) if self.host_key.alias else (self.host_name, self.port)


def aliases(config: Path | None = None) -> list[str]:
    """Return the literal host names of ~/.ssh/config (or `config`), without patterns and the system's file.

    Raises ConnectError with file and line for invalid lines.
    """
    return literal_names(load_user_config(config))


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
) -> SshTarget:
    """Return the target for `name`: an alias, ``user@host:port``, or an address; ``[::1]:22`` for IPv6.

    Precedence: keyword arguments, `name`, ~/.ssh/config, the system's file. `jump` has the syntax of ProxyJump.
    `asker` is asked before a Match exec runs its command; without it, none is run. Raises ConnectError if the name or
    the configuration is invalid, if the jump hosts form a loop, or if a Match exec that decides about this host was not
    allowed (NOT_ALLOWED).
    """
    address = parse_address(name)
    address = replace(address, user=user or address.user, port=port or address.port)
    reading = _Reading(load(config), asker or RefusingAsker())
    return reading.target(name, address, _Given(host_name, identity_file, jump), ())


@dataclass(frozen=True, slots=True)
class _Given:
    host_name: str | None = None
    identity_file: str | None = None
    jump: str | None = None


@dataclass(frozen=True, slots=True)
class _Reading:
    """The configuration, read once for a host and its jump hosts."""

    entries: tuple[Entry, ...]
    asker: Asker

    def target(self, name: str, address: Destination, given: _Given, above: tuple[Destination, ...]) -> SshTarget:
        """Return the target of one host; `above` are the hosts that are reached through it."""
        lookup = Lookup(address.host, address.user, given.host_name, address.port, consult(self.asker, name))
        lookup.run(self.entries)
        port, tokens = _port(lookup, address), lookup.tokens()
        jumps = self._jumps(lookup, address, given.jump, above)
        identities = (Path(given.identity_file).expanduser(),) if given.identity_file else None
        return SshTarget(
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
        self, lookup: Lookup, address: Destination, given: str | None, above: tuple[Destination, ...]
    ) -> tuple[SshTarget, ...]:
        """Return the jump hosts in order. The first hop's own jump hosts precede it."""
        text = _jump_text(lookup) if given is None else given
        if not text or text.lower() == "none":
            return ()
        names = [part.strip() for part in text.split(",")]
        hops = [parse_address(name) for name in names]
        chain = (*above, address)
        if any(hop.host == passed.host for hop in hops for passed in chain):
            raise _loop(chain, names)
        first = self.target(names[0], hops[0], _Given(), chain)
        others = [
            self.target(name, hop, _Given(jump="none"), chain) for name, hop in zip(names[1:], hops[1:], strict=True)
        ]
        return (*first.jumps, replace(first, jumps=()), *others)


def _loop(chain: tuple[Destination, ...], names: list[str]) -> ConnectError:
    route = " > ".join([*(passed.host for passed in chain), *names])
    return ConnectError(
        ConnectOutcome.CONFIG,
        f"The jump hosts of {chain[0].host} form a loop: {route}.",
        "Correct ProxyJump in ~/.ssh/config.",
    )


def _port(lookup: Lookup, address: Destination) -> int:
    if address.port is not None:
        return address.port
    entry = lookup.found.get("port")
    if entry is None:
        return DEFAULT_PORT
    if not is_port(entry.arguments[0]):
        raise entry.error(f"invalid port “{entry.arguments[0][:20]}”.", "Write a number from 1 to 65535.")
    return int(entry.arguments[0])


def _proxy(lookup: Lookup, name: str) -> LocalProgramQuestion | None:
    """Return the ProxyCommand, or None if there is none or ProxyJump prevails."""
    entry = lookup.found.get("proxycommand")
    if entry is None or entry.arguments[0].strip().lower() == "none":
        return None
    descriptors = lookup.found.get("proxyusefdpass")
    if descriptors is not None and flag(descriptors):
        raise descriptors.error("ProxyUseFdpass is not supported.", "Use a ProxyCommand that forwards the data itself.")
    return LocalProgramQuestion(name, "ProxyCommand", command(entry, lookup.tokens()), str(entry.path), entry.number)


def _jump_text(lookup: Lookup) -> str | None:
    entry = lookup.found.get("proxyjump")
    return None if entry is None else jump_text(entry, lookup.tokens())
