"""benchwright mappings: the remembered mappings of tables."""

import click

from app.cli.common import json_option, pass_workstation, print_json, print_table, report_errors, verb
from app.saved_mappings import mappings_to_json
from app.services import Workstation


@click.group(invoke_without_command=True)
@json_option("mappings")
@pass_workstation
@click.pass_context
@report_errors
def mappings(context: click.Context, workstation: Workstation, *, as_json: bool) -> None:
    """List the mappings with which CSV tables are imported: see import --map.

    A table is read with the mapping of the same columns, in any order.
    """
    if context.invoked_subcommand is not None:
        return
    kept = workstation.saved_mappings.read()
    if as_json:
        print_json(mappings_to_json(kept))
        return
    rows = [[one.name, column, role] for one in kept for column, role in one.columns.items()]
    print_table(("Mapping", "Column", "Role"), rows)


@mappings.command("forget")
@click.argument("name")
@verb
def forget(workstation: Workstation, name: str) -> None:
    """Delete the mapping NAME."""
    workstation.saved_mappings.forget(name)
