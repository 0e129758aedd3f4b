"""Where the program is put together: the window where there is a display, the same engine without one."""

import logging
import os
import re
import sys

import click

from app.paths import log_path, reports_path
from app.services import Workstation
from app.signals import keep_ignored_to_ourselves
from suites.errors import BenchwrightError

WINDOW_PACKAGES = frozenset({"PySide6", "shiboken6", "pyqtgraph"})
"""The packages of the extra `window`."""

QT_LIBRARIES = "apt-get install libegl1 libgl1 libxkbcommon-x11-0 libxcb-cursor0 libxcb-icccm4 libxcb-keysyms1"
"""What installs Qt's libraries where there are none; they bring the others along."""


def main() -> None:
    """Run the command line. Whatever goes wrong is said in a sentence; a traceback goes to the log alone."""
    from app.cli.common import FAILED, bear_any_text, refuse_unreadable, say_error
    from app.cli.main import benchwright

    keep_ignored_to_ourselves()
    bear_any_text()
    refuse_unreadable(sys.argv[1:])
    try:
        benchwright.main(prog_name="benchwright")
    except OSError as error:  # a full disk behind standard output, for one
        logging.getLogger(__name__).exception("the command failed")
        say_error(f"Reading or writing failed: {error.strerror or error}. What was printed may not be complete.")
        raise SystemExit(FAILED) from None
    except Exception as error:
        # A defect of ours, whatever it is: the log gets the traceback, the user a sentence.
        logging.getLogger(__name__).exception("the command failed")
        say_error(
            f"Something went wrong inside Benchwright: {type(error).__name__}. "
            f"The details are in {log_path()}; please report it."
        )
        raise SystemExit(FAILED) from None


def open_or_measure(workstation: Workstation) -> None:
    """Open the window; where there is no display, benchmark this computer and write the report."""
    if has_display():
        try:
            from widgets.main_window import open_window
        except ImportError as error:
            raise WindowError(*_window_lacks(error)) from error
        raise SystemExit(open_window(workstation))
    from app.cli.asking import TerminalAsker
    from app.cli.runs import run_quick
    from app.plans.plan import LOCAL

    click.echo("There is no display: benchmarking this computer without a window.", err=True)
    run_quick(workstation, LOCAL, reports_path(), TerminalAsker(), as_json=False)


class WindowError(BenchwrightError):
    """The window cannot open: its Python packages, or Qt's own libraries, are not installed."""


def _window_lacks(error: ImportError) -> tuple[str, str]:
    """Return what the window lacks and the remedy; raise `error` where it is a defect of ours."""
    verbs = "Every verb of the command line works without a window: benchwright --help"
    if (error.name or "").partition(".")[0] in WINDOW_PACKAGES and isinstance(error, ModuleNotFoundError):
        return (
            f"The window is not installed (no {error.name}).",
            f"In Benchwright's folder, run: uv tool install --force '.[window]' (with pipx likewise). {verbs}",
        )
    library = re.match(r"(lib[\w.+-]+): cannot open shared object file", str(error))
    if library is None:
        raise error
    return (
        f"Qt does not load: {library[1]} is not on this system.",
        f"On Debian or Ubuntu, run: {QT_LIBRARIES}. {verbs}",
    )


def has_display() -> bool:
    """Return whether a window can be shown."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM"))


if __name__ == "__main__":
    main()
