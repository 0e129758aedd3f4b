"""benchwright rejudge: judge stored runs again by the present checks."""

from dataclasses import replace

import click

from app.checks.version import CHECKS_VERSION
from app.cli.common import FAILED, json_verb, plain, print_json, print_table, show_part
from app.library_rows import LibraryRow
from app.rejudging.recall_groups import recall_groups
from app.rejudging.rejudge import JudgedRun
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text


@click.command()
@click.argument("runs", metavar="[RUN...]", nargs=-1)
@click.option("--all", "every", is_flag=True, help="Every ended run, also those that the present checks judged.")
@click.option("--dry-run", is_flag=True, help="Show what would change, and store nothing.")
@json_verb
def rejudge(workstation: Workstation, runs: tuple[str, ...], *, every: bool, dry_run: bool, as_json: bool) -> None:
    """Judge stored runs again by the present checks, and show whose trust changed.

    By default the runs whose verdict is of an earlier version of the checks, or missing. No figure changes; the earlier
    verdicts are kept, and show has them. Interrupted, it continues the next time. The exit status is 1 if a run could
    not be judged: it keeps its verdict, is listed with the reason, and is tried again if it is given, or with --all.
    """
    if runs and every:
        raise BenchwrightError("Give runs, or --all.")
    done: list[JudgedRun] = []
    for one in workstation.rejudge(runs, every=every, dry_run=dry_run):
        show_part("Judging", one.done, one.total)
        done.append(one)
    rows = _changed(workstation, done)
    failed = {one.run: one.problem for one in done if one.problem}
    kept = {} if runs or every else dict(workstation.unjudged_runs())
    if as_json:
        print_json(
            {
                "checks": CHECKS_VERSION, "stored": not dry_run, "judged": len(done) - len(failed),
                "reworded": sum(one.differs and one.recall is None for one in done),
                "changed": [_to_json(row) for row in rows], "failed": failed, "kept": kept,
            }
        )  # fmt: skip
    else:
        _print(done, rows, kept | failed, dry_run=dry_run)
    if failed:
        raise SystemExit(FAILED)


def _changed(workstation: Workstation, done: list[JudgedRun]) -> list[LibraryRow]:
    """Return the rows of the runs whose trust changed, with what changed, newest first."""
    changed = {one.run: one.recall for one in done if one.recall is not None}
    return [replace(row, recall=changed[row.id]) for row in workstation.library().rows if row.id in changed]


def _print(done: list[JudgedRun], rows: list[LibraryRow], kept: dict[str, str], *, dry_run: bool) -> None:
    for group in recall_groups(rows, dismissed=True):
        click.echo(plain(f"{group.text}. {group.baseline_text}".rstrip()))
        if not dry_run:
            click.echo(plain(f"  benchwright list '{group.filter}'"))
    if rows:
        table = [
            [row.id, row.summary.name, ", ".join(row.baselines), one.was, one.now, one.reason]
            for row in rows
            if (one := row.recall) is not None
        ]
        print_table(["Run", "Name", "Baselines", "Was", "Now", "Because"], table)
    for run, problem in kept.items():
        click.echo(plain(f"{run} keeps its verdict: {problem}"))
    judged = count_text(sum(not one.problem for one in done), "run")
    what = "would be judged" if dry_run else "judged"
    click.echo(plain(f"{judged} {what} by checks version {CHECKS_VERSION}, the trust of {len(rows)} changed."))


def _to_json(row: LibraryRow) -> dict[str, object]:
    recall = row.recall
    return {
        "run": row.id, "name": row.summary.name, "started": row.summary.started,
        "imported": row.summary.imported, "baselines": list(row.baselines),
        "was": recall and recall.was, "now": recall and recall.now, "because": recall and recall.reason,
    }  # fmt: skip
