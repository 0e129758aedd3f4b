"""benchwright export, import: files of runs, and outputs of tools that ran elsewhere."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from tempfile import TemporaryDirectory

import click

from app.cli.common import (
    FAILED,
    PRINTED,
    given_files,
    json_verb,
    known_host_options,
    plain,
    print_file,
    print_json,
    print_note,
    print_table,
    show_part,
)
from app.cli.studies import (
    margin_option,
    metrics_option,
    overrule_option,
    tested_of,
    tested_option,
)
from app.comparison.criteria import ComparisonCriteria
from app.export_services import ExportServices
from app.margins import Margins
from app.output import write_whole
from app.outputs.files import has_library, known_host
from app.outputs.importing import ImportedOutput, import_text
from app.outputs.tables import GivenMapping
from app.plans.plan import ELSEWHERE
from app.services import Workstation
from app.sharing.preview import RedactionPreview
from app.sharing.redacted_copy import Keep
from app.sharing.standing import Standing
from app.verb_results import ImportedFile, ImportedFiles, ImportedRuns, WrittenFiles
from suites.errors import BenchwrightError
from suites.read_only.table_mapping import ROLE_SYNTAX, Decimal, Role

Writer = Callable[[ExportServices, Sequence[str], Path], Iterable[Path]]
"""Writes runs to a path and gives the files that it wrote."""

REDACTED = frozenset({"ticket", "html", "markdown"})
"""Exports that are redacted unless --no-redact is given: texts for other people."""


def _file_option(name: str, text: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return the option `--name FILE`."""
    return click.option(f"--{name}", name.replace("-", "_"), type=click.Path(path_type=Path), help=text)


@click.command()
@click.argument("runs", nargs=-1, required=True)
@_file_option("csv", "Write the metrics to this file, the samples to another next to it.")
@_file_option("parquet", "Write the metrics to this file, the samples to another next to it; needs pyarrow.")
@_file_option("png", "Write the report image to this file.")
@_file_option("pdf", "Write the report image to this PDF file.")
@_file_option("svg", "Write the report image to this SVG file.")
@_file_option("card", "Write the results of one run at a glance to this PNG file, 1200 x 630 pixels.")
@_file_option("hyperfine", "Write the times of your own commands to this file, as hyperfine --export-json does.")
@_file_option("library", "Write the runs to this new library file, for another Benchwright to import.")
@_file_option("ticket", "Write one run to this Markdown file: results, limit, what was excluded, commands; redacted.")
@_file_option("html", "Write a report to this HTML file, which needs no other file and can be imported; redacted.")
@_file_option("markdown", "Write a report to this Markdown file, for a ticket or a pull request; redacted.")
@_file_option("run-json", "Write one run to this file as JSON, as show --json prints it: see benchwright schema run.")
@_file_option(
    "script", "Write the commands of one run to this shell script, to repeat it by hand; with --redact not for running."
)
@click.option(
    "--redact/--no-redact",
    default=None,
    help="Replace names of hosts and users, addresses, serial numbers, ids, paths and your own texts.  "
    "[default: only with --ticket, --html and --markdown]",
)
@click.option("--preview", is_flag=True, help="Show what --redact replaces and what stays, and write nothing.")
@click.option(
    "--keep",
    multiple=True,
    type=click.Choice([one.value for one in Keep]),
    help="Keep your own titles, notes and tags (texts) or the text of imported outputs (imported) in a redacted "
    "export; names in them that nothing in the run states as such stay; repeatable.  [default: left out]",
)
@margin_option
@overrule_option
@metrics_option
@tested_option
@json_verb("files", "redaction")
def export(
    workstation: Workstation,
    runs: tuple[str, ...],
    redact: bool | None,
    preview: bool,
    keep: tuple[str, ...],
    margins: Margins,
    overrule: str,
    metrics: tuple[str, ...],
    everything: bool,
    as_json: bool,
    **paths: Path | None,
) -> None:
    """Export RUNS as HTML, Markdown, ticket text, table, image or JSON, or as a library file with everything.

    RUNS are ids, groups (ID,ID), series:NAME and baseline:NAME.

    HTML, Markdown and images of several runs compare them with the first, as the verb compare does. A FILE of - prints
    a text: --ticket -, --markdown -.
    """
    kept = [Keep(each) for each in keep]
    if preview:
        print_redaction(workstation.redaction_preview(runs, kept), as_json=as_json)
        return

    def standings() -> Sequence[Standing]:
        """Return those in the library: a redacted copy has no other run."""
        return workstation.standings(_one_run(workstation, runs, "A ticket text"))

    criteria = ComparisonCriteria(margins, overrule, tested_of(metrics, everything=everything))
    writers = _writers(criteria, standings, redacted=False)
    given = dict(given_files({name: paths[name] for name in writers}))
    if not given:
        raise BenchwrightError(
            "No output file given.",
            "Add an option with a FILE, such as --html, --ticket, --csv, --png or --library.",
        )
    shared = {name for name in given if (name in REDACTED if redact is None else redact)}
    written: list[Path] = []
    with _naming(written), _printing(given, written, as_json=as_json) as printed:
        for name in (name for name in given if name not in shared):
            written += writers[name](workstation, runs, given[name])
        if shared:
            with workstation.redacted(runs, kept, reason=overrule) as source:
                writers = _writers(source.criteria(criteria), standings, redacted=True)
                for name in (name for name in given if name in shared):
                    written += writers[name](source.workstation, source.runs, given[name])
    if as_json:
        print_json(WrittenFiles(files=[str(path) for path in written]))
        return
    for path in written:
        (print_note if printed else click.echo)(plain(f"Wrote {path}"))


