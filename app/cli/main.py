"""The command benchwright: every verb, and the window where there is none."""

from pathlib import Path

import click

from app.cli.common import speaks_to_people, start_log
from app.cli.sections import Sectioned
from app.own_directories import secure_own_directories
from app.proposed import use_library
from app.services import Workstation
from app.version import VERSION


@click.group(cls=Sectioned, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--store", type=click.Path(path_type=Path), help="Keep runs in this file instead of your library.")
@click.version_option(VERSION, prog_name="benchwright")
@click.pass_context
@speaks_to_people
def benchwright(context: click.Context, store: Path | None) -> None:
    """Benchmark Linux hosts, and know whether the number may be believed.

    Without a verb the window opens; without a display, this computer is benchmarked and the report written.
    """
    start_log()
    secure_own_directories()
    if store is not None and context.invoked_subcommand is None:
        store = store.absolute()  # commands that the window proposes are run in any folder
    workstation = Workstation(store)
    context.obj = workstation
    context.call_on_close(workstation.close)
    use_library(store, benchwright.list_commands(context))
    context.call_on_close(lambda: use_library(None, ()))
    if context.invoked_subcommand is None:
        from app.__main__ import open_or_measure

        open_or_measure(workstation)
