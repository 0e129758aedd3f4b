"""Parser of OpenSSH's client configuration; reading it executes nothing."""

import contextlib
import functools
import getpass
import glob
import hashlib
import os
import re
import socket
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from remote.errors import ConnectError, ConnectOutcome
from remote.local_file import read_bounded
from suites.quantities import quantity

# OpenSSH's patterns in ssh_config and known_hosts: only `*` and `?`.


def matches(pattern: str, text: str) -> bool:
    """Return whether `text` matches `pattern`; `*` matches any text, `?` one character.

    Source: ssh_config(5), PATTERNS. Brackets are literal, unlike in a shell: known_hosts has ``[host]:port``.
    """
    # Backtracks to the last star only, so that the time is at most the product of the lengths: input may be hostile.
    collapsed = re.sub(r"\*+", "*", pattern)
    here = there = 0
    star, mark = -1, 0
    while there < len(text):
        if here < len(collapsed) and collapsed[here] == "*":
            star, mark = here, there
            here += 1
        elif here < len(collapsed) and collapsed[here] in {"?", text[there]}:
            here, there = here + 1, there + 1
        elif star >= 0:  # extend the last star by one character
            mark += 1
            here, there = star + 1, mark
        else:
            return False
    return collapsed[here:] in {"", "*"}


def matches_list(patterns: Iterable[str], text: str) -> bool:
    """Return whether a pattern of the list matches `text`, and no negated one (`!`) does."""
    found = False
    for pattern in patterns:
        if pattern.startswith("!"):
            if matches(pattern[1:], text):
                return False
        elif matches(pattern, text):
            found = True
    return found


SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
LARGEST_FILE = 2**20
DEEPEST_INCLUDE = 16  # readconf.c, READCONF_MAX_DEPTH

_LINE = re.compile(r"([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+|$)(.*)")
_BLOCKS = frozenset({"host", "match", "include"})
_SETTINGS = frozenset(
    {
        "addressfamily", "certificatefile", "connecttimeout", "globalknownhostsfile", "hashknownhosts", "hostkeyalias",
        "hostname", "identitiesonly", "identityagent", "identityfile", "port", "proxyjump", "proxyusefdpass",
        "serveralivecountmax", "serveraliveinterval", "stricthostkeychecking", "user", "userknownhostsfile",
    }
)  # fmt: skip
_WHOLE_LINES = frozenset({"proxycommand"})  # passed to a shell with its quotes


@dataclass(frozen=True, slots=True)
class Entry:
    """One line with a supported keyword. `files` are the entries of an Include line's files."""

    keyword: str
    arguments: tuple[str, ...]
    path: Path
    number: int
    files: tuple[tuple["Entry", ...], ...] = ()

    def error(self, what: str, remedy: str = "Correct the line, then connect again.") -> ConnectError:
        """Return an error about this line."""
        return bad_line(self.path, self.number, what, remedy)


def bad_line(path: Path, number: int, what: str, remedy: str = "Correct the line, then connect again.") -> ConnectError:
    """Return an error about a line of a configuration file."""
    return ConnectError(ConnectOutcome.CONFIG, f"{path}, line {number}: {what}", remedy)


def load(config: Path | None) -> tuple[Entry, ...]:
    """Return the entries of `config`, by default of ~/.ssh/config and then of the system's file.

    Missing files are empty. Raises ConnectError with file and line for invalid lines.
    """
    if config is not None:
        return load_user_config(config)
    begin = Entry("match", ("all",), SYSTEM_CONFIG, 0)  # ends the last block of the user's file
    return (*load_user_config(), begin, *_read(SYSTEM_CONFIG, SYSTEM_CONFIG.parent, 0))


def load_user_config(config: Path | None = None) -> tuple[Entry, ...]:
    """Return the entries of ~/.ssh/config (or `config`) and its includes; raise ConnectError as load() does."""
    return _read(config or user_config(), user_folder(), 0)


def user_config() -> Path:
    """Return the user's ~/.ssh/config."""
    return user_folder() / "config"


