"""benchwright investigation: a question with its runs, notes and conclusion, and the report of it."""

import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import click

from app.cli.common import OutputFile, Whole, given_files, json_verb, plain, print_json, print_note, print_table, verb
from app.cli.exchange import print_redaction
from app.formats import investigation_to_json
from app.investigation import (
    CONCLUSION,
    LONGEST_TEXT,
    MOST_ENTRIES,
    NAME,
    QUESTION,
    Investigation,
    InvestigationEntry,
    text_entry,
)
from app.investigation_results import answered_to_json
from app.investigation_services import FORMATS
from app.services import Workstation
from app.verb_results import WrittenFiles
from suites.errors import BenchwrightError
from suites.quantities import count_text


class _Text(click.ParamType[str]):
    """A text; "-" reads it from standard input."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Return the text; fail for one that is too long or not UTF-8."""
        if value != "-":
            return value
        data = sys.stdin.buffer.read(4 * LONGEST_TEXT + 1)  # UTF-8 has at most four bytes for a character
        if len(data) > 4 * LONGEST_TEXT:
            self.fail(f"Standard input has over {LONGEST_TEXT:,} characters: nothing was stored.", param, ctx)
        try:
            return data.decode()
        except UnicodeDecodeError:
            self.fail("Standard input is not text in UTF-8: nothing was stored.", param, ctx)


TEXT, POSITION = _Text(), Whole(1, MOST_ENTRIES)


@click.group()
def investigation() -> None:
    """Answer a question from runs: notes on runs and comparisons, a conclusion, an ordered report.

    NAME is the name or the id of an investigation, ENTRY the number that “show” prints. A TEXT of "-" is read from
    standard input. Figures and verdicts are read from the runs each time, never stored.
    """


@investigation.command("new")
@click.argument("name")
@click.option("--question", type=TEXT, default="", help="What is to be answered.")
@json_verb("investigation")
def new(workstation: Workstation, name: str, question: str, *, as_json: bool) -> None:
    """Begin the investigation NAME."""
    _print_changed(workstation.begin_investigation(name, question), as_json=as_json)


@investigation.command("list")
@json_verb("investigations")
def list_investigations(workstation: Workstation, *, as_json: bool) -> None:
    """List the investigations, the last changed first. Unreadable ones are named on standard error."""
    found, unreadable = workstation.investigations(), workstation.unreadable_investigations()
    for one in unreadable:
        print_note(f"{one.text} Delete it with: benchwright investigation delete {one.id}")
    if as_json:
        print_json([investigation_to_json(one) for one in found])
        return
    if not found and not unreadable:
        click.echo(plain("No investigations. Begin one with: benchwright investigation new NAME"))
        return
    rows = [[one.name, str(len(one.entries)), one.changed[:16].replace("T", " "), one.id] for one in found]
    print_table(["Name", "Entries", "Changed (UTC)", "Id"], rows, right=[1])


@investigation.command("show")
@click.argument("name")
@json_verb("investigation-results")
def show(workstation: Workstation, name: str, *, as_json: bool) -> None:
    """Show the investigation NAME with the present results of its runs."""
    found = workstation.investigation(name)
    results = list(workstation.entry_results(found.entries))
    if as_json:
        print_json(answered_to_json(found, results))
        return
    click.echo(plain(f"{found.name}  ({found.id})"))
    _print_text("Question", found.question)
    for number, one in enumerate(results, 1):
        click.echo("")
        trust = "" if one.trust is None else f"  {one.trust.value}"
        click.echo(plain(f"{number}. {one.title or 'Note'}{trust}"))
        for line in filter(None, [one.headline, *one.entry.note.splitlines()]):
            click.echo(plain(f"   {line}"))
    click.echo("")
    _print_text("Conclusion", found.conclusion)


@investigation.command("add")
@click.argument("name")
@click.argument("runs", nargs=-1, metavar="[RUN...]")
@click.option("--compare", "compared", is_flag=True, help="Add one comparison of the runs with the first.")
@click.option("--note", type=TEXT, default="", help="A note on what is added.")
@click.option("--text", type=TEXT, help="Add a paragraph of text in place of runs.")
@click.option("--at", type=POSITION, help="Position in the list.  [default: the end]")
@json_verb("investigation")
def add(
    workstation: Workstation,
    name: str,
    runs: tuple[str, ...],
    compared: bool,
    note: str,
    text: str | None,
    at: int | None,
    *,
    as_json: bool,
) -> None:
    """Add each RUN, a comparison of them, or a text, to the investigation NAME.

    RUN is as in “compare”: runs joined by commas, a part @HOST or :STEP, or a baseline.
    """
    if bool(runs) is (text is not None):
        raise BenchwrightError("Give runs or --text.", "Name one or more runs, or add --text TEXT.")
    if compared and len(runs) < 2:
        raise BenchwrightError("A comparison needs two runs.", "Name the baseline first, then another run.")
    made = _entries(workstation, runs, note, compared=compared) if text is None else [text_entry(text)]
    place = None if at is None else at - 1
    _change(workstation, name, lambda found: found.added(made, place), as_json=as_json)


