"""Files that a command needs beside it on the host: sources of ours, texts, files of this computer, built programs."""

import re
from dataclasses import dataclass

from suites.errors import BenchwrightError

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9._-]{0,99}")
"""A file's name in the step's own directory: nothing that leads out of it, nothing hidden."""


class HostFileError(BenchwrightError):
    """A file that a step needs cannot be named, read or built."""


@dataclass(frozen=True, slots=True)
class Build:
    """A program that is built on this computer, for a host that has no compiler.

    `sources` are resources such as ``"probes/stream.c"``: the first is compiled, the others lie beside it.
    `architecture` is the host's as `uname -m` says it; `options` go to the C compiler.
    """

    sources: tuple[str, ...]
    architecture: str
    options: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class HostFile:
    """A file put into the step's own directory before anything runs there, under `name`.

    Exactly one says what is in it: a `resource` of ours, a `text`, a `local` file of this computer (an absolute
    path), or a `build`.
    """

    name: str
    resource: str = ""
    text: str = ""
    local: str = ""
    build: Build | None = None
    executable: bool = False

    def __post_init__(self) -> None:
        """Refuse a name that is none; raise HostFileError."""
        if NAME.fullmatch(self.name) is None:
            raise HostFileError(f"“{self.name[:60]}” is no name for a file on the host.", "Use letters and digits.")