def user_folder() -> Path:
    """Return the user's ~/.ssh."""
    return Path.home() / ".ssh"


def local_user() -> str:
    """Return the name of the user on this computer, or an empty string if it is unknown."""
    with contextlib.suppress(KeyError, OSError, ImportError):
        return getpass.getuser()
    return ""


def _read(path: Path, folder: Path, depth: int) -> tuple[Entry, ...]:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise bad_line(path, 1, f"the file cannot be read: {error.strerror}.", "Correct its permissions.") from error
    if len(content) > LARGEST_FILE:
        raise bad_line(path, 1, f"the file is larger than {quantity(LARGEST_FILE)}.")
    lines = content.decode("utf-8", "replace").split("\n")
    entries = (_entry(path, number, line.strip(), folder, depth) for number, line in enumerate(lines, start=1))
    return tuple(entry for entry in entries if entry is not None)


def _entry(path: Path, number: int, line: str, folder: Path, depth: int) -> Entry | None:
    """Parse `line`; return None for a comment or an unsupported keyword."""
    if not line or line.startswith("#"):
        return None
    match = _LINE.fullmatch(line)
    if match is None:
        raise bad_line(path, number, f"invalid line “{line[:60]}”.")
    keyword = match[1].lower()
    if keyword not in _BLOCKS | _SETTINGS | _WHOLE_LINES:
        return None
    arguments = _arguments(match[2], path, number)
    if not arguments:
        raise bad_line(path, number, f"{match[1]} has no value.")
    if keyword in _WHOLE_LINES:
        return Entry(keyword, (match[2],), path, number)
    entry = Entry(keyword, arguments, path, number)
    return _include(entry, folder, depth) if keyword == "include" else entry


_WORD = re.compile(r"""\s*(?:(?P<comment>\#.*)|(?P<word>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'])+))""")
_PIECE = re.compile(r"""(?P<quote>["'])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<plain>\\.|.)""")


def _arguments(text: str, path: Path, number: int) -> tuple[str, ...]:
    arguments = _split(text)
    if arguments is None:
        raise bad_line(path, number, "missing quotation mark.")
    return arguments


@functools.lru_cache(maxsize=1024)
def _split(text: str) -> tuple[str, ...] | None:
    """Split `text` as OpenSSH does: at blanks outside quotes, up to a comment; None if a quote is not closed.

    Source: misc.c, argv_split. Cached: the files are read for every host.
    """
    arguments = []
    position = 0
    rest = text.rstrip()
    while position < len(rest):
        match = _WORD.match(rest, position)
        if match is None:
            return None
        if match["comment"]:
            break
        arguments.append("".join(_unquoted(piece) for piece in _PIECE.finditer(match["word"])))
        position = match.end()
    return tuple(arguments)


def _unquoted(piece: re.Match[str]) -> str:
    text: str = piece["plain"] or piece["quoted"] or ""
    return re.sub(r"\\([\"'\\])", r"\1", text)


