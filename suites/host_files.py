"""Files placed beside a command on the host: bundled sources, texts, local files, built programs."""

import re
from dataclasses import dataclass

from suites.errors import BenchwrightError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
"""A file name in the step's private directory: no path separators, not hidden."""


class HostFileError(BenchwrightError):
    """A file of a step has an invalid name, or cannot be read or built."""


@dataclass(frozen=True, slots=True)
class Build:
    """A program built on this computer for a host without a compiler.

    `sources` are resources such as ``"probes/stream.c"``: the first is compiled, the others are placed beside it.
    `architecture` is the host's as in `uname -m`; `options` go to the C compiler.
    """

    sources: tuple[str, ...]
    architecture: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file placed in the step's private directory before anything runs there, under `name`.

    Exactly one source is set: a bundled `resource`, a `text`, a `local` file of this computer (an absolute path), or a
    `build`.
    """

    name: str
    resource: str = ""
    text: str = ""
    local: str = ""
    build: Build | None = None
    executable: bool = False

    def __post_init__(self) -> None:
        """Raise HostFileError for an invalid name."""
        if NAME.fullmatch(self.name) is None:
            raise HostFileError(f"“{self.name[:60]}” is not a valid file name on the host.", "Use letters and digits.")
