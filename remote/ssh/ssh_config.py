"""OpenSSH's client configuration, read by rules of our own: reading it executes nothing."""

import contextlib
import functools
import getpass
import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from remote.errors import ConnectError, Outcome
from remote.local_file import read_bounded
from remote.ssh.patterns import matches_list

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
_WHOLE_LINES = frozenset({"proxycommand"})  # a shell's line: its quotes are the shell's


@dataclass(frozen=True, slots=True)
class Entry:
    """One line that matters here. `files` are the contents of what an Include line names."""

    keyword: str
    arguments: tuple[str, ...]
    path: Path
    number: int
    files: tuple[tuple["Entry", ...], ...] = ()

    def error(self, what: str, remedy: str = "Mend the line, then connect again.") -> ConnectError:
        """Return the error that says what is wrong with this line."""
        return bad_line(self.path, self.number, what, remedy)


def bad_line(path: Path, number: int, what: str, remedy: str = "Mend the line, then connect again.") -> ConnectError:
    """Return the error that names a line of a configuration file."""
    return ConnectError(Outcome.CONFIG, f"{path}, line {number}: {what}", remedy)


def load(config: Path | None) -> tuple[Entry, ...]:
    """Return the lines of `config`, or of ~/.ssh/config and then the system's, where it is None.

    Missing files are empty. Raises ConnectError naming file and line for what cannot be understood.
    """
    if config is not None:
        return load_own(config)
    begin = Entry("match", ("all",), SYSTEM_CONFIG, 0)  # the user's last block ends with the user's file
    return (*load_own(), begin, *_read(SYSTEM_CONFIG, SYSTEM_CONFIG.parent, 0))


def load_own(config: Path | None = None) -> tuple[Entry, ...]:
    """Return the lines of ~/.ssh/config (or `config`) and of what it includes; raise ConnectError as load() does."""
    return _read(config or own_folder() / "config", own_folder(), 0)


def own_folder() -> Path:
    """Return the folder of the user's SSH files."""
    return Path.home() / ".ssh"


def local_user() -> str:
    """Return the name of the user on this computer, or an empty string where nobody knows it."""
    with contextlib.suppress(KeyError, OSError, ImportError):
        return getpass.getuser()
    return ""


def _read(path: Path, folder: Path, depth: int) -> tuple[Entry, ...]:
    try:
        content = read_bounded(path, LARGEST_FILE)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as error:
        raise bad_line(path, 1, f"the file cannot be read: {error.strerror}.", "Mend its permissions.") from error
    if len(content) > LARGEST_FILE:
        raise bad_line(path, 1, f"the file is larger than {LARGEST_FILE // 2**10} KiB.")
    lines = content.decode("utf-8", "replace").split("\n")
    entries = (_entry(path, number, line.strip(), folder, depth) for number, line in enumerate(lines, start=1))
    return tuple(entry for entry in entries if entry is not None)


def _entry(path: Path, number: int, line: str, folder: Path, depth: int) -> Entry | None:
    """Return what `line` says, or None where it is a comment or a setting that does not matter here."""
    if not line or line.startswith("#"):
        return None
    match = _LINE.fullmatch(line)
    if match is None:
        raise bad_line(path, number, f"“{line[:60]}” is no setting.")
    keyword = match[1].lower()
    if keyword not in _BLOCKS | _SETTINGS | _WHOLE_LINES:
        return None
    arguments = _words(match[2], path, number)
    if not arguments:
        raise bad_line(path, number, f"{match[1]} has no value.")
    if keyword in _WHOLE_LINES:
        return Entry(keyword, (match[2],), path, number)
    entry = Entry(keyword, arguments, path, number)
    return _include(entry, folder, depth) if keyword == "include" else entry


_WORD = re.compile(r"""\s*(?:(?P<comment>\#.*)|(?P<word>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'])+))""")
_PIECE = re.compile(r"""(?P<quote>["'])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<plain>\\.|.)""")


def _words(text: str, path: Path, number: int) -> tuple[str, ...]:
    words = _split(text)
    if words is None:
        raise bad_line(path, number, "a quotation mark is missing.")
    return words


@functools.lru_cache(maxsize=1024)
def _split(text: str) -> tuple[str, ...] | None:
    """Split `text` as OpenSSH does: at blanks, minding quotes, up to a comment; None where a quote is not closed.

    Source: misc.c, argv_split. The files are read anew for every host, and a line with a hundred names is long.
    """
    words = []
    position = 0
    rest = text.rstrip()
    while position < len(rest):
        match = _WORD.match(rest, position)
        if match is None:
            return None
        if match["comment"]:
            break
        words.append("".join(_unquoted(piece) for piece in _PIECE.finditer(match["word"])))
        position = match.end()
    return tuple(words)


def _unquoted(piece: re.Match[str]) -> str:
    text: str = piece["plain"] or piece["quoted"] or ""
    return re.sub(r"\\([\"'\\])", r"\1", text)


def _include(entry: Entry, folder: Path, depth: int) -> Entry:
    if depth >= DEEPEST_INCLUDE:
        raise entry.error(
            f"files are included more than {DEEPEST_INCLUDE} deep.", "Look for a file that includes itself."
        )
    patterns = [str(folder / Path(argument).expanduser()) for argument in entry.arguments]
    paths = [Path(path) for pattern in patterns for path in sorted(glob.glob(pattern))]  # noqa: PTH207 (absolute ones)
    files = tuple(_read(path, folder, depth + 1) for path in paths)
    return Entry(entry.keyword, entry.arguments, entry.path, entry.number, files)


_NO_NETWORK = "systemd-ssh-proxy"
"""A ProxyCommand that reaches this computer or its virtual machines by sockets. Source: systemd-ssh-proxy(1)."""


def literal_names(entries: Sequence[Entry]) -> list[str]:
    """Return the names on Host lines, without patterns and without names that no network leads to.

    Those contain a slash (``machine/web``), or their ProxyCommand is systemd-ssh-proxy (``.host``).
    """
    blocks = [(entry, command) for entry, command in _hosts(entries, [None]) if entry is not None]
    local = [entry.arguments for entry, command in blocks if command and _NO_NETWORK in command.split()[0]]
    names = dict.fromkeys(name for entry, _ in blocks for name in entry.arguments if not re.search(r"[*?!/]", name))
    return [name for name in names if not any(matches_list(patterns, name) for patterns in local)]


def _hosts(entries: Sequence[Entry], block: list[Entry | None]) -> Iterator[tuple[Entry | None, str]]:
    """Yield each Host line, and with it each ProxyCommand of its block. `block` holds the Host line that applies."""
    for entry in entries:
        if entry.keyword in {"host", "match"}:
            block[0] = entry if entry.keyword == "host" else None
            yield block[0], ""
        elif entry.keyword == "proxycommand":
            yield block[0], entry.arguments[0]
        for file in entry.files:
            yield from _hosts(file, [block[0]])