def _include(entry: Entry, folder: Path, depth: int) -> Entry:
    if depth >= DEEPEST_INCLUDE:
        raise entry.error(
            f"Include is nested more than {DEEPEST_INCLUDE} deep.", "Check for a file that includes itself."
        )
    patterns = [str(folder / Path(argument).expanduser()) for argument in entry.arguments]
    paths = [Path(path) for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207 (absolute ones)
    files = tuple(_read(path, folder, depth + 1) for path in paths)
    return Entry(entry.keyword, entry.arguments, entry.path, entry.number, files)


_NO_NETWORK = "systemd-ssh-proxy"
"""ProxyCommand that connects to this computer or its virtual machines. Source: systemd-ssh-proxy(1)."""


def literal_names(entries: Sequence[Entry]) -> list[str]:
    """Return the names of Host lines, without patterns and without names of local sockets.

    The latter contain a slash (``machine/web``), or their ProxyCommand is systemd-ssh-proxy (``.host``).
    """
    blocks = [(entry, command) for entry, command in _hosts(entries, [None]) if entry is not None]
    local = [entry.arguments for entry, command in blocks if command and _NO_NETWORK in command.split()[0]]
    names = dict.fromkeys(name for entry, _ in blocks for name in entry.arguments if not re.search(r"[*?!/]", name))
    return [name for name in names if not any(matches_list(patterns, name) for patterns in local)]


def _hosts(entries: Sequence[Entry], block: list[Entry | None]) -> Iterator[tuple[Entry | None, str]]:
    """Yield each Host line, and each ProxyCommand with the Host line of its block; `block` is the current Host line."""
    for entry in entries:
        if entry.keyword in {"host", "match"}:
            block[0] = entry if entry.keyword == "host" else None
            yield block[0], ""
        elif entry.keyword == "proxycommand":
            yield block[0], entry.arguments[0]
        for file in entry.files:
            yield from _hosts(file, [block[0]])


# Expansion of tokens (%h), environment variables and ~.


FILE_TOKENS = ("C", "d", "h", "i", "k", "L", "l", "n", "p", "r", "u")
"""Tokens in file names: IdentityFile, CertificateFile, IdentityAgent, UserKnownHostsFile."""

_SHELL_CHARACTERS = frozenset("'`\"$\\;&<>|(){}")
"""Characters not allowed in host and user names passed to a shell. Source: ssh.c, valid_hostname and valid_ruser."""


@dataclass(frozen=True, slots=True)
class Tokens:
    """Values for the tokens of ssh_config(5). `alias` is HostKeyAlias."""

    name: str
    host_name: str
    port: str
    user: str
    alias: str = ""

    def chosen(self, letters: Iterable[str]) -> dict[str, str]:
        """Return the values of the tokens `letters`. Source: ssh_config(5), TOKENS."""
        host = socket.gethostname()
        connection = f"{host}{self.host_name}{self.port}{self.user}"
        every = {
            "C": hashlib.sha1(connection.encode(), usedforsecurity=False).hexdigest(),
            "d": str(Path.home()),
            "h": self.host_name,
            "i": str(os.getuid()),
            "k": self.alias or self.name,
            "L": host.partition(".")[0],
            "l": host,
            "n": self.name,
            "p": self.port,
            "r": self.user,
            "u": local_user(),
        }
        return {letter: every[letter] for letter in letters}


def expand(entry: Entry, text: str, tokens: Mapping[str, str]) -> str:
    """Return `text` with ``%x`` replaced by the token ``x`` and ``%%`` by ``%``; raise ConnectError for any other."""

    def replace(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        if match[1] not in tokens:
            raise entry.error(f"{match[0]} is not supported.")
        return tokens[match[1]]

    return re.sub(r"%(.?)", replace, text) if "%" in text else text


def expand_for_shell(entry: Entry, text: str, tokens: Mapping[str, str]) -> str:
    """Return `text`, a shell command line, with its tokens expanded.

    Raises ConnectError if an expanded name contains characters that a shell interprets.
    """
    for letter in {"h", "k", "n", "r"} & tokens.keys():
        if f"%{letter}" in text and _is_harmful(tokens[letter]):
            raise entry.error(
                f"“{tokens[letter][:60]}” cannot be passed to a shell for %{letter}.",
                "Use a name without spaces, quotes and other shell characters.",
            )
    return expand(entry, text, tokens)


def _is_harmful(name: str) -> bool:
    return name.startswith("-") or any(
        character in _SHELL_CHARACTERS or character.isspace() or not character.isprintable() for character in name
    )


def expand_file(entry: Entry, text: str, tokens: Tokens) -> Path:
    """Return the path `text` with tokens, ``${VARIABLE}`` and ``~`` expanded."""

    def variable(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise entry.error(f"environment variable {match[1][:40]} is not set.")
        return os.environ[match[1]]

    filled = re.sub(r"\$\{(\w+)\}", variable, expand(entry, text, tokens.chosen(FILE_TOKENS)))
    return Path(filled).expanduser()
