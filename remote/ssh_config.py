"""OpenSSH's client configuration, read by rules of our own: nothing it says is ever executed."""

import contextlib
import getpass
import glob
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from remote.errors import ConnectError, Outcome
from remote.patterns import matches_list

SYSTEM_CONFIG = Path("/etc/ssh/ssh_config")
LARGEST_FILE = 2**20
DEEPEST_INCLUDE = 16  # readconf.c, READCONF_MAX_DEPTH

_LINE = re.compile(r"([A-Za-z][A-Za-z0-9]*)(?:\s*=\s*|\s+|$)(.*)")
_BLOCKS = frozenset({"host", "match", "include"})
_SETTINGS = frozenset({"hostname", "user", "port", "identityfile", "identitiesonly", "connecttimeout", "proxyjump"})
_UNREAD = frozenset({"proxycommand"})  # a shell's line: its quotes are the shell's, and it is never run


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
        return _read(config, own_folder(), 0)
    return _read(own_folder() / "config", own_folder(), 0) + _read(SYSTEM_CONFIG, SYSTEM_CONFIG.parent, 0)


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
        with path.open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
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
    if keyword in _UNREAD:
        return Entry(keyword, (match[2],), path, number)
    if keyword not in _BLOCKS | _SETTINGS:
        return None
    arguments = _words(match[2], path, number)
    if not arguments:
        raise bad_line(path, number, f"{match[1]} has no value.")
    entry = Entry(keyword, arguments, path, number)
    return _include(entry, folder, depth) if keyword == "include" else entry


_WORD = re.compile(r"""\s*(?:(?P<comment>\#.*)|(?P<word>(?:"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'|\\.|[^\s"'])+))""")
_PIECE = re.compile(r"""(?P<quote>["'])(?P<quoted>(?:\\.|(?!(?P=quote)).)*)(?P=quote)|(?P<plain>\\.|.)""")


def _words(text: str, path: Path, number: int) -> tuple[str, ...]:
    """Split `text` as OpenSSH does: at blanks, minding quotes, up to a comment. Source: misc.c, argv_split."""
    words = []
    position = 0
    rest = text.rstrip()
    while position < len(rest):
        match = _WORD.match(rest, position)
        if match is None:
            raise bad_line(path, number, "a quotation mark is missing.")
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


def literal_names(entries: Sequence[Entry]) -> Iterator[str]:
    """Yield the names on Host lines that are names, not patterns."""
    for entry in entries:
        if entry.keyword == "host":
            yield from (name for name in entry.arguments if not re.search(r"[*?!]", name))
        for file in entry.files:
            yield from literal_names(file)


@dataclass(slots=True)
class Lookup:
    """What the configuration says about one host: of each setting the first line that applies."""

    name: str
    user: str | None = None  # what was given explicitly and so comes before any line
    found: dict[str, Entry] = field(default_factory=dict)
    identity_files: list[Entry] = field(default_factory=list)
    _final: bool = False
    _asks_for_final: bool = False
    _settled: str = ""  # the host name after the first pass; a final one does not change it

    def run(self, entries: Sequence[Entry]) -> None:
        """Take every setting of `entries` that applies; once more where a line asks for a final pass."""
        self._walk(entries, active=True)
        if self._asks_for_final:
            self._settled = self.host_name()
            self._final = True
            self._walk(entries, active=True)

    def _walk(self, entries: Sequence[Entry], *, active: bool) -> None:
        applies = active
        for entry in entries:
            if entry.keyword == "host":
                applies = active and matches_list(entry.arguments, self.name)
            elif entry.keyword == "match":
                applies = active and self._matches(entry)
            elif entry.keyword == "include":
                for file in entry.files:
                    self._walk(file, active=applies)
            elif applies:
                self._take(entry)

    def _take(self, entry: Entry) -> None:
        if entry.keyword == "identityfile":
            if entry.arguments[0] not in [known.arguments[0] for known in self.identity_files]:
                self.identity_files.append(entry)
            return
        # Of ProxyCommand and ProxyJump, the one that comes first holds. Source: ssh_config(5), ProxyJump.
        keyword = "proxyjump" if entry.keyword == "proxycommand" else entry.keyword
        self.found.setdefault(keyword, entry)

    def first(self, keyword: str) -> str | None:
        """Return the first argument of the setting, or None where no line sets it."""
        entry = self.found.get(keyword)
        return None if entry is None else entry.arguments[0]

    def host_name(self) -> str:
        """Return the name to connect to: HostName with %h filled in, or the host's own name."""
        if self._settled:
            return self._settled
        entry = self.found.get("hostname")
        return self.name if entry is None else expand(entry, entry.arguments[0], {"h": self.name})

    def _matches(self, entry: Entry) -> bool:
        """Return whether a Match line applies. What is harmless comes first: a command matters if all else holds."""
        words = list(entry.arguments)
        unknown: list[str] = []
        while words:
            word = words.pop(0).lower()
            wanted, criterion = not word.startswith("!"), word.removeprefix("!")
            if criterion in {"all", "canonical", "final"}:
                holds: bool | None = self._holds_alone(criterion)
            elif words:
                holds = self._holds(criterion, words.pop(0).split(","))
            else:
                raise entry.error(f"Match {criterion} has no value.")
            if holds is None:
                unknown.append(criterion)
            elif holds is not wanted:
                return False
        if unknown:
            raise _not_evaluated(entry, unknown[0])
        return True

    def _holds_alone(self, criterion: str) -> bool:
        if criterion == "final":
            self._asks_for_final = True
        return self._final or criterion == "all"  # OpenSSH takes its final pass for the canonical one as well

    def _holds(self, criterion: str, patterns: Sequence[str]) -> bool | None:
        """Return whether a criterion holds, or None where finding out is not for us."""
        if criterion not in {"host", "originalhost", "user", "localuser"}:
            return None
        subject = {
            "host": self.host_name,
            "originalhost": lambda: self.name,
            "user": lambda: self.user or self.first("user") or local_user(),
            "localuser": local_user,
        }[criterion]()
        return matches_list(patterns, subject)


def _not_evaluated(entry: Entry, criterion: str) -> ConnectError:
    if criterion == "exec":
        what = "Match exec would run a command on this computer, which is never done from here."
    else:
        what = f"Match {criterion} is not understood here."
    return ConnectError(
        Outcome.NOT_ALLOWED,
        f"{entry.path}, line {entry.number}: {what}",
        "Give the host a Host block of its own before that line, or name the host's address, port and user here.",
    )


def expand(entry: Entry, text: str, tokens: dict[str, str]) -> str:
    """Return `text` with ``%x`` replaced by the token ``x`` and ``%%`` by ``%``; raise ConnectError for any other."""

    def replace(match: re.Match[str]) -> str:
        if match[1] == "%":
            return "%"
        if match[1] not in tokens:
            raise entry.error(f"{match[0]} is not understood here.")
        return tokens[match[1]]

    return re.sub(r"%(.?)", replace, text) if "%" in text else text
