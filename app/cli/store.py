"""benchwright store: copy libraries between files and servers, print the roles of a server."""

import click

from app.cli.common import FAILED, LibraryLocation, json_verb, plain, print_file, print_json, report_errors, show_part
from app.library_location import Location
from app.services import Workstation
from app.store.roles import ROLES_SQL


@click.group()
def store() -> None:
    """Copy a library between a file and PostgreSQL; print the SQL of the roles there."""


@store.command("copy")
@click.argument("source", metavar="FROM", type=LibraryLocation())
@click.argument("target", metavar="TO", type=LibraryLocation())
@click.argument("runs", nargs=-1)
@json_verb
def copy(workstation: Workstation, source: Location, target: Location, runs: tuple[str, ...], *, as_json: bool) -> None:
    """Copy RUNS, or the whole library, FROM one library TO another, each a file or a URL, and compare each run.

    Finished runs; of the whole library also baselines, calibrations, saved searches and session series. What TO has
    already is left: copying again continues after an interruption.
    """
    for found in workstation.copy_library(source, target, runs):
        show_part("Copying", found.done, found.total)
    if as_json:
        copied = found.runs
        print_json(
            {
                "runs": copied.runs, "present": copied.present, "refused_runs": dict(copied.refused),
                "added": found.added, "refused": found.refused,
            }
        )  # fmt: skip
    else:
        click.echo(plain(f"{found.text} Content compared: {len(found.runs.runs) + len(found.runs.present)}."))
    if not found.whole:
        raise SystemExit(FAILED)


@store.command()
@report_errors
def roles() -> None:
    """Print the SQL that makes a reader, and a writer who cannot change tables, for the owner to run with psql."""
    print_file(ROLES_SQL)
