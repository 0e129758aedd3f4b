"""Change settings of a host as root, save their previous values on the host, and restore them, also after a crash."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from remote.errors import RemoteError
from remote.jobs.lease import workstation_name
from remote.questions import plain
from remote.script import query_script
from remote.session import Session

SCRIPT = "tune.sh"

DROP_CACHES = "sync; echo 3 > /proc/sys/vm/drop_caches"
"""Write dirty pages, then drop clean caches: pages, directory entries and inodes (proc(5))."""

DROP_PATH = "/proc/sys/vm/drop_caches"

DROP_TIME = 300.0
"""Timeout in seconds; `sync` writes all dirty pages."""


class TuningError(RemoteError):
    """A setting of a host cannot be changed or restored."""


class SettingKind(StrEnum):
    """A setting that can be changed on a host."""

    GOVERNOR = "governor"
    SCHEDULER = "scheduler"
    READAHEAD = "readahead"


@dataclass(frozen=True, slots=True)
class Setting:
    """A value for a setting, in the kernel's spelling. `device` is a path; empty for the governor."""

    kind: SettingKind
    value: str
    device: str = ""


@dataclass(frozen=True, slots=True)
class AppliedSetting:
    """A changed setting: the kernel's file, its value before, and its value now."""

    path: str
    before: str
    during: str


@dataclass(frozen=True, slots=True)
class SettingNote:
    """The record, on a host, of a changed setting. `age` is in seconds, None if unknown."""

    path: str
    before: str
    during: str
    run: str
    workstation: str
    age: float | None


@dataclass(frozen=True, slots=True)
class RestoredSetting:
    """Outcome of restoring a setting of `run`: restored, or the `problem`; `kept` if its record stays on the host."""

    path: str
    run: str
    problem: str = ""
    kept: bool = False


def apply(
    root: Session, run: str, settings: Sequence[Setting]
) -> tuple[tuple[AppliedSetting, ...], Mapping[Setting, str]]:
    """Apply `settings`; return the changed settings, and the reason of each failure.

    Previous values are saved on the host before a setting is changed. A setting that has its value already is not
    changed. Raises TuningError if the host's answer is incomplete.
    """
    arguments = [word for each in settings for word in (each.kind.value, each.device or "-", each.value)]
    reply = query_script(root, SCRIPT, "set", run, workstation_name(), *arguments, timeout=60.0)
    if "ended" not in reply:
        raise TuningError(f"{root.host}: no answer whether settings were changed.", host=root.host)
    applied = tuple(AppliedSetting(*match.groups()) for match in _matching(reply, "set", _SET))
    failed = {
        setting: plain(reply[f"failed{number}"]) or "no reason reported"
        for number, setting in enumerate(settings, 1)
        if f"failed{number}" in reply
    }
    return applied, failed


def notes(session: Session) -> tuple[SettingNote, ...]:
    """Return the records of changed settings on the session's host. Needs no root."""
    reply = query_script(session, SCRIPT, "list")
    now = reply.get("now", "")
    return tuple(_note(match, now) for match in _matching(reply, "note", _NOTE))


def restore_settings(root: Session, run: str = "") -> tuple[RestoredSetting, ...]:
    """Restore the settings that `run` has changed on the host, or all recorded ones.

    A setting that was changed by another program since, or whose device is gone, is not changed. Raises TuningError if
    the host's answer is incomplete.
    """
    reply = query_script(root, SCRIPT, "restore", run or "-", timeout=60.0)
    if "ended" not in reply:
        raise TuningError(f"{root.host}: no answer whether settings were restored.", host=root.host)
    outcomes = _groups(reply, "back", _RESTORED)
    back = [RestoredSetting(path, of, _problem(outcome)) for of, path, _before, outcome in outcomes]
    failed = [RestoredSetting(path, of, plain(why), kept=True) for of, path, why in _groups(reply, "failed", _FAILED)]
    return (*back, *failed)


def drop_caches(root: Session) -> None:
    """Drop the host's page cache; raise TuningError if that fails."""
    done = root.run(["sh", "-c", DROP_CACHES], timeout=DROP_TIME)
    if done.exit_status != 0:
        raise TuningError(
            f"The page cache of {root.host} could not be dropped: {plain(done.stderr) or 'no reason reported'}.",
            "In a container, run this on its host: only root there can drop the cache.",
            host=root.host,
        )


_WORD = r"([A-Za-z0-9_.@?-]{1,64})"
_PATH = r"(/sys/[A-Za-z0-9_.:/!-]{1,200})"
_SET = re.compile(rf"{_PATH} {_WORD} {_WORD}")
_NOTE = re.compile(rf"{_WORD} {_WORD} {_WORD} {_WORD} {_WORD} {_PATH}")
_RESTORED = re.compile(rf"{_WORD} {_PATH} {_WORD} (gone|restored|other {_WORD})")
_FAILED = re.compile(rf"{_WORD} {_PATH} (.*)")


def _matching(reply: Mapping[str, str], key: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """Yield the answers `key`1, `key`2 … that match `pattern`."""
    for name, value in reply.items():
        if re.fullmatch(rf"{key}\d{{1,5}}", name) and (match := pattern.fullmatch(value)):
            yield match


def _groups(reply: Mapping[str, str], key: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, ...]]:
    for match in _matching(reply, key, pattern):
        yield match.groups()[:4]


def _note(match: re.Match[str], now: str) -> SettingNote:
    before, during, run, workstation, since, path = match.groups()
    valid = re.fullmatch(r"\d{1,12}", since) and re.fullmatch(r"\d{1,12}", now)
    age = max(0.0, float(int(now) - int(since))) if valid else None
    return SettingNote(path, before, during, run, workstation, age)


def _problem(outcome: str) -> str:
    if outcome == "gone":
        return "the device is gone"
    if outcome.startswith("other "):
        return f"not restored: changed to {outcome.removeprefix('other ')} since"
    return ""
