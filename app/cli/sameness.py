"""benchwright sameness: what differs among the hosts of a group."""

from collections.abc import Sequence
from pathlib import Path

import click

from app.cli.common import FAILED, OutputFile, Whole, json_verb, plain, print_json, print_note, print_table
from app.cli.hosts import read_all
from app.cli.prompts import TerminalAsker, with_asker
from app.export import write_csv
from app.fleet.sameness import GroupSameness, sameness_of
from app.fleet.sameness_report import (
    COLUMNS,
    MOST_DEPARTING,
    departure_rows,
    fact_value_rows,
    sameness_rows,
    sameness_to_json,
    summary_text,
    unread_lines,
)
from app.services import Workstation
from suites.quantities import count_text

MOST_UNREAD = 20
"""Facts that are listed as not read on all hosts."""


@click.command()
@click.argument("words", nargs=-1, required=True, metavar="GROUP…")
@click.option("--across", is_flag=True, help="Compare also the hosts of all groups with each other.")
@click.option("--top", type=Whole(1, 1000), default=MOST_DEPARTING, show_default=True, help="Departing hosts to list.")
@click.option("--csv", "csv_path", type=OutputFile(), help="Write the values of each host to this file.")
@with_asker
@json_verb("sameness")
def sameness(
    workstation: Workstation,
    words: tuple[str, ...],
    top: int,
    csv_path: Path | None,
    asker: TerminalAsker,
    *,
    across: bool,
    as_json: bool,
) -> None:
    """Read the facts of the hosts of each GROUP at once, and show which differ within it, the odd host first.

    GROUP is a group, a host, a pattern, KEY=VALUE or NAME:=WORD,WORD; by=KEY makes a group of each value: see
    benchwright inventory --help.
    """
    selected = workstation.selected_hosts(words)
    hosts = [host for group in selected.values() for host in group]
    read, problems = read_all(workstation, hosts, asker, watch=False)
    facts = {name: {host: read[host] for host in group if host in read} for name, group in selected.items()}
    found = sameness_of(facts, workstation.inventory.attributes(), across=across)
    if csv_path is not None:
        write_csv(sameness_rows(found), COLUMNS, csv_path)
        print_note(f"Wrote {csv_path}.")
    if as_json:
        print_json(sameness_to_json(found, problems))
    if not as_json:
        print_sameness(found, top)
    if problems:
        raise SystemExit(FAILED)


def print_sameness(found: Sequence[GroupSameness], top: int = MOST_DEPARTING) -> None:
    """Print what differs within groups, of each at most `top` departing hosts."""
    for one in found:
        _show(one, top)


def _show(one: GroupSameness, top: int) -> None:
    click.echo(plain(summary_text(one)))
    if one.differing:
        if len(one.hosts) > 2:
            click.echo()
            print_table(["Host", "Departs in", "Facts"], departure_rows(one, top), right=(1,))
        click.echo()
        print_table(["Fact", "Value", "Hosts", "Names"], fact_value_rows(one), right=(2,))
    if one.unread:
        click.echo("\nNot read on all hosts:")
        lines = unread_lines(one)
        for line in lines[:MOST_UNREAD]:
            click.echo(plain(f"  {line}"))
        if len(lines) > MOST_UNREAD:
            click.echo(plain(f"  and {count_text(len(lines) - MOST_UNREAD, 'fact')} more, see --json"))
    click.echo()
