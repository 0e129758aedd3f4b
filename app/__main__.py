"""Where the program is put together: the window where there is a display, the same engine without one."""

import logging
import os
import sys

import click

from app.paths import log_path, reports_path
from app.services import Workstation
from app.signals import keep_ignored_to_ourselves
from app.window_packages import add_window_packages


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
            add_window_packages(error)
        raise SystemExit(open_window(workstation))
    from app.cli.asking import TerminalAsker
    from app.cli.runs import run_quick
    from app.plans.plan import LOCAL

    click.echo("There is no display: benchmarking this computer without a window.", err=True)
    run_quick(workstation, LOCAL, reports_path(), TerminalAsker(), as_json=False)


def has_display() -> bool:
    """Return whether a window can be shown."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM"))


if __name__ == "__main__":
    main()
