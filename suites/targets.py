"""Targets of a command: the paths it opens on its host, checked there right before it starts."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from enum import StrEnum

ANY_SIZE = 10**18
"""More bytes than any file has: every file is too short."""

MOST = 2000
"""Maximum targets of one command. The kernel accepts about 2 MB of arguments (execve(2))."""


class PathUse(StrEnum):
    """How a command uses a path, and so what may exist there."""

    WRITE = "write"
    """Writes, truncates or removes: only a file that the step itself created is allowed."""
    READ = "read"
    """Reads a device or a file of at least `size` bytes; lays out a shorter file again."""
    OVERWRITE = "overwrite"
    """Writes with the user's consent: a regular file without other users is allowed, a device is not."""
    NAME = "name"
    """Operand of an unknown program: where the command could write to block devices, it must be neither a block device
    nor a directory that contains one."""
    REFUSE = "refuse"
    """The command must not run; the path is the reason, as a sentence."""
    UNCHECKED = "unsure"
    """The command cannot be checked; the path is the reason. It runs only where it can write to no block device."""
    OPENS = "opens"
    """The command has the kernel open devices, as mount(8) does, so block devices cannot be closed to it."""
    LEAVES = "leaves"
    """The command may act through another service, or change a device by other means than writing to it."""
    RAISES = "raises"
    """The command may become root or another account."""


class Match(StrEnum):
    """Which paths a target covers."""

    EXACT = "exact"
    NUMBERED = "numbered"
    """The path followed by numbers and dots, as in fio's “job.0.1” and “job_bw.1.log”."""
    PREFIX = "prefix"
    """All paths with this prefix."""
    PATTERN = "pattern"
    """All expansions by the host's shell: ``*``, ``?``, ``[a-z]``, and ``${NAME}`` of its environment."""
    BELOW = "below"
    """The pattern, and the content of the directories that match."""


@dataclass(frozen=True, slots=True)
class Target:
    """A path that a command opens, relative to the step's private directory unless absolute."""

    path: str
    use: PathUse = PathUse.WRITE
    match: Match = Match.EXACT
    size: int = 0

    @property
    def words(self) -> tuple[str, str, str, str]:
        """The target in the format of resources/targets.sh."""
        return self.use, self.match, str(self.size), self.path


def refused(reason: str) -> Target:
    """Return the target of a command that must not run anywhere; `reason` is a sentence."""
    return Target(reason, PathUse.REFUSE)


def unsure(reason: str) -> Target:
    """Return the target of a command that cannot be checked but is harmless where it can write to no block device."""
    return Target(reason, PathUse.UNCHECKED)


def reasons(targets: Iterable[Target], use: PathUse = PathUse.REFUSE) -> tuple[str, ...]:
    """Return why a command must not run, or with UNCHECKED cannot be checked; () if there is no reason."""
    return tuple(dict.fromkeys(target.path for target in targets if target.use is use))


def agreed(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return `targets` after consent to overwrite files; devices stay forbidden."""
    return tuple(_agreed(target) for target in targets)


def bounded(targets: Iterable[Target]) -> tuple[Target, ...]:
    """Return each target once; more than MOST are refused as a whole."""
    found = tuple(dict.fromkeys(targets))
    return found if len(found) <= MOST else (refused(f"It names {len(found)} paths; the limit is {MOST}."),)


def _agreed(target: Target) -> Target:
    if target.use is PathUse.WRITE:
        return replace(target, use=PathUse.OVERWRITE)
    return replace(target, size=0) if target.use is PathUse.READ else target
