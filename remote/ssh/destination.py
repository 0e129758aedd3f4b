"""Parse where to connect as a user writes it: ``user@host:port``, an ssh:// URL, or an ssh command line."""

import contextlib
import getopt
import ipaddress
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

from remote.errors import ConnectError, ConnectOutcome

LONGEST = 2000
"""Size limit of a destination in characters."""

_ADDRESS = re.compile(
    r"(?:ssh://)?(?:(?P<user>[^@\s]+)@)?(?:\[(?P<literal>[^\]\s]+)\]|(?P<host>[^:@\s\[\]/]+))(?::(?P<port>\d+))?/?"
)
_IN_CONFIG = "Write this setting into ~/.ssh/config and enter its alias."

_IGNORED = "AaCfgGKkMNnqsTtvVXxYy"
"""Options of ssh(1) without an argument that do not change which host is reached."""

_FIELDS: Mapping[str, str] = MappingProxyType({
    "-p": "port", "-l": "user", "-i": "identity_file", "-J": "jump",
    "port": "port", "user": "user", "identityfile": "identity_file", "proxyjump": "jump", "hostname": "host_name",
})  # fmt: skip
"""Field of each supported option of ssh(1), and of each keyword of its -o in lower case."""


@dataclass(frozen=True, slots=True)
class Destination:
    """Where to connect; None is decided by ~/.ssh/config and OpenSSH's defaults.

    `host` is an alias, a name or an address; `host_name` the address if it differs. `jump` has the syntax of ProxyJump.
    """

    host: str
    user: str | None = None
    port: int | None = None
    identity_file: str | None = None
    jump: str | None = None
    host_name: str | None = None


def parse_destination(text: str) -> Destination:
    """Return the destination in `text`; raise ConnectError (CONFIG) with what is wrong and what to enter."""
    words = text.strip()
    if len(words) > LONGEST:
        raise _invalid(f"Longer than {LONGEST} characters.", "Enter one host per line.")
    return _command(words) if re.match(r"(\S*/)?ssh\s", words) else parse_address(words)


def parse_address(text: str) -> Destination:
    """Return the destination ``user@host:port``, ``[::1]:22`` or ``ssh://user@host:port``; raise ConnectError."""
    user, at, rest = text.rpartition("@")
    if ":" in user.removeprefix("ssh://"):
        raise _invalid("A password is not accepted here.", "Enter it without: Benchwright asks when it signs in.")
    if _is_ipv6(rest) and bool(user) is bool(at):
        return Destination(rest, user or None)
    match = _ADDRESS.fullmatch(text)
    parts = {} if match is None else match.groupdict()
    host = parts.get("literal") or parts.get("host") or ""
    if not host or host.startswith("-") or " " in text or not text.isprintable():
        raise _invalid(
            f"Invalid host name “{text[:60]}”.",
            "Enter an alias of ~/.ssh/config, a name or address, or user@host:port.",
        )
    port = parts.get("port")
    return Destination(host, parts.get("user"), None if port is None else parse_port(port, text))


def is_port(text: str) -> bool:
    """Return whether `text` is a port number."""
    return re.fullmatch(r"\d{1,5}", text, re.ASCII) is not None and 1 <= int(text) <= 65535


def parse_port(text: str, whole: str) -> int:
    """Return a port number; raise ConnectError that cites `whole`."""
    if not is_port(text):
        raise _invalid(f"Invalid port in “{whole[:60]}”.", "Enter a port from 1 to 65535.")
    return int(text)


def _command(text: str) -> Destination:
    """Return the destination of an ssh command line; as in ssh(1), the first value of a setting counts."""
    try:
        options, words = getopt.gnu_getopt(
            shlex.split(text)[1:], f"{_IGNORED}B:b:c:D:E:e:F:I:i:J:L:l:m:O:o:P:p:Q:R:S:W:w:46"
        )
    except (ValueError, getopt.GetoptError) as error:
        raise _invalid(f"Invalid ssh command: {error}.", "Enter it as you type it in a terminal.") from error
    if not words:
        raise _invalid("The ssh command names no host.", "Enter ssh user@host.")
    if len(words) > 1:
        raise _invalid(f"“{words[1][:60]}” is a command for the host.", "Enter the ssh command without it.")
    found: dict[str, str] = {}
    for option, value in options:
        if option[1] not in _IGNORED:
            field, given = _setting(option, value)
            found.setdefault(field, given)
    address, port = parse_address(words[0]), found.get("port")
    if port is not None and address.port not in {None, parse_port(port, text)}:
        raise _invalid(f"Two ports: {address.port} and {port}.", "Enter one of them.")
    return Destination(
        address.host,
        address.user or found.get("user"),
        address.port if port is None else parse_port(port, text),
        found.get("identity_file"),
        found.get("jump"),
        found.get("host_name"),
    )


def _setting(option: str, value: str) -> tuple[str, str]:
    """Return field and value of an option of ssh(1)."""
    keyword, given = option, value
    if option == "-o":
        name, _, given = re.sub(r"\s*[=\s]\s*", "=", value.strip(), count=1).partition("=")
        keyword, option = name.lower(), f"-o {name[:40]}"
    if keyword not in _FIELDS:
        raise _invalid(f"The option {option} of ssh is not supported here.", _IN_CONFIG)
    return _FIELDS[keyword], given


def _is_ipv6(text: str) -> bool:
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(text).version == 6
    return False


def _invalid(message: str, remedy: str) -> ConnectError:
    return ConnectError(ConnectOutcome.CONFIG, message, remedy)
