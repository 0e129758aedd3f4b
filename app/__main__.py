"""Where the program is put together: the window where there is a display, the same engine without one."""

import os

import click

from app.paths import reports_path
from app.services import Workstation


def main() -> None:
    """Run the command line."""
    from app.cli.main import benchwright

    benchwright.main(prog_name="benchwright")


def open_or_measure(workstation: Workstation) -> None:
    """Open the window; where there is no display, benchmark this computer and write the report."""
    if has_display():
        from widgets.main_window import open_window

        raise SystemExit(open_window(workstation))
    from app.cli.runs import run_quick
    from app.plan import LOCAL

    click.echo("There is no display: benchmarking this computer without a window.", err=True)
    run_quick(workstation, LOCAL, reports_path(), None, as_json=False)


def has_display() -> bool:
    """Return whether a window can be shown."""
    return bool(os.environ.get("DISPLAY") or os.environ.get("WAYLAND_DISPLAY") or os.environ.get("QT_QPA_PLATFORM"))


if __name__ == "__main__":
    main()