def _entries(workstation: Workstation, runs: Sequence[str], note: str, *, compared: bool) -> list[InvestigationEntry]:
    groups = [runs] if compared else [[run] for run in runs]
    return [workstation.entry_of(group, note) for group in groups]


@investigation.command("note")
@click.argument("name")
@click.argument("entry", type=POSITION)
@click.argument("text", type=TEXT)
@json_verb("investigation")
def note(workstation: Workstation, name: str, entry: int, text: str, *, as_json: bool) -> None:
    """Replace the note of ENTRY, or its text, by TEXT."""
    _change(workstation, name, lambda found: found.written(_at(found, entry).id, text), as_json=as_json)


@investigation.command("move")
@click.argument("name")
@click.argument("entry", type=POSITION)
@click.argument("position", type=POSITION)
@json_verb("investigation")
def move(workstation: Workstation, name: str, entry: int, position: int, *, as_json: bool) -> None:
    """Move ENTRY to a POSITION in the list, from 1."""
    _change(workstation, name, lambda found: found.moved(_at(found, entry).id, position - 1), as_json=as_json)


@investigation.command("remove")
@click.argument("name")
@click.argument("entry", type=POSITION)
@json_verb("investigation")
def remove(workstation: Workstation, name: str, entry: int, *, as_json: bool) -> None:
    """Remove ENTRY; its runs stay in the library."""
    _change(workstation, name, lambda found: found.without([_at(found, entry).id]), as_json=as_json)


@investigation.command("ask")
@click.argument("name")
@click.argument("question", type=TEXT)
@json_verb("investigation")
def ask(workstation: Workstation, name: str, question: str, *, as_json: bool) -> None:
    """Replace the question."""
    _change(workstation, name, lambda found: found.written(QUESTION, question), as_json=as_json)


@investigation.command("rename")
@click.argument("name")
@click.argument("new_name")
@json_verb("investigation")
def rename(workstation: Workstation, name: str, new_name: str, *, as_json: bool) -> None:
    """Rename the investigation NAME."""
    _change(workstation, name, lambda found: found.written(NAME, new_name), as_json=as_json)


@investigation.command("conclude")
@click.argument("name")
@click.argument("text", type=TEXT)
@json_verb("investigation")
def conclude(workstation: Workstation, name: str, text: str, *, as_json: bool) -> None:
    """Replace the conclusion by TEXT."""
    _change(workstation, name, lambda found: found.written(CONCLUSION, text), as_json=as_json)


@investigation.command("delete")
@click.argument("name")
@verb
def delete(workstation: Workstation, name: str) -> None:
    """Delete the investigation NAME; its runs stay."""
    found = workstation.delete_investigation(name)
    click.echo(plain(f"Deleted the investigation “{found.name}”"))


@investigation.command("report")
@click.argument("name")
@click.option("--html", type=OutputFile(), help="HTML with plots and the runs, which can be imported.")
@click.option("--markdown", type=OutputFile(), help="Markdown, without plots.")
@click.option("--pdf", type=OutputFile(), help="PDF with plots.")
@click.option("--no-redact", is_flag=True, help="Keep names of hosts and users, addresses, ids and paths.")
@click.option("--preview", is_flag=True, help="Show what is replaced and what stays, and write nothing.")
@json_verb("files", "redaction")
def report(
    workstation: Workstation, name: str, no_redact: bool, preview: bool, as_json: bool, **paths: Path | None
) -> None:
    """Write the report of NAME: question, what was done, figures with verdicts, plots, conclusion.

    Redacted unless --no-redact is given: your own texts stay, with the names that the runs have replaced in them.
    """
    if preview:
        with workstation.redacted_investigation(name) as source:
            print_redaction(source.preview(), as_json=as_json)
        return
    given = given_files({kind: paths[kind] for kind in FORMATS})
    if not given:
        raise BenchwrightError("No output file given.", "Add --html, --markdown or --pdf with a FILE.")
    written = workstation.export_investigation_as(name, given, redacted=not no_redact)
    if as_json:
        print_json(WrittenFiles(files=[str(path) for path in written]))
        return
    for path in written:
        click.echo(plain(f"Wrote {path}"))


def _change(
    workstation: Workstation, name: str, change: Callable[[Investigation], Investigation], *, as_json: bool
) -> None:
    _print_changed(workstation.change_investigation(name, change)[1], as_json=as_json)


def _print_changed(found: Investigation, *, as_json: bool) -> None:
    if as_json:
        print_json(investigation_to_json(found))
    else:
        click.echo(plain(f"{found.name}  ({found.id}): {count_text(len(found.entries), 'entry', 'entries')}"))


def _at(found: Investigation, position: int) -> InvestigationEntry:
    if position > len(found.entries):
        raise BenchwrightError(
            f"“{found.name}” has no entry {position}.",
            f"It has {len(found.entries)}: benchwright investigation show {found.id}",
        )
    return found.entries[position - 1]


def _print_text(head: str, text: str) -> None:
    click.echo(plain(f"{head}:"))
    for line in text.splitlines() or ["none yet"]:
        click.echo(plain(f"   {line}"))
