"""benchwright schema: print the JSON Schema of what --json prints."""

from collections.abc import Iterator, Sequence

import click

from app.cli.common import print_json, print_table, report_errors, schemas_of
from app.published_schemas import NAMES, TITLES, schema


@click.command("schema")
@click.argument("name", type=click.Choice(NAMES), metavar="[NAME]", required=False)
@click.option("--list", "as_list", is_flag=True, help="List the schemas, and the verbs that print what they describe.")
@click.pass_context
@report_errors
def schema_command(context: click.Context, name: str | None, *, as_list: bool) -> None:
    """Print the JSON Schema (2020-12) of what a verb prints with --json, or of a document.

    The help of a verb names the schemas at its option --json. Newer versions may add keys; they do not remove or rename
    any of a format.
    """
    if as_list == (name is not None):
        raise click.UsageError("Give the name of a schema, or --list.")
    if name is None:
        verbs = dict(verbs_with_json(context.find_root()))
        rows = [[each, title, ", ".join(verb for verb, names in verbs.items() if each in names)]
                for each, title in TITLES.items()]  # fmt: skip
        print_table(["Name", "Describes", "Printed by"], rows)
    else:
        print_json(schema(name))


def verbs_with_json(context: click.Context, path: Sequence[str] = ()) -> Iterator[tuple[str, Sequence[str]]]:
    """Yield the verbs of the command of `context` that have the option --json, each with its schemas."""
    if names := schemas_of(context.command):
        yield " ".join(path), names
    if isinstance(context.command, click.Group):
        for name in context.command.list_commands(context):
            if (command := context.command.get_command(context, name)) is not None:
                yield from verbs_with_json(click.Context(command, context), (*path, name))
