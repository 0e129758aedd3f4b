"""The program as it is installed: a wheel of the tree, in an environment of its own, far from the tree."""

import json
import os
import pty
import re
import signal
import site
import subprocess
import sys
import time
import venv
import zipfile
from pathlib import Path

import pytest

from tests.messages import messages
from tests.program import PATIENCE, environment

MESSAGES = messages("lab", "test_installed")

ROOT = Path(__file__).parents[2]
PACKAGES = ("app", "widgets", "remote", "suites", "resources")
WINDOW = ("PySide6", "pyside6", "shiboken6", "pyqtgraph")

CALL = """
import importlib.metadata
(entry,) = importlib.metadata.entry_points(group="console_scripts", name="benchwright")
entry.load()()
"""
"""What the script does that pip, uv and pipx make of the entry point."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel, built with what the lock file has: without the network."""
    folder = tmp_path_factory.mktemp("wheel")
    words = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "-q",
        "--no-deps",
        "--no-build-isolation",
        "-w",
        str(folder),
        str(ROOT),
    ]
    subprocess.run(words, check=True, timeout=300)
    (path,) = folder.glob("*.whl")
    return path


def installed(wheel: Path, folder: Path, leave_out: tuple[str, ...] = ()) -> list[str]:
    """Install `wheel` in an environment with our dependencies but those of `leave_out`; return how to call it."""
    venv.create(folder, symlinks=True)
    (packages,) = folder.glob("lib/python*/site-packages")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(packages)
    for path in Path(site.getsitepackages()[0]).iterdir():
        ours = path.suffix == ".pth" or path.name.startswith("benchwright-")
        if not ours and not path.name.startswith(leave_out or ("//",)) and not (packages / path.name).exists():
            (packages / path.name).symlink_to(path)
    return [str(folder / "bin" / "python"), "-I", "-c", CALL]


def ran(call: list[str], *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*call, *words],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE,
        env=environment(**variables),
        cwd="/",
    )


