"""What a command opens on its host: the paths judged there right before it starts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

ANY_SIZE = 10**18
"""Bytes that no file has: whatever is there is too short."""

MOST = 2000
"""Targets of one command. The kernel takes some 2 MB of arguments (execve(2))."""


class Use(StrEnum):
    """What a command does with a path, and so what may be found there."""

    WRITE = "write"
    """It writes, truncates or removes what is there: nothing but a file that the step itself made may be."""
    READ = "read"
    """It reads a device or a file of at least `size` bytes, and lays out anew a file that is shorter."""
    OVERWRITE = "overwrite"
    """It writes, and the user said so: a regular file that nothing else uses, but no device."""
    NAME = "name"
    """A program of which nothing is known is given the path: where the command could write to block devices, it may be
    anything but one or a directory that has one."""
    REFUSE = "refuse"
    """It must not run; the path is the reason, as a sentence."""
    UNSURE = "unsure"
    """It cannot be judged; the path is the reason. It runs where it can write to no block device all the same."""
    OPENS = "opens"
    """The command has the kernel open devices, as mount(8) does, so that this may not be denied to it."""
    LEAVES = "leaves"
    """The command may have another service act for it, or change a device in another way than by writing to it."""
    RAISES = "raises"
    """The command may become root, or another account."""


class Match(StrEnum):
    """Which paths are meant."""

    EXACT = "exact"
    NUMBERED = "numbered"
    """The path followed by numbers and dots, as in fio's “job.0.1” and “job_bw.1.log”."""
    PREFIX = "prefix"
    """Whatever begins like the path."""
    PATTERN = "pattern"
    """Whatever the host's shell makes of the path: ``*``, ``?``, ``[a-z]``, and ``${NAME}`` of its environment."""
    BELOW = "below"
    """The pattern, and whatever is in the directories that it names."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path that a command opens, relative to the step's private directory where it is not absolute."""

    path: str
    use: Use = Use.WRITE
    match: Match = Match.EXACT
    size: int = 0

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The target as resources/targets.sh reads it."""
        return self.use, self.match, str(self.size), self.path


def refused(reason: str) -> Target:
    """Return the target of a command that must not run, wherever; `reason` is a sentence."""
    return Target(reason, Use.REFUSE)


def unsure(reason: str) -> Target:
    """Return the target of a command that cannot be judged, and does no harm where it can write to no block device."""
    return Target(reason, Use.UNSURE)


def reasons(targets: Iterable[Target], use: Use = Use.REFUSE) -> tuple[str, ...]:
    """Return why a command must not run, or with UNSURE cannot be judged; () where nothing is against it."""
    return tuple(dict.fromkeys(target.path for target in targets if target.use is use))


def agreed(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return `targets` of a user who agreed that files may be overwritten; devices may still not."""
    return tuple(_agreed(target) for target in targets)


def bounded(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return each target once; more than MOST are refused as a whole."""
    found = tuple(dict.fromkeys(targets))
    return found if len(found) <= MOST else (refused(f"It names {len(found)} paths; {MOST} at most can be judged."),)


def _agreed(target: Target) -> Target:
    if target.use is Use.WRITE:
        return replace(target, use=Use.OVERWRITE)
    return replace(target, size=0) if target.use is Use.READ else target
