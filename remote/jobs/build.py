"""Build a statically linked program on this computer for a host without a compiler."""

import platform
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from remote.errors import RemoteError
from remote.local import LocalSession
from remote.questions import plain
from resources import read_bytes

BUILD_TIME = 120.0
"""Compiler timeout in seconds; a probe takes 1 s."""

_COMPILERS: Mapping[str, str] = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
"""Debian's cross compilers by machine name (`uname -m`)."""

_PACKAGES: Mapping[str, str] = {"x86_64": "gcc-x86-64-linux-gnu", "aarch64": "gcc-aarch64-linux-gnu"}


class BuildError(RemoteError):
    """A program could not be built on this computer."""


def compiler_for(architecture: str) -> str:
    """Return this computer's compiler for `architecture`; raise BuildError if none is known."""
    if architecture == platform.machine():
        return "cc"
    if architecture in _COMPILERS:
        return _COMPILERS[architecture]
    raise BuildError(
        f"No compiler known for {architecture or 'the unknown architecture of the host'}.",
        "Install a C compiler on the host.",
    )


@cache
def build_program(sources: Sequence[str], architecture: str, options: Sequence[str]) -> bytes:
    """Return the binary compiled from the first of the resources `sources`; the others are copied beside it.

    Cached. Raises BuildError with the compiler's message.
    """
    compiler = compiler_for(architecture)
    with tempfile.TemporaryDirectory(prefix="benchwright-build-") as directory:
        folder = Path(directory)
        for source in sources:
            (folder / PurePosixPath(source).name).write_bytes(read_bytes(source))
        program, first = folder / "program", folder / PurePosixPath(sources[0]).name
        _compile([compiler, *options, "-static", "-o", str(program), str(first)], compiler, architecture)
        return program.read_bytes()


def _compile(argv: list[str], compiler: str, architecture: str) -> None:
    session = LocalSession()
    try:
        done = session.run(argv, timeout=BUILD_TIME)
    finally:
        session.close()
    if done.exit_status == 0:
        return
    if done.exit_status == 127:
        package = "gcc" if compiler == "cc" else _PACKAGES[architecture]
        raise BuildError(
            f"No compiler on the host, and none for {architecture} on this computer ({compiler}).",
            f"Install gcc on the host, or {package} on this computer.",
        )
    raise BuildError(
        f"{compiler} on this computer failed to build for {architecture}: {plain(done.stderr)}.",
        "Install gcc on the host, or fix the error on this computer.",
    )
