"""Programs of which a line is no test but an end: what they are given below /dev is written over."""

import re
from collections.abc import Sequence
from posixpath import normpath

_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|u?random|shm/.*|stdin|stdout|stderr|tty|fd/\d+|pts/\d+|ptmx|mqueue/.*|hugepages/.*)"
)
_ALWAYS = frozenset({"shred", "blkdiscard", "mkswap", "tee", "mke2fs"})
_WITH = {"wipefs": frozenset({"-a", "--all", "-af", "-fa"}), "badblocks": frozenset({"-w", "-wsv", "-svw", "-wv"})}
"""Programs that only look, unless they are given one of these."""


def devices_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of `paths` that are devices which hold something."""
    return tuple(path for path in paths if _is_device(path))


def _is_device(path: str) -> bool:
    plain = f"/{normpath(path).lstrip('/')}" if path.startswith("/") else ""
    return plain.startswith("/dev/") and not _HARMLESS.fullmatch(plain)


def overwritten(program: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the devices that a program writes over."""
    if program in {"cp", "mv"}:
        return devices_in(arguments[-1:])
    told = program in _ALWAYS or program.startswith("mkfs") or _WITH.get(program, frozenset()) & set(arguments)
    return devices_in(arguments) if told else ()
