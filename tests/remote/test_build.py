"""Programs are built on this computer for hosts without a compiler, and it is said where they cannot be."""

import platform
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from remote.jobs import build
from remote.jobs.build import BuildError, build_program, compiler_for

HELLO = b'#include <stdio.h>\n#include "word.h"\nint main(void) { puts(WORD); return 0; }\n'

needs_compiler = pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler is installed")


@pytest.fixture(autouse=True)
def sources(monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, bytes]]:
    found = {"probes/hello.c": HELLO, "probes/word.h": b'#define WORD "hello"\n', "probes/bad.c": b"int main(void) {"}
    monkeypatch.setattr(build, "read_bytes", found.__getitem__)
    yield found
    build_program.cache_clear()


def ran(program: bytes, folder: Path) -> str:
    path = folder / "program"
    path.write_bytes(program)
    path.chmod(0o700)
    return subprocess.run([path], capture_output=True, text=True, check=True).stdout


@needs_compiler
def test_a_program_runs_and_needs_no_library(tmp_path: Path) -> None:
    program = build_program(("probes/hello.c", "probes/word.h"), platform.machine(), ("-O2",))
    assert ran(program, tmp_path) == "hello\n"
    assert b"/ld-linux" not in program


@needs_compiler
def test_a_program_is_built_once(sources: dict[str, bytes]) -> None:
    words = (("probes/hello.c", "probes/word.h"), platform.machine(), ("-O1",))
    first = build_program(*words)
    sources.clear()
    assert build_program(*words) is first


@needs_compiler
def test_what_the_compiler_says_is_passed_on() -> None:
    with pytest.raises(BuildError, match=r"failed to build.*expected declaration or statement"):
        build_program(("probes/bad.c",), platform.machine(), ())


@pytest.mark.skipif(
    shutil.which("aarch64-linux-gnu-gcc") is None or shutil.which("qemu-aarch64-static") is None,
    reason="no cross compiler and emulator for aarch64 are installed",
)
def test_a_program_for_another_architecture_runs_there(tmp_path: Path) -> None:
    program = tmp_path / "program"
    program.write_bytes(build_program(("probes/hello.c", "probes/word.h"), "aarch64", ("-O2",)))
    program.chmod(0o700)
    done = subprocess.run(["qemu-aarch64-static", program], capture_output=True, text=True, check=True)
    assert done.stdout == "hello\n"


def test_a_compiler_that_is_missing_here_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "_COMPILERS", {"aarch64": "no-such-compiler"})
    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    with pytest.raises(BuildError) as caught:
        build_program(("probes/hello.c",), "aarch64", ())
    assert "no-such-compiler" in caught.value.message
    assert "gcc-aarch64-linux-gnu" in caught.value.remedy


@pytest.mark.parametrize("architecture", ["mips", ""])
def test_an_architecture_nobody_builds_for_is_said(architecture: str) -> None:
    with pytest.raises(BuildError, match="No compiler known for"):
        compiler_for(architecture)
