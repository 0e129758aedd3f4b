"""Files of a step's commands, copied from this computer to the host that runs them."""

from collections.abc import Iterable, Mapping
from functools import cache
from hashlib import sha256
from pathlib import Path

from remote.jobs.build import build_program
from remote.jobs.files import LARGEST
from remote.local_file import read_bounded
from resources import read_bytes
from suites.base import Command
from suites.host_files import HostFile, HostFileError


def files_of(commands: Iterable[Command]) -> tuple[tuple[HostFile, bool], ...]:
    """Return each file of `commands` once, with whether it goes to the peer."""
    return tuple(dict.fromkeys((file, command.on_peer) for command in commands for file in command.files))


def content_of(file: HostFile, agreed: Mapping[str, str] | None = None) -> bytes:
    """Return the content of `file`, read or built on this computer. A build may take seconds.

    `agreed` maps paths of local files to their SHA-256 at the start of the run. Raises HostFileError if a local file
    cannot be read or has changed since, BuildError if a program cannot be built.
    """
    if file.build is not None:
        return build_program(file.build.sources, file.build.architecture, file.build.options)
    if file.resource:
        return read_bytes(file.resource)
    if not file.local:
        return file.text.encode()
    content = _local(file.local)
    digest = sha256(content).hexdigest()
    if digest != (agreed or {}).get(file.local, digest):
        raise HostFileError(
            f"{file.local} on this computer has changed since the run began and was not copied.",
            "Run the plan again and review the files it copies.",
        )
    return content


def _local(path: str) -> bytes:
    try:
        if Path(path).exists() and not Path(path).is_file():
            raise HostFileError(f"{path} on this computer is not a regular file.", "Choose another file.")
        return read_bounded(Path(path), LARGEST)  # put_file() rejects a file that is too large
    except OSError as error:
        raise HostFileError(
            f"{path} on this computer cannot be read: {error.strerror}.", "Choose another file."
        ) from error


def file_text(file: HostFile) -> str:
    """Return `file` as shell lines: a here-document for a text, a comment for other files."""
    if file.text:
        return f"cat > {file.name} <<'EOF'\n{file.text.rstrip()}\nEOF"
    if file.build is not None:
        options = " ".join(file.build.options)
        return f"# {file.name}: built on this computer from {file.build.sources[0]} with {options} -static"
    if file.resource and file.executable:
        return f"# {file.name}: Benchwright’s {file.resource}, SHA-256 {_digest(file.resource)}, copied here"
    return f"# {file.name}: {f'Benchwright’s {file.resource}' if file.resource else file.local}, copied here"


@cache
def _digest(resource: str) -> str:
    return sha256(read_bytes(resource)).hexdigest()
