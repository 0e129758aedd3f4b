"""Builds a program on this computer for a host that has no compiler: linked statically, so it needs nothing there."""

import platform
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path, PurePosixPath

from remote.errors import RemoteError
from remote.local import LocalSession
from remote.plain import plain
from resources import read_bytes

BUILD_TIME = 120.0
"""Seconds a compiler may take; our probes take one."""

_COMPILERS: Mapping[str, str] = {"x86_64": "x86_64-linux-gnu-gcc", "aarch64": "aarch64-linux-gnu-gcc"}
"""The compilers that Debian and its like have for other architectures, by what `uname -m` calls these."""

_PACKAGES: Mapping[str, str] = {"x86_64": "gcc-x86-64-linux-gnu", "aarch64": "gcc-aarch64-linux-gnu"}


class BuildError(RemoteError):
    """A program could not be built on this computer."""


def compiler_for(architecture: str) -> str:
    """Return the compiler to be used here for `architecture`; raise BuildError where none is known."""
    if architecture == platform.machine():
        return "cc"
    if architecture in _COMPILERS:
        return _COMPILERS[architecture]
    raise BuildError(
        f"Nothing can be built here for {architecture or 'a host of an unknown architecture'}.",
        "Install a C compiler on the host.",
    )


@cache
def build_program(sources: Sequence[str], architecture: str, options: Sequence[str]) -> bytes:
    """Return the program that the first of the resources `sources` makes with `options`; the others lie beside it.

    A program that was built before is not built again. Raises BuildError with the compiler's own words.
    """
    compiler = compiler_for(architecture)
    with tempfile.TemporaryDirectory(prefix="benchwright-build-") as directory:
        folder = Path(directory)
        for source in sources:
            (folder / PurePosixPath(source).name).write_bytes(read_bytes(source))
        program, first = folder / "program", folder / PurePosixPath(sources[0]).name
        _compile([compiler, *options, "-static", "-o", str(program), str(first)], compiler, architecture)
        return program.read_bytes()


def _compile(words: list[str], compiler: str, architecture: str) -> None:
    session = LocalSession()
    try:
        done = session.run(words, timeout=BUILD_TIME)
    finally:
        session.close()
    if done.exit_status == 0:
        return
    if done.exit_status == 127:
        package = "gcc" if compiler == "cc" else _PACKAGES[architecture]
        raise BuildError(
            f"The host has no compiler, and this computer has none for {architecture} ({compiler}).",
            f"Install gcc on the host, or the package {package} here.",
        )
    raise BuildError(
        f"{compiler} could not build for {architecture} here: {plain(done.stderr)}.",
        "Install gcc on the host, or mend what the compiler says here.",
    )
