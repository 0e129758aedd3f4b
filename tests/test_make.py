"""What `make` runs: one line for each step, and a Python wherever there is one."""

import os
import pty
import select
import shutil
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.messages import messages

MESSAGES = messages("project", "test_make")

ROOT = Path(__file__).parent.parent
PYTHONS = ("python3.14", "python3.13", "python3.12", "python3.11", "python3")

OLD = '#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.10.12" && exit\nexit 1\n'
NEW = '#!/bin/sh\n[ "$1" = -V ] && echo "Python 3.14.0" && exit\nexit 0\n'
UV = '#!/bin/sh\necho "uv $*" >>"$CALLS"\n'
NO_SUCH = """#!/bin/sh
echo "apt-get $*" >>"$CALLS"
for package; do :; done
case $package in *zsh*) echo "E: Unable to locate package $package"; exit 100 ;; esac
"""
APT_CACHE = '#!/bin/sh\ncase " $OFFERED " in *" $2 "*) echo "Package: $2" ;; esac\n'


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A copy of the scripts, and a folder `bin` that stands for the whole PATH: without Python, uv, apt-get."""
    shutil.copytree(ROOT / ".make", tmp_path / ".make")
    (tmp_path / "bin").mkdir()
    hidden = {*PYTHONS, "uv", "apt-get", "apt-cache", "sudo"}
    for folder in {Path(name).resolve() for name in ("/usr/bin", "/bin", "/usr/sbin", "/sbin")}:
        for program in folder.iterdir():
            if program.name not in hidden and not (tmp_path / "bin" / program.name).is_symlink():
                (tmp_path / "bin" / program.name).symlink_to(program)
    return tmp_path


def program(tree: Path, name: str, text: str) -> None:
    (tree / "bin" / name).write_text(text)
    (tree / "bin" / name).chmod(0o755)


def ran(tree: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    environment = {"PATH": str(tree / "bin"), "CALLS": str(tree / "calls"), "OFFERED": "", **variables}
    return subprocess.run(words, cwd=tree, env=environment, capture_output=True, text=True, check=False, timeout=60)


def calls(tree: Path) -> list[str]:
    path = tree / "calls"
    return path.read_text().splitlines() if path.exists() else []


def test_a_step_is_one_line_and_its_output_is_in_the_log(tree: Path) -> None:
    done = ran(tree, ".make/step", "Counting", "seq", "500")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[0] == "Counting ..."
    assert done.stdout.splitlines()[1].startswith("Counting: done in ")
    assert len(done.stdout.splitlines()) == 2
    assert "\n500\n" in (tree / ".venv" / "setup.log").read_text()


def test_a_step_that_fails_shows_the_end_of_its_log(tree: Path) -> None:
    done = ran(tree, ".make/step", "Counting", "sh", "-c", "seq 500; echo no such thing >&2; exit 7")
    assert done.returncode == 7
    assert MESSAGES["counting_failed_exit_status"] in done.stderr
    assert "no such thing" in done.stderr
    assert 10 < len(done.stderr.splitlines()) < 40


def test_on_a_terminal_the_line_moves_and_ctrl_c_ends_the_step(tree: Path) -> None:
    terminal, far = pty.openpty()
    words = ["setsid", "--ctty", "--wait", ".make/step", "Waiting", "sh", "-c", "echo at the first; exec sleep 60"]
    process = subprocess.Popen(words, cwd=tree, env={"PATH": str(tree / "bin")}, stdin=far, stdout=far, stderr=far)
    os.close(far)
    shown = b""
    deadline = time.monotonic() + 90
    while b"at the first" not in shown and time.monotonic() < deadline:
        if select.select([terminal], [], [], 1.0)[0]:
            shown += os.read(terminal, 1024)
    assert b"\r\x1b[KWaiting, " in shown
    os.write(terminal, b"\x03")
    assert process.wait(90) == 128 + signal.SIGINT
    os.close(terminal)


@pytest.mark.parametrize("existing", [None, OLD], ids=["no python", "python 3.10"])
def test_without_a_python_what_is_supported_is_named(tree: Path, existing: str | None) -> None:
    program(tree, "apt-get", NO_SUCH)
    program(tree, "apt-cache", APT_CACHE)
    if existing:
        program(tree, "python3", existing)
    done = ran(tree, ".make/system", "run")
    assert done.returncode == 1
    assert (
        f"needs Python 3.11, 3.12, 3.13 or 3.14; this system has {'Python 3.10.12' if existing else 'none'},"
        in done.stderr
    )
    assert "Install uv" in done.stderr
    assert "make run PYTHON=" in done.stderr


def test_the_python_of_the_archive_is_installed(tree: Path) -> None:
    program(tree, "apt-get", NO_SUCH)
    program(tree, "apt-cache", APT_CACHE)
    program(tree, "python3", OLD)
    assert ran(tree, ".make/system", "run", OFFERED="python3.11-venv python3.14-venv").returncode == 0
    assert calls(tree)[-1].endswith(" python3.11 python3.11-venv")


def test_uv_is_taken_where_neither_system_nor_archive_has_a_python(tree: Path) -> None:
    program(tree, "apt-get", NO_SUCH)
    program(tree, "apt-cache", APT_CACHE)
    program(tree, "uv", UV)
    assert ran(tree, ".make/system", "run").returncode == 0
    assert ran(tree, ".make/venv").returncode == 0
    assert calls(tree)[-1] == "uv venv --quiet --allow-existing --seed --python >=3.11,<3.15 .venv"


def test_python_3_14_is_taken(tree: Path) -> None:
    program(tree, "python3.14", NEW)
    program(tree, "python3", OLD)
    assert ran(tree, ".make/python").stdout == f"{tree}/bin/python3.14\n"


def test_a_python_behind_a_shim_is_taken_where_there_is_no_other(tree: Path) -> None:
    shims = tree / "shims"
    shims.mkdir()
    program(tree, "python3.13", NEW)
    (tree / "bin" / "python3.13").rename(shims / "python3.13")
    path = f"{shims}:{tree}/bin"
    assert ran(tree, ".make/python", PATH=path).stdout == f"{shims}/python3.13\n"
    program(tree, "python3.12", NEW)
    assert ran(tree, ".make/python", PATH=path).stdout == f"{tree}/bin/python3.12\n"


def test_a_python_that_is_named_and_does_not_serve_is_told(tree: Path) -> None:
    program(tree, "python3.10", OLD)
    done = ran(tree, ".make/system", "run", PYTHON="python3.10")
    assert done.returncode == 1
    assert done.stderr.startswith("PYTHON=python3.10 is no Python 3.11 to 3.14")


def test_packages_of_tests_that_the_archive_lacks_are_left_out(tree: Path) -> None:
    for name in ("zsh", "sudo"):
        (tree / "bin" / name).unlink(missing_ok=True)
    program(tree, "python3.14", NEW)
    program(tree, "apt-get", NO_SUCH)
    program(tree, "apt-cache", APT_CACHE)
    done = ran(tree, ".make/system", "test", OFFERED="sudo")
    assert done.returncode == 0, done.stderr
    assert MESSAGES["not_in_this_system_s_archive"] in done.stdout
    assert " sudo" in calls(tree)[-1]
    assert "zsh" not in calls(tree)[-1]
