"""Installation of the window's Python packages, an optional extra, after confirmation."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
from typing import NoReturn

import click

from suites.errors import BenchwrightError

PACKAGES = frozenset({"PySide6", "shiboken6", "pyqtgraph"})
"""The modules of the extra `window`."""

QT_LIBRARIES = "apt-get install libegl1 libgl1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1"
"""The command that installs Qt's system libraries; the others are their dependencies."""

SIZE = "some 300 MB"
"""Installed size of PySide6 Essentials 6.11 with its dependencies."""


class WindowError(BenchwrightError):
    """The window cannot open: its Python packages, or Qt's own libraries, are not installed."""


def add_window_packages(error: ImportError) -> NoReturn:
    """Install the missing packages after confirmation and restart the program; does not return.

    Raises:
        WindowError: the packages were not installed, or a library of Qt is missing.
        ImportError: `error` itself, if it has another cause.
    """
    verbs = "The command line works without a window: benchwright --help"
    if not isinstance(error, ModuleNotFoundError) or (error.name or "").partition(".")[0] not in PACKAGES:
        library = re.match(r"(lib[\w.+-]+): cannot open shared object file", str(error))
        if library is None:
            raise error
        raise WindowError(
            f"Qt cannot load {library[1]}: not installed.", f"On Debian or Ubuntu, run: {QT_LIBRARIES}. {verbs}"
        ) from error
    command = _install_command()
    by_hand = "In Benchwright's folder, run: uv tool install --force '.[window]' (with pipx likewise)."
    if not command or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise WindowError(f"The window is not installed (no {error.name}).", f"{by_hand} {verbs}") from error
    question = f"The window needs {' and '.join(_requirements())}. Install them into {sys.prefix} ({SIZE})?"
    if not click.confirm(question, default=True, err=True):
        raise WindowError(f"The window is not installed (no {error.name}).", f"{by_hand} {verbs}") from error
    if subprocess.run(command, check=False).returncode != 0:
        raise WindowError("Installing the window’s packages failed.", f"{by_hand} {verbs}") from error
    os.execv(sys.executable, [sys.executable, *sys.orig_argv[1:]])  # noqa: S606 (this program again)


def _requirements() -> list[str]:
    """Return the requirements of the extra from the installed metadata."""
    listed = importlib.metadata.requires("benchwright") or []
    return [line.partition(";")[0].strip() for line in listed if re.search(r"extra\s*==\s*['\"]window['\"]", line)]


def _install_command() -> list[str]:
    """Return the command that installs the extra into this environment by pip, else uv; empty without both."""
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install", "--disable-pip-version-check", *_requirements()]
    uv = shutil.which("uv")
    return [uv, "pip", "install", "--python", sys.executable, *_requirements()] if uv else []
