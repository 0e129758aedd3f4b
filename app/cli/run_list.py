"""benchwright list, annotate, delete, restore, searches: the runs of the library and what the user adds to them."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import click

from app.cli.common import json_verb, plain, print_json, print_note, print_table
from app.library_rows import LONGEST_TAG, Annotation, AnnotationJson, LibraryRow, LibraryRows, row_to_json
from app.library_table import (
    DEFAULT_COLUMNS,
    GROUPINGS,
    RowGroup,
    columns_of,
    differing_parameters,
    grouped,
    sorted_rows,
)
from app.services import Workstation
from app.timestamps import now
from app.verb_results import DeletedRuns, RestoredRuns
from suites.errors import BenchwrightError
from suites.quantities import count_text


class FilterCommand(click.Command):
    """A command whose arguments may begin with “-”: ``-host:web-1`` is a filter, not the options -h, -o, -s, -t."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the options, then the filters."""
        if "--" in args:
            return super().parse_args(ctx, args)
        options = [one for one in self.params if isinstance(one, click.Option) and not one.is_flag]
        with_value = {name for option in options for name in option.opts}
        after = zip(["", *args], args, strict=False)
        negated = [one[:1] == "-" and one[1:2] not in {"", "-"} and len(one) > 2 and last not in with_value
                   for last, one in after]  # fmt: skip
        parts = [
            [one for one, is_filter in zip(args, negated, strict=True) if is_filter is side] for side in (False, True)
        ]
        return super().parse_args(ctx, [*parts[0], "--", *parts[1]])


@click.command("list", cls=FilterCommand)
@click.argument("filters", nargs=-1, metavar="[FILTER...]")
@click.option("--search", "saved", metavar="NAME", help="Use a saved search as well.")
@click.option("--like", metavar="RUN", help="Only runs with the tests and parameters of RUN.")
@click.option("--columns", metavar="NAME,...", help="Columns: of the library, parameters, metrics.")
@click.option("--differences", is_flag=True, help="Add a column for each parameter that differs between the runs.")
@click.option("--group", type=click.Choice(tuple(GROUPINGS)), help="Group the runs.")
@click.option("--sort", metavar="COLUMN", help="Sort by a column; -COLUMN: descending.  [default: -started]")
@json_verb("list")
def list_runs(
    workstation: Workstation,
    filters: tuple[str, ...],
    saved: str | None,
    like: str | None,
    columns: str | None,
    differences: bool,
    group: str | None,
    sort: str | None,
    *,
    as_json: bool,
) -> None:
    """List the stored runs that match FILTER, the newest first.

    FILTER: words, and terms such as host:web-1 suite:fio rw=randread iops>100k tag:old since:7d bin:yes.
    A comma separates alternatives, “-” negates.
    """
    complete(workstation)
    like_run = [] if like is None else [f"like:{workstation.load(like).summary.id}"]
    library, rows = workstation.matching(" ".join([*filters, *like_run, _saved_search(workstation, saved)]))
    names = [*(columns.split(",") if columns else _usual_columns(rows))]
    if differences:
        names += [token for _, token in differing_parameters(rows)]
    if sort:
        (column,) = columns_of([sort.removeprefix("-")], library, workstation.metric_values)
        rows = sorted_rows(rows, column, descending=sort.startswith("-"))
    if as_json:
        print_json([row_to_json(row) for row in rows])
        return
    if not rows:
        nothing = (
            "No run matches." if library.rows else "The library is empty. Run a first benchmark with: benchwright quick"
        )
        click.echo(plain(nothing))
        return
    _print_rows(workstation, library, names, grouped(rows, group) if group else [RowGroup("", tuple(rows))])


def _print_rows(
    workstation: Workstation, library: LibraryRows, names: Sequence[str], groups: Sequence[RowGroup]
) -> None:
    found = columns_of(["id", *(name for name in names if name != "id")], library, workstation.metric_values)
    heads = [f"{one.title} [{one.unit}]" if one.unit else one.title for one in found]
    right = [at for at, one in enumerate(found) if one.number]
    for group in groups:
        if group.title:
            click.echo(plain(f"{group.title}: {count_text(len(group.rows), 'run')}  {group.span}".rstrip()))
        print_table(heads, [[one.text(row) for one in found] for row in group.rows], right=right)


def _usual_columns(rows: Sequence[LibraryRow]) -> list[str]:
    """Return the default columns, and that of the state if a run did not complete."""
    state = ["state"] if any(row.summary.status != "done" for row in rows) else []
    return [*DEFAULT_COLUMNS, *state]


def _saved_search(workstation: Workstation, name: str | None) -> str:
    if name is None:
        return ""
    searches = workstation.library().searches
    if name not in searches:
        known = ", ".join(searches) or "none"
        raise BenchwrightError(f"There is no saved search “{name[:60]}”.", f"Saved searches: {known}.")
    return searches[name]


def complete(workstation: Workstation) -> None:
    """Complete the summaries of an older library."""
    for done, total in workstation.complete_summaries():
        if done < total:
            print_note(f"Reading the runs of an older version: {done} of {total}")


