"""What may be typed for a host, field by field, each fault with what would be accepted. No Qt."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from app.hosts.hosts import HostEntry, Origin
from app.plans.plan import LOCAL

FIELDS = ("name", "host_name", "port", "user", "identity_file", "jump")

MAXIMUM = 255
"""Characters of a name, address or user: DNS allows no longer names."""

_WORD = re.compile(r"[^\s\x00-\x1f\x7f/\\\"'`$;|&<>(){}*?!]+")
_JUMP = re.compile(r"(?:(?P<user>[^@]+)@)?(?P<host>\[[0-9a-fA-F:]+\]|[^:@]+)(?::(?P<port>\d+))?")


@dataclass(frozen=True, slots=True)
class Typed:
    """The texts of the fields, as they stand in the dialog."""

    name: str = ""
    host_name: str = ""
    port: str = ""
    user: str = ""
    identity_file: str = ""
    jump: str = ""


def typed(entry: HostEntry) -> Typed:
    """Return the texts that say what `entry` says."""
    values = {field: getattr(entry, field) for field in FIELDS}
    return Typed(**{field: "" if value is None else str(value) for field, value in values.items()})


def faults(given: Typed, taken: frozenset[str] = frozenset()) -> Mapping[str, str]:
    """Return what is wrong, by field; nothing where the host can be saved. `taken` are names in use."""
    checks: Mapping[str, Callable[[str], str]] = {
        "name": lambda text: _name(text, taken),
        "host_name": lambda text: _word(text, "an address or a host name"),
        "port": _port,
        "user": lambda text: _word(text, "a user name"),
        "identity_file": _key_file,
        "jump": _jump,
    }
    found = {field: check(getattr(given, field).strip()) for field, check in checks.items()}
    return {field: fault for field, fault in found.items() if fault}


def entry(given: Typed) -> HostEntry:
    """Return the host that `given` describes; there must be no faults. An empty field is left to ssh."""
    texts = {field: getattr(given, field).strip() or None for field in FIELDS}
    return HostEntry(
        name=str(texts["name"]),
        origin=Origin.SAVED,
        host_name=texts["host_name"],
        port=int(texts["port"]) if texts["port"] else None,
        user=texts["user"],
        identity_file=texts["identity_file"],
        jump=texts["jump"],
    )


def _name(text: str, taken: frozenset[str]) -> str:
    if not text:
        return "Give the host a name."
    if text == LOCAL:
        return f"“{LOCAL}” is this computer. Choose another name."
    if text in taken:
        return "There is a host of this name already."
    return _word(text, "a name")


def _word(text: str, what: str) -> str:
    if not text:
        return ""
    if len(text) > MAXIMUM:
        return f"This is longer than {MAXIMUM} characters."
    if text.startswith("-") or not _WORD.fullmatch(text):
        return f"This is not {what}: leave out spaces, quotes and a leading dash."
    return ""


def _port(text: str) -> str:
    if text and not (text.isascii() and text.isdigit() and 1 <= int(text[:6]) <= 65535 and len(text) <= 5):
        return "Give a port from 1 to 65535."
    return ""


def _key_file(text: str) -> str:
    if not text:
        return ""
    if text.endswith(".pub"):
        return "This is the public half. Choose the file without .pub."
    if not Path(text).expanduser().is_file():
        return "There is no such file."
    return ""


def _jump(text: str) -> str:
    for hop in filter(None, (part.strip() for part in text.split(","))):
        match = _JUMP.fullmatch(hop)
        if match is None or _word(match["user"] or "", "") or _word(match["host"], "") or _port(match["port"] or ""):
            return "Write user@host:port, several separated by commas."
    return ""
