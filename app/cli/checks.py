"""benchwright checks: everything that is looked for, and the page of each check."""

import click

from app.checks.catalogue import AnyCheck, Entry, catalogue, entry
from app.cli.common import json_option, plain, print_json, print_table, speaks_to_people


@click.command("checks")
@click.argument("check_id", metavar="[ID]", required=False)
@json_option
@speaks_to_people
def checks(check_id: str | None, *, as_json: bool) -> None:
    """List what is checked before, during and after a run; with ID, show that check."""
    found = catalogue() if check_id is None else (entry(check_id),)
    if as_json:
        print_json([_to_json(each) for each in found])
    elif check_id is None:
        rows = [[each.level, each.when, each.id, each.title, ", ".join(each.suites) or "all"] for each in found]
        print_table(["Level", "When", "Check", "What", "Tests"], rows)
    else:
        _print(found[0])


def _print(found: Entry) -> None:
    for each in found.wordings:
        click.echo(plain(f"{each.check.title}  ({found.id}, {each.check.level}, {found.when})"))
        told = {
            "Why": each.check.why,
            "Remedy": each.check.remedy,
            "Needs": each.check.needs,
            "Source": each.check.source,
            "Tests": ", ".join(each.suites) or "all",
        }
        for name, words in told.items():
            click.echo(plain(f"  {name + ':':8} {words}"))


def _to_json(found: Entry) -> dict[str, object]:
    return {
        "id": found.id,
        "level": found.level,
        "when": found.when,
        "title": found.title,
        "family": found.family,
        "suites": list(found.suites),
        "wordings": [_wording(each.check, each.suites) for each in found.wordings],
    }


def _wording(check: AnyCheck, suites: tuple[str, ...]) -> dict[str, object]:
    return {
        "level": check.level,
        "title": check.title,
        "why": check.why,
        "remedy": check.remedy,
        "needs": check.needs,
        "source": check.source,
        "suites": list(suites),
    }