def _row(library: LibraryRows, run: str) -> LibraryRow:
    return next(row for row in library.rows if row.id == run)


def _change(
    workstation: Workstation, runs: Sequence[str], change: Callable[[Annotation], Annotation]
) -> dict[str, Annotation]:
    """Change the annotations of runs, all or none; return the new ones."""
    library = workstation.library()
    ids = dict.fromkeys(workstation.load(run).summary.id for run in runs)
    changed = {run: change(_row(library, run).annotation) for run in ids}
    workstation.annotate(changed)
    return changed


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--name", help="Name of the run; empty: the plan's.")
@click.option("--note", help="Note; empty: none.")
@click.option("--tag", "tags", multiple=True, help="Add a tag; repeatable.")
@click.option("--untag", "untags", multiple=True, help="Remove a tag; repeatable.")
@json_verb("annotate")
def annotate(
    workstation: Workstation,
    runs: tuple[str, ...],
    name: str | None,
    note: str | None,
    tags: tuple[str, ...],
    untags: tuple[str, ...],
    *,
    as_json: bool,
) -> None:
    """Give RUNS a name, a note or tags; without an option, show them."""
    added = [_checked_tag(tag) for tag in tags]

    def change(old: Annotation) -> Annotation:
        kept = tuple(dict.fromkeys(tag for tag in (*old.tags, *added) if tag not in untags))
        named = old.name if name is None else " ".join(name.split())
        return replace(old, name=named, note=old.note if note is None else note.strip(), tags=kept)

    changed = _change(workstation, runs, change)
    if as_json:
        found: dict[str, AnnotationJson] = {
            run: {"name": one.name, "note": one.note, "tags": list(one.tags)} for run, one in changed.items()
        }
        print_json(found)
        return
    print_table(
        ["Run", "Name", "Tags", "Note"],
        [[run, one.name, ", ".join(one.tags), one.note] for run, one in changed.items()],
    )


def _checked_tag(text: str) -> str:
    tag = " ".join(text.split())
    if not tag or len(tag) > LONGEST_TAG or "," in tag:
        raise BenchwrightError(f"“{text[:80]}” is not a tag.", f"Use at most {LONGEST_TAG} characters, no comma.")
    return tag


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--for-good", is_flag=True, help="Delete permanently; this cannot be undone.")
@click.option("--yes", is_flag=True, help="With --for-good: without confirmation.")
@json_verb("delete")
def delete(workstation: Workstation, runs: tuple[str, ...], *, for_good: bool, yes: bool, as_json: bool) -> None:
    """Put RUNS into the bin; restore takes them out again. Runs of a baseline stay part of it.

    With --for-good a locked run and a run of a baseline are refused.
    """
    if for_good:
        deleted = _delete_for_good(workstation, runs, yes=yes)
        if as_json:
            print_json(DeletedRuns(deleted=deleted))
        return
    changed = _change(workstation, runs, lambda old: replace(old, binned=now()))
    if as_json:
        print_json(DeletedRuns(deleted=list(changed)))
        return
    click.echo(
        plain(f"{count_text(len(changed), 'run')} in the bin. Undo with: benchwright restore {' '.join(changed)}")
    )


def _delete_for_good(workstation: Workstation, runs: Sequence[str], *, yes: bool) -> list[str]:
    found = [workstation.load(run).summary for run in runs]
    if not yes:
        listed = ", ".join(f"{one.id} ({one.name})" for one in found)
        click.confirm(plain(f"Delete {listed} permanently?"), abort=True, err=True)
    for one in found:
        workstation.delete(one.id)
    return [one.id for one in found]


@click.command()
@click.argument("runs", nargs=-1, required=True)
@json_verb("restore")
def restore(workstation: Workstation, runs: tuple[str, ...], *, as_json: bool) -> None:
    """Take RUNS out of the bin."""
    changed = _change(workstation, runs, lambda old: replace(old, binned=None))
    if as_json:
        print_json(RestoredRuns(restored=list(changed)))
        return
    click.echo(plain(f"{count_text(len(changed), 'run')} restored."))


@click.command()
@click.argument("name", required=False)
@click.argument("filters", nargs=-1, metavar="[FILTER...]")
@click.option("--delete", "deleted", is_flag=True, help="Delete the search NAME.")
@json_verb("searches")
def searches(
    workstation: Workstation, name: str | None, filters: tuple[str, ...], *, deleted: bool, as_json: bool
) -> None:
    """List the saved searches, or save FILTER under NAME for list --search NAME and for the window."""
    if name is not None:
        if deleted:
            _saved_search(workstation, name)
        elif not filters:
            raise BenchwrightError("No filter given.", "Write the filter after the name, or add --delete.")
        workstation.matching(" ".join(filters))  # raises FilterError
        workstation.save_search(name, "" if deleted else " ".join(filters))
    found = workstation.library().searches
    if as_json:
        print_json(dict(found))
    elif found:
        print_table(["Search", "Filter"], [[one, text] for one, text in found.items()])
    else:
        click.echo("No saved searches.")
