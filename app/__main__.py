"""Entry point: open the window if there is a display, else run the command line."""

import os
import sys

TYPE_CHECKING = False  # importing typing takes time before Ctrl+C is caught
if TYPE_CHECKING:
    from app.services import Workstation


def main() -> None:
    """Run the command line; exit like click if Ctrl+C arrives while modules are imported, before click handles it."""
    _open_standard_streams()
    try:
        _run()
    except KeyboardInterrupt:
        sys.stderr.write("\nAborted!\n")
        raise SystemExit(1) from None


def _open_standard_streams() -> None:
    """Open /dev/null for standard streams that the caller closed: Python has None in place of them."""
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, os.fdopen(os.open(os.devnull, os.O_RDWR), mode, encoding="utf-8"))


def _run() -> None:
    """Run the command line. Print errors as one sentence; write tracebacks to the log only."""
    import logging

    from app.cli.common import FAILED, print_error, refuse_unreadable, replace_unencodable
    from app.cli.main import benchwright
    from app.paths import log_path
    from app.signals import replace_ignored_signals

    replace_ignored_signals()
    replace_unencodable()
    refuse_unreadable(sys.argv[1:])
    try:
        benchwright.main(prog_name="benchwright", obj=open_or_measure)
    except OSError as error:  # for example, standard output on a full disk
        logging.getLogger(__name__).exception("the command failed")
        print_error(f"I/O error: {error.strerror or error}. The output may be incomplete.")
        _drop_unwritable()
        raise SystemExit(FAILED) from None
    except Exception as error:
        logging.getLogger(__name__).exception("the command failed")
        print_error(f"Internal error: {type(error).__name__}. The traceback is in {log_path()}; please report it.")
        raise SystemExit(FAILED) from None


def _drop_unwritable() -> None:
    """Drop buffered output that cannot be written: Python would try again at its exit, and end with status 120."""
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_or_measure(workstation: "Workstation") -> None:
    """Open the window; without a display, benchmark this computer and write the report."""
    import click

    from app.paths import reports_path

    if has_display():
        try:
            from widgets.window_start import open_window
        except ImportError as error:
            from app.window_packages import add_window_packages

            add_window_packages(error)
        raise SystemExit(open_window(workstation))
    from app.cli.prompts import TerminalAsker
    from app.cli.runs import run_quick
    from app.plans.plan import LOCAL

    click.echo("No display: running “benchwright quick” on this computer.", err=True)
    run_quick(workstation, LOCAL, reports_path(), TerminalAsker(), as_json=False)


def has_display() -> bool:
    """Return whether a window can be shown."""
    import os

    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM"))


if __name__ == "__main__":
    main()