def test_the_wheel_has_every_file_and_the_window_as_an_extra(wheel: Path) -> None:
    listed = subprocess.run(["git", "ls-files", *PACKAGES], cwd=ROOT, capture_output=True, text=True, check=False)
    files = {name for name in listed.stdout.splitlines() if (ROOT / name).is_file()}
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (path,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        needed = [line for line in archive.read(path).decode().splitlines() if line.startswith("Requires-Dist: ")]
    assert files - names == set()
    assert {name.split("/")[0] for name in names if ".dist-info" not in name} == set(PACKAGES)
    extra = {line for line in needed if "extra == 'window'" in line}
    assert {line.split()[1].lower().split("<")[0].split(">")[0] for line in extra} == {
        "pyside6-essentials",
        "pyqtgraph",
    }
    assert len(needed) > len(extra) > 0


@pytest.mark.slow
def test_a_server_has_the_command_line_without_qt(wheel: Path, tmp_path: Path) -> None:
    call = installed(wheel, tmp_path / "server", WINDOW)
    assert ran(call, "--version").stdout.startswith("benchwright, version ")
    assert "--preset" in ran(call, "plan", "new", "--help").stdout
    for words in (("list", "--json"), ("hosts", "--json"), ("facts", "local", "--json"), ("checks",)):
        done = ran(call, *words)
        assert (done.returncode, done.stderr) == (0, ""), words
    for words in (("checks", "--json"), ("plan", "presets", "--json")):
        assert len(json.loads(ran(call, *words).stdout)) >= 2
    done = ran(call, QT_QPA_PLATFORM="offscreen")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("benchwright: The window is not installed (no PySide6).")
    assert "uv tool install --force '.[window]'" in done.stderr
    assert len(done.stderr.splitlines()) == 1


PIP_FROM_HERE = """
import os, pathlib, sys
assert sys.argv[1:3] == ["install", "--disable-pip-version-check"], sys.argv
assert any(word.startswith("pyside6-essentials") for word in sys.argv[3:]), sys.argv
(packages,) = pathlib.Path(sys.prefix).glob("lib/python*/site-packages")
for path in pathlib.Path(os.environ["PACKAGES"]).iterdir():
    if path.name.startswith(("PySide6", "shiboken6", "pyqtgraph")):
        (packages / path.name).symlink_to(path)
"""
"""Stands in for pip, which would fetch 300 MB: `make fresh` has uv do it."""


@pytest.mark.slow
@pytest.mark.gui
@pytest.mark.parametrize("answer", ["y", "n"])
def test_the_window_is_installed_when_the_user_agrees(wheel: Path, tmp_path: Path, answer: str) -> None:
    call = installed(wheel, tmp_path / "bare", (*WINDOW, "pip"))
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    (packages / "pip").mkdir()
    (packages / "pip" / "__main__.py").write_text(PIP_FROM_HERE)
    (packages / "pip" / "__init__.py").touch()
    quiet = environment(QT_QPA_PLATFORM="offscreen", PACKAGES=site.getsitepackages()[0])
    master, slave = pty.openpty()
    with subprocess.Popen(call, cwd="/", env=quiet, stdin=slave, stdout=slave, stderr=slave) as process:
        os.close(slave)
        os.write(master, f"{answer}\n".encode())
        deadline = time.monotonic() + PATIENCE
        while not minds_term(process.pid) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        loaded = process.poll() is None and "libQt6Widgets" in Path(f"/proc/{process.pid}/maps").read_text()
        process.terminate()
        process.wait(PATIENCE)
    shown = os.read(master, 10_000).decode()
    os.close(master)
    assert f"Install them into {tmp_path / 'bare'}" in shown
    assert loaded == (answer == "y"), shown
    assert (MESSAGES["the_window_is_not_installed"] in shown) == (answer == "n")


@pytest.mark.slow
def test_a_server_measures_itself_and_writes_the_report(wheel: Path, tmp_path: Path) -> None:
    done = ran(installed(wheel, tmp_path / "server", WINDOW), "quick")
    assert done.returncode == 0, done.stderr
    assert list((Path.home() / "Documents" / "Benchwright").glob("*.png"))


@pytest.mark.slow
@pytest.mark.gui
def test_the_window_opens_far_from_the_tree(wheel: Path, tmp_path: Path) -> None:
    call = installed(wheel, tmp_path / "desktop")
    quiet = environment(QT_QPA_PLATFORM="offscreen")
    with subprocess.Popen(
        call, cwd="/", env=quiet, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        deadline = time.monotonic() + PATIENCE
        while not minds_term(process.pid) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.1)
        loaded = Path(f"/proc/{process.pid}/maps").read_text(encoding="utf-8")
        process.terminate()
        out, err = process.communicate(timeout=PATIENCE)
    assert (process.returncode, out) == (0, ""), err
    assert "Traceback" not in err
    assert "libQt6Widgets" in loaded


def minds_term(pid: int) -> bool:
    """Return whether the process handles SIGTERM: the window does so from when it is shown."""
    (caught,) = re.findall(r"^SigCgt:\s+(\w+)", Path(f"/proc/{pid}/status").read_text(encoding="utf-8"), re.MULTILINE)
    return bool(int(caught, 16) >> (signal.SIGTERM - 1) & 1)


def test_a_library_of_qt_that_is_missing_is_named(wheel: Path, tmp_path: Path) -> None:
    call = installed(wheel, tmp_path / "bare", WINDOW)
    (packages,) = (tmp_path / "bare").glob("lib/python*/site-packages")
    (packages / "PySide6").mkdir()
    text = "libEGL.so.1: cannot open shared object file: No such file or directory"
    (packages / "PySide6" / "__init__.py").write_text(f"raise ImportError({text!r})\n")
    done = ran(call, QT_QPA_PLATFORM="offscreen")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith("benchwright: Qt cannot load libEGL.so.1: not installed.")
    assert "apt-get install" in done.stderr
