"""Changes settings of a host as root, notes down there what they were, and puts them back, after a crash, too."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from remote.errors import RemoteError
from remote.jobs.lease import workstation_name
from remote.plain import plain
from remote.script import ask
from remote.session import Session

SCRIPT = "tune.sh"

DROP_CACHES = "sync; echo 3 > /proc/sys/vm/drop_caches"
"""Writes out what is dirty, then forgets all that is cached: pages, directory entries and inodes (proc(5))."""

DROP_PATH = "/proc/sys/vm/drop_caches"

DROP_TIME = 300.0
"""Seconds that writing out what is dirty may take."""


class TuningError(RemoteError):
    """A setting of a host cannot be changed, or be put back."""


class SettingKind(StrEnum):
    """What can be changed on a host."""

    GOVERNOR = "governor"
    SCHEDULER = "scheduler"
    READAHEAD = "readahead"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value that a setting is to have, as the kernel writes it. `device` is a path; the governor has none."""

    kind: SettingKind
    value: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class Applied:
    """A setting that now has its value: the kernel's file, what it said before, and what it says now."""

    path: str
    before: str
    during: str


@dataclass(frozen=True, slots=True)
class Note:
    """What is noted down on a host about a setting that is changed. `age` is in seconds, None where not told."""

    path: str
    before: str
    during: str
    run: str
    workstation: str
    age: float | None


@dataclass(frozen=True, slots=True)
class PutBack:
    """What became of a setting of `run`: put back, unless `problem` says why not. Then it is `kept` noted, or not."""

    path: str
    run: str
    problem: str = ""
    kept: bool = False


def apply(root: Session, run: str, settings: Sequence[Setting]) -> tuple[tuple[Applied, ...], Mapping[Setting, str]]:
    """Give `settings` their values; return what was changed, and why those that could not be were not.

    What was before is on the host before anything is changed. A setting that has its value already is not changed.
    Raises TuningError where the host gives no answer.
    """
    words = [word for each in settings for word in (each.kind.value, each.device or "-", each.value)]
    said = ask(root, SCRIPT, "set", run, workstation_name(), *words, timeout=60.0)
    if "ended" not in said:
        raise TuningError(f"{root.host} did not say whether its settings were changed.", host=root.host)
    applied = tuple(Applied(*match.groups()) for match in _matching(said, "set", _SET))
    failed = {
        setting: plain(said[f"failed{number}"]) or "the host gave no reason"
        for number, setting in enumerate(settings, 1)
        if f"failed{number}" in said
    }
    return applied, failed


def notes(session: Session) -> tuple[Note, ...]:
    """Return what is noted down on the session's host. Needs no root."""
    said = ask(session, SCRIPT, "list")
    now = said.get("now", "")
    return tuple(_note(match, now) for match in _matching(said, "note", _NOTE))


def put_back(root: Session, run: str = "") -> tuple[PutBack, ...]:
    """Put back what `run` has changed on the host, or whatever is noted down there.

    A setting that somebody else has changed since is left as it is, and so is one whose device is gone. Raises
    TuningError where the host gives no answer.
    """
    said = ask(root, SCRIPT, "restore", run or "-", timeout=60.0)
    if "ended" not in said:
        raise TuningError(f"{root.host} did not say whether its settings were put back.", host=root.host)
    back = [PutBack(path, of, _problem(outcome)) for of, path, _before, outcome in _groups(said, "back", _BACK)]
    failed = [PutBack(path, of, plain(why), kept=True) for of, path, why in _groups(said, "failed", _FAILED)]
    return (*back, *failed)


def drop_caches(root: Session) -> None:
    """Let the host's page cache be empty; raise TuningError where that is refused."""
    done = root.run(["sh", "-c", DROP_CACHES], timeout=DROP_TIME)
    if done.exit_status != 0:
        raise TuningError(
            f"The page cache of {root.host} could not be dropped: {plain(done.stderr) or 'no reason was given'}.",
            "In a container only the host's own root may do it.",
            host=root.host,
        )


_WORD = r"([A-Za-z0-9_.@?-]{1,64})"
_PATH = r"(/sys/[A-Za-z0-9_.:/!-]{1,200})"
_SET = re.compile(rf"{_PATH} {_WORD} {_WORD}")
_NOTE = re.compile(rf"{_WORD} {_WORD} {_WORD} {_WORD} {_WORD} {_PATH}")
_BACK = re.compile(rf"{_WORD} {_PATH} {_WORD} (gone|restored|other {_WORD})")
_FAILED = re.compile(rf"{_WORD} {_PATH} (.*)")


def _matching(said: Mapping[str, str], word: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the answers `word`1, `word`2 … that have the form of `pattern`."""
    for name, value in said.items():
        if re.fullmatch(rf"{word}\d{{1,5}}", name) and (match := pattern.fullmatch(value)):
            yield match


def _groups(said: Mapping[str, str], word: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    for match in _matching(said, word, pattern):
        yield match.groups()[:4]


def _note(match: re.Match[str], now: str) -> Note:
    before, during, run, workstation, since, path = match.groups()
    told = re.fullmatch(r"\d{1,12}", since) and re.fullmatch(r"\d{1,12}", now)
    age = max(0.0, float(int(now) - int(since))) if told else None
    return Note(path, before, during, run, workstation, age)


def _problem(outcome: str) -> str:
    if outcome == "gone":
        return "the device is gone"
    if outcome.startswith("other "):
        return f"it was changed to {outcome.removeprefix('other ')} since; it was left as it is"
    return ""
