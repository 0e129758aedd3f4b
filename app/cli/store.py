"""benchwright store: copy libraries between files and servers, passwords and roles of a server."""

import sys
from pathlib import Path

import click

from app.cli.common import (
    FAILED,
    LibraryLocation,
    json_verb,
    plain,
    print_file,
    print_json,
    print_note,
    report_errors,
    show_part,
    verb,
)
from app.library_location import Location, ServerUrl
from app.services import Workstation
from app.store.roles import ROLES_SQL
from app.verb_results import merged_to_json


@click.group()
def store() -> None:
    """Copy a library between a file and PostgreSQL; store its password; print the SQL of the roles there."""


@store.command("copy")
@click.argument("source", metavar="FROM", type=LibraryLocation())
@click.argument("target", metavar="TO", type=LibraryLocation())
@click.argument("runs", nargs=-1)
@json_verb("library-merge")
def copy(workstation: Workstation, source: Location, target: Location, runs: tuple[str, ...], *, as_json: bool) -> None:
    """Copy RUNS, or the whole library, FROM one library TO another, each a file or a URL, and compare each run.

    Finished runs; of the whole library also baselines, calibrations, saved searches and session series. What TO has
    already is left: copying again continues after an interruption.
    """
    missing = isinstance(target, Path) and not target.exists()
    for found in workstation.copy_library(source, target, runs):
        show_part("Copying", found.done, found.total)
    if as_json:
        print_json(merged_to_json(found))
    else:
        click.echo(plain(f"{found.text} Content compared: {len(found.runs.runs) + len(found.runs.present)}."))
    if missing:
        print_note(f"Created the library {target}.")
    if not found.whole:
        raise SystemExit(FAILED)


@store.command()
@report_errors
def roles() -> None:
    """Print the SQL that makes a reader, and a writer who cannot change tables, for the owner to run with psql."""
    print_file(ROLES_SQL)


@store.command()
@click.argument("url", type=LibraryLocation(), required=False)
@verb
def login(workstation: Workstation, url: Location | None) -> None:
    """Store the password of the library at URL in the system keyring, by default that of --store.

    The password is asked for without echo, or read as one line from standard input if that is no terminal. It is stored
    after a connection with it, and used where neither the URL, PGPASSWORD, a service file nor ~/.pgpass has one.
    """
    server = _server(workstation, url)
    password = server.password
    if password is None and sys.stdin.isatty():
        password = click.prompt(plain(f"Password for {server}"), hide_input=True, err=True)
    elif password is None:
        password = sys.stdin.readline().rstrip("\r\n")
    if not password:
        raise click.UsageError("No password was given: type it, or write it to standard input.")
    workstation.store_password(server, password)
    click.echo(plain(f"The password for {server} is stored in the keyring."))


@store.command()
@click.argument("url", type=LibraryLocation(), required=False)
@verb
def logout(workstation: Workstation, url: Location | None) -> None:
    """Delete the password of the library at URL from the system keyring, by default that of --store."""
    server = _server(workstation, url)
    found = workstation.delete_password(server)
    click.echo(plain(f"The password for {server} is {'deleted from' if found else 'not in'} the keyring."))


def _server(workstation: Workstation, url: Location | None) -> ServerUrl:
    location = url or workstation.library_location
    if not isinstance(location, ServerUrl):
        raise click.UsageError("A library in a file has no password: give a URL, here or with --store.")
    return location