TEXTS = ("ticket", "markdown", "html", "run_json", "script")
"""Exports that are one text, which can be printed."""


@contextmanager
def _naming(written: Sequence[Path]) -> Iterator[None]:
    """Name what was written before an error."""
    try:
        yield
    except BenchwrightError:
        for path in filter(Path.exists, written):
            print_note(f"Wrote {path}")
        raise


@contextmanager
def _printing(given: dict[str, Path], written: list[Path], *, as_json: bool) -> Iterator[bool]:
    """Let the export to PRINTED write to a temporary file, and print that at the end; give whether there is one.

    Raises BenchwrightError for an export that cannot be printed.
    """
    found = [name for name, path in given.items() if path == PRINTED]
    if len(found) + as_json > 1 or not {*found} <= {*TEXTS}:
        options = ", ".join(f"--{name.replace('_', '-')}" for name in TEXTS)
        raise BenchwrightError(f"Only one text can be printed (-): {options}.", "Name a file for each other export.")
    if not found:
        yield False
        return
    with TemporaryDirectory(prefix="benchwright-") as folder:
        path = given[found[0]] = Path(folder) / found[0]
        yield True
        written.remove(path)
        print_file(path.read_text(encoding="utf-8", errors="replace"))


def print_redaction(preview: RedactionPreview, *, as_json: bool) -> None:
    """Print what a redacted export replaces and leaves out, and what stays."""
    if as_json:
        print_json(asdict(preview))
        return
    for line in preview.lines():
        click.echo(plain(line))


def _writers(
    criteria: ComparisonCriteria, standings: Callable[[], Sequence[Standing]], *, redacted: bool
) -> Mapping[str, Writer]:
    """Return what writes each kind of file, comparisons by `criteria`."""
    return {
        "csv": lambda source, runs, path: source.export_csv(runs, path),
        "parquet": lambda source, runs, path: source.export_parquet(runs, path),
        **{kind: _image(kind, criteria) for kind in ("png", "pdf", "svg")},
        "card": _export_card,
        "hyperfine": lambda source, runs, path: [source.export_hyperfine(runs, path)],
        "library": _export_library,
        "ticket": lambda source, runs, path: [
            _export_ticket(source, _one_run(source, runs, "A ticket text"), path, standings())
        ],
        "script": _export_script,
        "html": lambda source, runs, path: [source.export_html(runs, path, criteria, redacted=redacted)],
        "markdown": lambda source, runs, path: [source.export_markdown(runs, path, criteria)],
        "run_json": lambda source, runs, path: [source.export_run_json(_one_run(source, runs, "A JSON file"), path)],
    }


def _image(kind: str, criteria: ComparisonCriteria) -> Writer:
    return lambda workstation, runs, path: [workstation.export_image(runs, path, criteria, kind=kind)]


def _export_card(workstation: ExportServices, runs: Sequence[str], path: Path) -> list[Path]:
    return [workstation.export_card(_one_run(workstation, runs, "A card"), path)]


def _export_ticket(workstation: ExportServices, run: str, path: Path, standings: Sequence[Standing]) -> Path:
    text = workstation.ticket_text(run, standings)
    return write_whole(path, text.encode("utf-8", "replace"))


def _export_script(workstation: ExportServices, runs: Sequence[str], path: Path) -> list[Path]:
    from app.sharing.script import script_text

    text = script_text(workstation.load(_one_run(workstation, runs, "A script")))
    return [write_whole(path, text.encode("utf-8", "surrogateescape"))]


def _one_run(workstation: ExportServices, runs: Sequence[str], what: str) -> str:
    """Return the name of the only run of `runs`, which may be a baseline; raise for several."""
    names = workstation.run_names(runs)
    if len(names) > 1:
        raise BenchwrightError(f"{what} has the results of one run.", f"Name one run: {', '.join(names[:SHOWN])}.")
    return names[0]


SHOWN = 5
"""Runs that are named to choose one of."""


