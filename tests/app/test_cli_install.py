"""Installing a tool from the command line: agreed to first, shown as it happens, kept, and looked at again after."""

import os
import shutil
from pathlib import Path

import pytest

from tests.messages import messages
from tests.program import BAD_INPUT, DONE, FAILED, benchwright

MESSAGES = messages("app-command-line", "test_cli_install")

INSTALLS = """#!/bin/sh
[ "$1" = install ] || exit 0
echo "Setting up fio"
ln -s {fio} {folder}/fio
"""
REFUSES = "#!/bin/sh\necho 'E: Unable to locate package fio' >&2\nexit 100\n"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder that can stand for the whole PATH: everything but fio and apt-get is in it."""
    if os.geteuid() != 0 or shutil.which("apt-get") is None or shutil.which("fio") is None:
        pytest.skip("needs a host with apt, fio and root")
    made = tmp_path / "bin"
    made.mkdir()
    for directory in reversed(("/usr/local/bin", "/usr/bin", "/bin", "/usr/sbin", "/sbin")):
        for program in Path(directory).iterdir():
            if program.name not in {"fio", "apt-get"} and not (made / program.name).is_symlink():
                (made / program.name).symlink_to(program)
    return made


def apt_get(folder: Path, text: str) -> None:
    (folder / "apt-get").write_text(text.format(fio=shutil.which("fio"), folder=folder))
    (folder / "apt-get").chmod(0o755)


def test_a_missing_tool_is_installed_after_consent(folder: Path) -> None:
    apt_get(folder, INSTALLS)
    declined = benchwright("hosts", "install", "local", "fio", stdin=b"n\n", PATH=str(folder))
    assert declined.status == FAILED
    assert "apt-get install -y --no-install-recommends fio" in declined.err
    assert not (folder / "fio").exists()
    agreed = benchwright("hosts", "install", "local", "fio", stdin=b"y\n", PATH=str(folder))
    assert agreed.status == DONE, agreed.err
    assert agreed.out.splitlines()[:1] == ["Setting up fio"]
    assert "fio: fio-" in agreed.out
    (action,) = benchwright("hosts", "log", "local", "--json").json
    assert (action["what"], action["exit_status"], action["output"]) == ("install fio", 0, "Setting up fio\n")
    assert "Setting up fio" in benchwright("hosts", "log", "local", "--output").out
    assert "exit status 0" in benchwright("hosts", "log", "local").out


def test_what_is_there_is_not_installed_again(folder: Path) -> None:
    apt_get(folder, REFUSES)
    ran = benchwright("hosts", "install", "local", "dd", "--yes", PATH=str(folder))
    assert ran.status == DONE
    assert ran.out.startswith("dd: dd (coreutils)")
    assert benchwright("hosts", "log", "local").out == MESSAGES["nothing_was_installed_or_put"]


def test_a_package_manager_that_fails_is_told_with_what_works_without(folder: Path) -> None:
    apt_get(folder, REFUSES)
    ran = benchwright("hosts", "install", "local", "fio", "--yes", PATH=str(folder))
    assert ran.status == FAILED
    assert "E: Unable to locate package fio" in ran.out
    assert MESSAGES["ended_with_exit_status_100"] in ran.err
    assert MESSAGES["without_it_these_tests_work"] in ran.err
    (action,) = benchwright("hosts", "log", "local", "--json").json
    assert action["exit_status"] == 100


PRINTS = '#!/bin/sh\nfor word; do echo "<$word>"; done\n'


def test_what_a_test_needs_is_installed_by_its_name_each_package_a_word(folder: Path) -> None:
    for name in ("gcc", "cc", "make", "hpcc"):
        (folder / name).unlink(missing_ok=True)
    apt_get(folder, PRINTS)
    ran = benchwright("hosts", "install", "local", "linpack", "stream", "make", "--yes", PATH=str(folder))
    assert ran.status == FAILED  # the stand-in installs nothing
    packages = ["hpcc", "openmpi-bin", "libopenblas0-pthread", "gcc", "libc6-dev", "make"]
    words = [line.strip("<>") for line in ran.out.splitlines() if line.startswith("<")]
    assert words == ["update", "install", "-y", "--no-install-recommends", *packages]
    assert ran.out.splitlines()[-3:] == [f"{name} is still not found." for name in ("hpcc", "gcc", "make")]
    assert " ".join(packages) in ran.err


def test_a_compiler_that_is_there_is_named(folder: Path) -> None:
    apt_get(folder, REFUSES)
    if not (folder / "gcc").exists():
        pytest.skip("needs gcc")
    ran = benchwright("hosts", "install", "local", "stream", "--yes", PATH=str(folder))
    assert (ran.status, ran.out[:9]) == (DONE, "gcc: gcc ")


def test_a_tool_of_no_test_is_refused() -> None:
    ran = benchwright("hosts", "install", "local", "nethack", "--yes")
    assert ran.status == BAD_INPUT
    assert MESSAGES["nethack_is_no_tool_of_a_test"] in ran.err
