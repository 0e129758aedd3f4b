"""Single settings of OpenSSH's client configuration, from their words to values."""

import os
import re
import socket
from dataclasses import dataclass
from pathlib import Path

from remote.ssh.ssh_config import Entry
from remote.ssh.ssh_lookup import Lookup
from remote.ssh.ssh_tokens import Tokens, expand, expand_file, expand_for_shell

DEFAULT_TIMEOUT = 10.0
"""Seconds to reach a host and agree on keys, where ConnectTimeout says nothing."""

DEFAULT_ALIVE_COUNT = 3
"""Unanswered questions after which a connection counts as broken. Source: ssh_config(5), ServerAliveCountMax."""

NO_IDENTITY = Path("none")
"""An IdentityFile that stands for no key at all."""

_TIME = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_FAMILIES = {"any": socket.AF_UNSPEC, "inet": socket.AF_INET, "inet6": socket.AF_INET6}


@dataclass(frozen=True, slots=True)
class HostKeyRules:
    """How the configuration wants a host's key checked. Files that are None are OpenSSH's own.

    `ask` is False where an unknown key is to be refused without a question, `hashed` where the host's name is to be
    written down unreadably. `note` says what of the configuration is not followed.
    """

    alias: str = ""
    user_files: tuple[Path, ...] | None = None
    global_files: tuple[Path, ...] | None = None
    ask: bool = True
    hashed: bool = False
    note: str = ""


@dataclass(frozen=True, slots=True)
class Alive:
    """When a silent connection is asked for a sign of life, and when it counts as broken: seconds of silence."""

    ask_after: float = 5.0
    limit: float = 25.0


ALIVE = Alive()
"""Without ServerAliveInterval; OpenSSH never asks then, but a connection that is measured over is watched."""


def is_port(text: str) -> bool:
    """Return whether `text` is the number of a port."""
    return re.fullmatch(r"\d{1,5}", text) is not None and 1 <= int(text) <= 65535


def flag(entry: Entry | None) -> bool:
    """Return a setting that is yes or no; no where nothing sets it."""
    if entry is None:
        return False
    words = {"yes": True, "true": True, "no": False, "false": False}
    word = entry.arguments[0].lower()
    if word not in words:
        raise entry.error(f"“{word[:20]}” is neither yes nor no.")
    return words[word]


def seconds(entry: Entry | None) -> float:
    """Return a time, written as in ``10``, ``2m`` or ``1h30m``; 0 for none. Source: sshd_config(5), TIME FORMATS."""
    if entry is None or entry.arguments[0].lower() == "none":
        return 0.0
    text = entry.arguments[0].lower()
    if not re.fullmatch(r"(\d{1,6}[smhdw]?)+", text):
        raise entry.error(f"“{text[:20]}” is no time.", "Give seconds, such as 10.")
    return float(sum(int(number) * _TIME[unit] for number, unit in re.findall(r"(\d+)([smhdw]?)", text)))


def address_family(entry: Entry | None) -> socket.AddressFamily:
    """Return the kind of address to connect to. Source: ssh_config(5), AddressFamily."""
    word = "any" if entry is None else entry.arguments[0].lower()
    if entry is not None and word not in _FAMILIES:
        raise entry.error(f"“{word[:20]}” is no address family.", "Write any, inet or inet6.")
    return _FAMILIES[word]


def alive(lookup: Lookup) -> Alive:
    """Return when a silent connection counts as broken: after ServerAliveInterval x ServerAliveCountMax, where set.

    It is asked for a sign of life at least as often as without: a link that has stalled is told at once.
    """
    interval = seconds(lookup.found.get("serveraliveinterval"))
    entry = lookup.found.get("serveralivecountmax")
    if entry is not None and not re.fullmatch(r"\d{1,6}", entry.arguments[0]):
        raise entry.error(f"“{entry.arguments[0][:20]}” is no number.")
    count = DEFAULT_ALIVE_COUNT if entry is None else int(entry.arguments[0])
    return Alive(min(interval, ALIVE.ask_after), interval * count) if interval and count else ALIVE


def agent(lookup: Lookup, tokens: Tokens) -> str | None:
    """Return the agent's socket, "" for none, or None for the one that SSH_AUTH_SOCK names. Source: ssh.c, main."""
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
    """Return how the host's key is to be checked."""
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
    """Return whether an unknown key is asked about, and what is to be said: it is never accepted without a word."""
    word = "ask" if entry is None else entry.arguments[0].lower()
    if entry is None or word == "ask":
        return True, ""
    if word in {"yes", "true"}:
        return False, ""
    if word in {"no", "false", "off", "accept-new"}:
        setting = f"StrictHostKeyChecking {entry.arguments[0]} ({entry.path}, line {entry.number})"
        return True, f"{setting} is not followed: an unknown key is always asked about, a changed one always refused."
    raise entry.error(f"“{word[:20]}” is no way to check host keys.", "Write yes, ask, accept-new or no.")


def _known_hosts(entry: Entry | None, tokens: Tokens) -> tuple[Path, ...] | None:
    if entry is None:
        return None
    if [word.lower() for word in entry.arguments] == ["none"]:
        return ()
    if entry.keyword == "globalknownhostsfile":
        return tuple(Path(word) for word in entry.arguments)
    return tuple(expand_file(entry, word, tokens) for word in entry.arguments)


def command(entry: Entry, tokens: Tokens) -> str:
    """Return the line of a ProxyCommand with its tokens filled in."""
    return expand_for_shell(entry, entry.arguments[0], tokens.chosen(("h", "k", "n", "p", "r")))


def jump_text(entry: Entry, tokens: Tokens) -> str:
    """Return a ProxyJump with its tokens filled in."""
    return expand(entry, entry.arguments[0], tokens.chosen(("h", "n", "p", "r")))
