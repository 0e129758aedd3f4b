"""benchwright checks: list all checks, or show one."""

import click

from app.checks.catalogue import CatalogueEntry, catalogue, entry
from app.cli.common import json_option, plain, print_json, print_table, report_errors
from app.json_converter import published


@click.command("checks")
@click.argument("check_id", metavar="[ID]", required=False)
@json_option("checks")
@report_errors
def checks(check_id: str | None, *, as_json: bool) -> None:
    """List the checks before, during and after a run, or show the check ID."""
    found = catalogue() if check_id is None else (entry(check_id),)
    if as_json:
        print_json([published(each) for each in found])
    elif check_id is None:
        rows = [[each.severity, each.when, each.id, each.title, ", ".join(each.suites) or "all"] for each in found]
        print_table(["Severity", "When", "Check", "Title", "Tests"], rows)
    else:
        _print(found[0])


def _print(found: CatalogueEntry) -> None:
    for each in found.variants:
        click.echo(plain(f"{each.check.title}  ({found.id}, {each.check.severity}, {found.when})"))
        fields = {
            "Why": each.check.why,
            "Remedy": each.check.remedy,
            "Needs": each.check.needs,
            "Source": each.check.source,
            "Tests": ", ".join(each.suites) or "all",
        }
        for name, text in fields.items():
            click.echo(plain(f"  {name + ':':8} {text}"))
