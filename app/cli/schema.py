"""benchwright schema: print the JSON Schema of what --json prints."""

import click

from app.cli.common import print_json, print_table, report_errors
from app.published_schemas import NAMES, TITLES, schema


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES), required=False)
@click.option("--list", "as_list", is_flag=True, help="List the schemas.")
@report_errors
def schema_command(name: str | None, *, as_list: bool) -> None:
    """Print the JSON Schema (2020-12) of what a verb prints with --json, or of a document.

    Newer versions may add keys; they do not remove or rename any of a format.
    """
    if as_list == (name is not None):
        raise click.UsageError("Give the name of a schema, or --list.")
    if name is None:
        print_table(["Name", "Describes"], [[each, title] for each, title in TITLES.items()])
    else:
        print_json(schema(name))
