"""benchwright schema: print the JSON Schema of what --json prints."""

import click

from app.cli.common import print_json, report_errors
from app.published_schemas import NAMES, schema


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES))
@report_errors
def schema_command(name: str) -> None:
    """Print the JSON Schema (2020-12) of a run, a comparison, a gate, judged outputs or a document.

    Newer versions may add keys; they do not remove or rename any of a format.
    """
    print_json(schema(name))
