"""benchwright library: back up, merge, pack samples, lock runs, delete old ones."""

from pathlib import Path

import click

from app.cli.common import FAILED, json_verb, plain, print_json, print_table, show_part
from app.cli.run_list import FilterCommand, complete
from app.services import Workstation
from app.store.retention import Deleted
from app.verb_results import BackedUpLibrary, LockedRuns, PackedSamples, RetainedRuns, UnlockedRuns, merged_to_json
from suites.quantities import count_text


@click.group()
def library() -> None:
    """Back up the library, merge another one, pack samples, lock runs, delete old ones."""


@library.command()
@click.argument("file", type=click.Path(path_type=Path))
@json_verb("library-backup")
def backup(workstation: Workstation, file: Path, *, as_json: bool) -> None:
    """Copy the whole library to the new FILE, also while runs are recorded, and verify the copy."""
    for found in workstation.back_up(file):
        if as_json:
            print_json(BackedUpLibrary(file=str(found.path), runs=found.runs, rows=found.rows, size=found.size))
        else:
            click.echo(plain(found.text))


@library.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option(
    "--margins", type=click.Path(path_type=Path), metavar="FILE", help="Also the margins in this margins.toml."
)
@json_verb("library-merge")
def merge(workstation: Workstation, file: Path, margins: Path | None, *, as_json: bool) -> None:
    """Copy what this library lacks from the library FILE, which is only read; what differs is named and unchanged.

    Finished runs, baselines, calibrations, saved searches and session series.
    """
    for found in workstation.merge_library(file, margins):
        show_part("Merging", found.done, found.total)
    if as_json:
        print_json(merged_to_json(found))
    else:
        click.echo(plain(found.text))
    if not found.whole:
        raise SystemExit(FAILED)


@library.command()
@json_verb("library-pack")
def pack(workstation: Workstation, *, as_json: bool) -> None:
    """Pack samples that older versions, or killed runs, left as rows. They take less space and are read faster.

    The window does so in the background. It can be interrupted at any time, and continued.
    """
    done = total = 0
    for done, total in workstation.pack_samples():
        show_part("Packing", done, total)
    if as_json:
        print_json(PackedSamples(packed=done, left=total - done))
    else:
        left = f" {total - done} left: the library is locked or cannot be written." if done < total else ""
        click.echo(plain(f"{count_text(done, 'run')} packed.{left}"))
    if done < total:
        raise SystemExit(FAILED)


@library.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--reason", required=True, help="Why the runs must stay; shown when a deletion is refused.")
@json_verb("library-lock")
def lock(workstation: Workstation, runs: tuple[str, ...], *, reason: str, as_json: bool) -> None:
    """Lock RUNS: delete, retain and attach --forget refuse them.

    A run of a baseline can go to the bin, and stays part of it there; it is deleted for good only once it is unpinned.
    """
    locked = workstation.lock(runs, reason)
    if as_json:
        print_json(LockedRuns(locked=locked))
    else:
        click.echo(plain(f"{count_text(len(locked), 'run')} locked."))


@library.command()
@click.argument("runs", nargs=-1, required=True)
@json_verb("library-unlock")
def unlock(workstation: Workstation, runs: tuple[str, ...], *, as_json: bool) -> None:
    """Remove the locks of RUNS."""
    unlocked = workstation.unlock(runs)
    if as_json:
        print_json(UnlockedRuns(unlocked=unlocked))
    else:
        click.echo(plain(f"{count_text(len(unlocked), 'run')} unlocked."))


@library.command(cls=FilterCommand)
@click.argument("filters", nargs=-1, metavar="[FILTER...]")
@click.option("--older", required=True, metavar="AGE", help="Runs that started longer ago: 1y, 26w, 90d, or a date.")
@click.option("--delete", "deletes", is_flag=True, help="Delete them for good, after confirmation.")
@click.option("--yes", is_flag=True, help="With --delete: without confirmation.")
@json_verb("library-retain")
def retain(
    workstation: Workstation, filters: tuple[str, ...], *, older: str, deletes: bool, yes: bool, as_json: bool
) -> None:
    """List the runs older than AGE that match FILTER, the oldest first; with --delete, delete them for good.

    Locked runs, runs of a baseline or an investigation, runs imported since and runs that have not ended are kept.
    """
    complete(workstation)  # a filter such as -rw=randread would match runs whose parameters are not read yet
    rows, kept = workstation.expired(older, " ".join(filters))
    doomed = [row.id for row in rows if row.id not in kept]
    if not as_json and rows:
        print_table(
            ["Run", "Started (UTC)", "Name", "Result", "Kept"],
            [[row.id, row.summary.utc_text, row.summary.name, row.headline, kept.get(row.id, "")]
             for row in rows],
        )  # fmt: skip
    if deletes and doomed and not yes:
        click.confirm(plain(f"Delete {count_text(len(doomed), 'run')} permanently?"), abort=True, err=True)
    found = Deleted(len(doomed))
    for found in workstation.delete_runs(doomed) if deletes else ():
        show_part("Deleting", found.done, found.total)
    if as_json:
        print_json(
            RetainedRuns(
                expired=doomed,
                kept=kept,
                deleted=list(found.runs),
                refused=dict(found.refused),
                freed=found.freed,
            )
        )
    elif deletes:
        click.echo(plain(found.text))
    else:
        click.echo(
            plain(f"{count_text(len(doomed), 'run')} would be deleted, {len(kept)} kept. Add --delete to delete.")
        )
    if found.refused:
        raise SystemExit(FAILED)
