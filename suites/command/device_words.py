"""Programs of which a line is no test but an end: what they are given below /dev is written over."""

import re
from collections.abc import Sequence
from posixpath import normpath

from suites.command.programs import Does, does, known_program, operands_of

_HARMLESS = re.compile(
    r"/dev/(?:null|zero|full|u?random|shm/.*|stdin|stdout|stderr|tty|fd/\d+|pts/\d+|ptmx|mqueue/.*|hugepages/.*)"
)


def devices_in(paths: Sequence[str]) -> tuple[str, ...]:
    """Return those of `paths` that are devices which hold something."""
    return tuple(path for path in paths if _is_device(path))


def _is_device(path: str) -> bool:
    plain = f"/{normpath(path).lstrip('/')}" if path.startswith("/") else ""
    return plain.startswith("/dev/") and not _HARMLESS.fullmatch(plain)


def overwritten(program: str, arguments: Sequence[str]) -> tuple[str, ...]:
    """Return the devices that a program writes over."""
    kind = does(program, arguments)
    if kind is Does.COPIES:
        operands, named = operands_of(known_program(program), arguments)
        return devices_in([*operands[-1:], *named])
    return devices_in(arguments) if kind is Does.WRITES else ()
