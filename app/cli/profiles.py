"""benchwright profile: counters, stacks and flame graphs of trials that ran under perf."""

from collections.abc import Sequence
from functools import partial
from pathlib import Path

import click

from app.cli.common import Whole, plain, print_table
from app.cli.studies import Study, study
from app.comparison.comparison import CompareError
from app.flame_graph import folded_of, svg_of
from app.output import write_whole
from app.profiles import (
    FunctionShare,
    PerfProfile,
    compared_profiles,
    cost_text,
    function_shares,
    profile_title,
    profile_to_json,
    reading_text,
)
from app.services import Workstation

Pairs = Sequence[tuple[PerfProfile | None, PerfProfile]]
"""Profiles, each with the one that it is compared with."""

_FILE = click.Path(path_type=Path)


@click.command()
@click.argument("run")
@click.argument("other", required=False)
@click.option("--step", metavar="NAME", help="Only this step.")
@click.option("--host", metavar="NAME", help="Only this host.")
@click.option("--top", type=Whole(1, 1000), default=15, show_default=True, help="Functions to list.")
@click.option(
    "--folded", type=_FILE, help="Write the folded stacks, for flamegraph.pl or speedscope; of OTHER, both counts."
)
@click.option("--svg", type=_FILE, help="Write the flame graph; of OTHER, coloured by the change from RUN.")
@study("profile")
def profile(
    workstation: Workstation, run: str, other: str | None, step: str | None, host: str | None, top: int,
    folded: Path | None, svg: Path | None,
) -> Study:  # fmt: skip
    """Show the profiled trial of RUN: what perf counted, and in which functions it sampled; or its change to OTHER.

    A plan with --profile has such a trial. It covers the processes of the step's own commands on the host under test:
    not servers that run beside them, nor a peer. It never counts, because sampling costs time.
    """
    read = workstation.analyses.profiles
    found: Pairs = [(None, one) for one in read(run)] if other is None else compared_profiles(read(run), read(other))
    found = [pair for pair in found if step in {None, pair[1].step} and host in {None, pair[1].host}]
    if not found:
        raise CompareError("No such step or host in the run.", f"Print all: benchwright profile {run}")
    for path, content in ((folded, folded_of), (svg, svg_of)):
        if path is not None:
            write_whole(path, content(*_only(found)).encode("utf-8", "replace"))
            click.echo(plain(f"Wrote {path}."), err=True)
    return Study(partial(_print, found, top), lambda: profile_to_json(found))


def _only(found: Pairs) -> tuple[PerfProfile | None, PerfProfile]:
    """Return the one profile that has stacks; raise CompareError if none has, or several."""
    sampled = [pair for pair in found if pair[1].stacks]
    if len(sampled) == 1:
        return sampled[0]
    names = ", ".join(f"{one.step} on {one.host}" for _, one in sampled)
    reasons = " ".join(dict.fromkeys(one.absent or "No stack was sampled." for _, one in found))
    if sampled:
        raise CompareError("Several profiles, and the file has one.", f"Add --step or --host: {names}.")
    raise CompareError("No profile to write.", reasons)


def _print(found: Pairs, top: int) -> None:
    for number, (before, one) in enumerate(found):
        if number:
            click.echo("")
        click.echo(plain(profile_title(before, one)))
        if one.absent:
            click.echo(plain(f"No profile. {one.absent}"))
            continue
        sides = [one] if before is None else [before, one]
        for when, side in zip(["", ""] if before is None else ["Before: ", "After: "], sides, strict=False):
            if side.cost is not None:
                click.echo(plain(f"{when}{cost_text(side.cost)}"))
        rows = [[each.name, *(reading_text(side.readings[at]) for side in sides)]
                for at, each in enumerate(one.readings)]  # fmt: skip
        print_table(["Counter", *(["Value"] if before is None else ["Before", "After"])], rows)
        if not one.stacks:
            click.echo("No stack was sampled.")
            continue
        shares = function_shares(one.stacks, None if before is None else before.stacks or {})
        head = ["Own", "With calls"] if before is None else ["Own before", "Own", "Change", "With calls"]
        click.echo("")
        print_table([*head, "Function"], [[*_cells(each), each.name] for each in shares[:top]], right=range(len(head)))


def _cells(one: FunctionShare) -> list[str]:
    if one.before is None:
        return [f"{one.own:.1%}", f"{one.total:.1%}"]
    return [
        f"{one.before[0]:.1%}",
        f"{one.own:.1%}",
        f"{100 * (one.own - one.before[0]):+.1f} points",
        f"{one.total:.1%}",
    ]