def _export_library(workstation: ExportServices, runs: Sequence[str], path: Path) -> list[Path]:
    for part in workstation.export_library(runs, path):
        show_part("Exporting", part.done, part.total)
    return [path]


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE [RUN|FILE]...")
@click.option("--host", help="Host on which the outputs were measured.  [default: elsewhere, or that of --facts]")
@known_host_options
@click.option("--baseline", default="", help="Pin the imported outputs as the next version of this baseline.")
@click.option("--again", is_flag=True, help="Import a file again that the library has; with --facts it always is.")
@click.option(
    "--map",
    "roles",
    multiple=True,
    metavar="COLUMN=ROLE",
    help="Role of a column of a CSV table: NAME:UNIT:higher or NAME:UNIT:lower (a metric and which is better), host, "
    "date, date:%d.%m.%Y, test, config, ignore; of a table with one figure a row metric, value and unit, and each name "
    "in the column metric is mapped like a column. '*=ignore' ignores the others. Repeatable; remembered.",
)
@click.option("--map-name", default="", help="Name of the mapping.  [default: that of the file]")
@click.option(
    "--decimal",
    type=click.Choice([one.value for one in Decimal]),
    help="Decimal separator of the table; needed where it is not certain.",
)
@json_verb("import", "import-library")
def import_runs(
    workstation: Workstation,
    files: tuple[Path, ...],
    host: str | None,
    facts_path: Path | None,
    telemetry_paths: tuple[Path, ...],
    interval: float,
    baseline: str,
    again: bool,
    roles: tuple[str, ...],
    map_name: str,
    decimal: str | None,
    *,
    as_json: bool,
) -> None:
    """Import the runs of a library or an HTML report FILE, by default all finished ones, or outputs of tools.

    The file is only read. The outputs of tools that ran elsewhere, in files and folders, are recognised by their
    content and judged, as the verb judge does; each file becomes a run, once: see --again. A CSV table of your own is
    read with --map; it becomes a run for each host and date, and tables with the same columns are then read alike.
    """
    given = _given_mapping(roles, decimal, map_name)
    if has_library(files[0]):
        if host or facts_path or telemetry_paths or baseline or again or given:
            raise BenchwrightError(
                "--host, --facts, --telemetry, --baseline, --again and --map are for outputs of tools.",
                "Leave them out.",
            )
        _import_library(workstation, files[0], [str(name) for name in files[1:]], as_json=as_json)
        return
    known = known_host(facts_path, telemetry_paths, interval)
    at = host or (ELSEWHERE if known.facts is None else known.facts.host)
    done = []
    for one in workstation.import_outputs(files, at, known, again=again, mapping=given):
        show_part("Importing", one.done, one.total)
        done.append(one)
    runs = list(dict.fromkeys(one.run for one in done if one.run))
    if baseline and runs:
        workstation.pin(",".join(runs), baseline)
    if as_json:
        print_json(ImportedFiles(imported=[_imported_to_json(one) for one in done]))
    else:
        print_table(["File", "Run", "Verdict"], [[one.name, one.run, one.outcome] for one in done])
        for name in dict.fromkeys(one.mapping.name for one in done if one.mapping and one.run):
            print_note(f"Read with the mapping “{name}”: benchwright mappings.")
        if any(one.mapping and one.run and not one.mapping.named(Role.DATE) for one in done):
            print_note("The table has no column with the role date: its runs begin at their import.")
        again_text = " Import them again with --again." if any(one.present for one in done) else ""
        print_note(f"{import_text(done)}.{again_text}")
    if not all(one.run for one in done):
        raise SystemExit(FAILED)


def _imported_to_json(one: ImportedOutput) -> ImportedFile:
    return {
        "file": one.name,
        "run": one.run or None,
        "trust": one.trust or None,
        "problem": one.problem,
        "present": one.present,
        "mapping": one.mapping.name if one.mapping else None,
    }


def _given_mapping(roles: Sequence[str], decimal: str | None, name: str) -> GivenMapping | None:
    """Return the mapping of --map, --map-name and --decimal; None without --map."""
    if not roles:
        if decimal or name:
            raise BenchwrightError("--decimal and --map-name belong to --map.", "Give the roles of the columns too.")
        return None
    columns: dict[str, str] = {}
    for each in roles:
        column, equals, role = each.rpartition("=")
        if not equals or not column.strip():
            raise BenchwrightError(f"--map {each[:80]}: not COLUMN=ROLE.", f"ROLE is {ROLE_SYNTAX}.")
        if column.strip() in columns:
            raise BenchwrightError(f"--map gives column “{column[:60]}” two roles.", "Give one.")
        columns[column.strip()] = role.strip()
    return GivenMapping(columns, Decimal(decimal) if decimal else None, name)


def _import_library(workstation: Workstation, file: Path, runs: Sequence[str], *, as_json: bool) -> None:
    for found in workstation.import_runs(file, runs):
        show_part("Importing", found.done, found.total)
    if as_json:
        print_json(
            ImportedRuns(
                runs=list(found.runs),
                present=list(found.present),
                refused=dict(found.refused),
                added=list(found.added),
            )
        )
    else:
        click.echo(plain(found.report()))
    if found.refused or found.left_out:
        raise SystemExit(FAILED)
