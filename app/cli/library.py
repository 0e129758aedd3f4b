"""benchwright show, acknowledge, export, parse, salvage: stored runs."""

import sys
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import asdict
from pathlib import Path

import click

from app.cli.common import (
    FAILED,
    json_option,
    json_verb,
    known_host_options,
    plain,
    print_json,
    print_table,
    report_errors,
    show_part,
)
from app.cli.plans import print_findings
from app.cli.studies import (
    Study,
    margin_option,
    metrics_option,
    overrule_option,
    print_study,
    tested_of,
    tested_option,
)
from app.cli.tables import LEVELS_HEAD, level_cells, print_agreements, print_distributions
from app.distributions.distribution import distributions_to_json
from app.formats import remarks_to_json
from app.json_converter import published
from app.margins import Margins
from app.output import write_whole
from app.outputs.files import has_library, known_host
from app.parse import parse_output
from app.plans.plan import ELSEWHERE, PlanError, host_label
from app.plans.plan_remarks import Acknowledged
from app.records import RunRecord
from app.sample_statistics import WithinTrials
from app.services import Workstation
from app.session_text import session_text
from app.step_results import results_text
from app.summary import levels, notes_text, run_to_json, summaries, telemetry_text
from app.verdict.listing import listed
from app.verdict.steps import step_host_text
from remote.local_file import read_bounded
from suites.errors import BenchwrightError
from suites.quantities import better_text, figure_text, metric_text, range_text

Writer = Callable[[Workstation, Sequence[str], Path], Iterable[Path]]
"""Writes runs to a path and gives the files that it wrote."""

TOO_WIDE = 10
"""Factor of the upper end from which an interval is written as one: its ends may be 0.000032 and 56,786 ms."""


@click.command()
@click.argument("run")
@click.option("--trials", is_flag=True, help="Show every trial as well as the means.")
@click.option("--card", is_flag=True, help="Show each result in a line, to paste into a forum or ticket.")
@click.option(
    "--distribution",
    is_flag=False,
    flag_value="",
    metavar="[METRIC]",
    help="Show percentiles.  [default METRIC: the headline metric]",
)
@json_verb
def show(
    workstation: Workstation, run: str, *, trials: bool, card: bool, distribution: str | None, as_json: bool
) -> None:
    """Show RUN: an id or its first characters, a baseline name, or “last”."""
    if distribution is not None:
        found = workstation.analyses.distributions([run], distribution)
        print_study(Study(lambda: print_distributions(found), lambda: distributions_to_json(found)), as_json=as_json)
        return
    record = workstation.load(run)
    within = workstation.within([run])
    if as_json:
        print_json(run_to_json(record, within, workstation.energy(record)))
        return
    if card:
        print_card(record)
        return
    print_run(record, within, trials=trials)


def print_card(record: RunRecord) -> None:
    """Print the results of a run as lines to paste into a forum or ticket."""
    for line in results_text(record).splitlines():
        click.echo(plain(line))


def print_run(record: RunRecord, within: WithinTrials, *, trials: bool = False) -> None:
    """Print a stored run: hosts, verdicts, figures with their spread, findings, commands."""
    summary = record.summary
    click.echo(
        plain(f"{summary.name}  ({summary.id}, {summary.started[:19].replace('T', ' ')} UTC, {summary.status_text})")
    )
    if summary.session is not None:
        click.echo(plain(f"{session_text(summary.session, summary.started)}."))
    for host, facts in record.facts_before.items():
        shown = [facts.cpu.model, facts.system.distribution, facts.system.kernel]
        click.echo(plain(f"{host_label(host)}: {', '.join(fact for fact in shown if isinstance(fact, str))}"))
        if telemetry := telemetry_text(record.telemetry_program.get(host), record.telemetry_cost.get(host)):
            click.echo(plain(f"  {telemetry}"))
    if record.reason:
        click.echo(plain(record.reason))
    _print_verdicts(record)
    rows = []
    for figure in summaries(record):
        edges, of = figure.interval, figure.value
        interval = (
            figure.no_logarithm and f"arithmetic mean: {figure.no_logarithm}"
            if edges is None
            else figure.interval_text
            if (edges.high or 0.0) > TOO_WIDE * of
            else range_text(figure.metric, edges.low or 0.0, edges.high or 0.0, figure.uncertainty, value=of)
        )
        rows.append(
            [figure.step, host_label(figure.host), metric_text(figure.metric, figure.labels),
             figure.marked_value, interval, figure.range_text, figure.n_text,
             better_text(figure.metric.better)]
        )  # fmt: skip
    if rows:
        print_table(
            ["Step", "Host", "Metric", "Value", "95 % interval", "Range", "n", "Better"], rows, right=[3, 4, 5, 6]
        )
    else:
        click.echo("No figures: no trial counts.")
    _print_levels(record, within)
    _print_notes(record)
    if trials:
        _print_trials(record)
    _print_agreements(record)
    if record.facts_before or record.read_from:  # without facts nothing was checked: do not print “No findings”
        click.echo("")
        print_findings(list(listed(record)), record.plan.acknowledged)
    _print_commands(record)


def _print_commands(record: RunRecord) -> None:
    """Print the tool versions and commands of each step."""
    for step in record.plan.steps:
        versions = dict.fromkeys(trial.trial.tool_version for trial in record.trials if trial.trial.step == step.name)
        for version in filter(None, versions):
            click.echo(plain(f"# {step.name}: {version}"))
        ran = next((trial for trial in record.trials if trial.trial.step == step.name), None)
        for command in () if ran is None else ran.trial.commands:
            click.echo(plain(f"$ {command.line}"))


def _print_agreements(record: RunRecord) -> None:
    """Print whether equivalent tools of the run agree."""
    from app.crosscheck.agreement import agreements

    found = agreements(record)
    if found:
        click.echo("")
        print_agreements(found)


def _print_verdicts(record: RunRecord) -> None:
    """Print the verdicts of the run and of each step on each host."""
    steps = [one for one in record.verdicts if one.step is not None]
    whole = record.verdict
    if whole is not None:
        click.echo(plain(f"Verdict: {whole.summary}"))
    for one in steps if len(steps) > 1 else ():
        click.echo(plain(f"  {step_host_text(one)}: {one.summary}"))
    if record.verdicts:
        click.echo("")


def _print_levels(record: RunRecord, within: WithinTrials) -> None:
    found = [(figure, levels(figure, within)) for figure in summaries(record)]
    rows = [
        [figure.step, host_label(figure.host), metric_text(figure.metric, figure.labels), *level_cells(spread)[:2]]
        for figure, spread in found
        if spread is not None and figure.n > 1
    ]
    if rows:
        click.echo("")
        print_table(["Step", "Host", "Metric", *LEVELS_HEAD[:2]], rows, right=[3, 4])


def _print_notes(record: RunRecord) -> None:
    for step in record.plan.steps:
        for host in record.summary.hosts:
            trials = record.trials_of(step.name, host)
            for note in notes_text((each.trial.title, each.notes) for each in trials):
                click.echo(plain(f"{step.name} on {host_label(host)}: {note}"))


def _print_trials(record: RunRecord) -> None:
    rows = [
        [trial.trial.step, host_label(trial.trial.host),
         f"{trial.trial.number}{f' ({trial.trial.kind})' if trial.trial.warm_up else ''}", trial.state.text,
         metric_text(figure.metric, figure.labels), figure_text(figure.metric, figure.value)]
        for trial in record.trials
        for figure in trial.figures
    ]  # fmt: skip
    print_table(["Step", "Host", "Trial", "State", "Metric", "Value"], rows, right=[5])


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--csv",
    "csv_path",
    type=click.Path(path_type=Path),
    help="Write the metrics to this file, the samples to another next to it.",
)
@click.option(
    "--parquet",
    "parquet_path",
    type=click.Path(path_type=Path),
    help="Write the metrics to this file, the samples to another next to it; needs pyarrow.",
)
@click.option("--png", "png_path", type=click.Path(path_type=Path), help="Write the report image to this file.")
@click.option("--pdf", "pdf_path", type=click.Path(path_type=Path), help="Write the report image to this PDF file.")
@click.option("--svg", "svg_path", type=click.Path(path_type=Path), help="Write the report image to this SVG file.")
@click.option(
    "--card",
    "card_path",
    type=click.Path(path_type=Path),
    help="Write the results of one run at a glance to this PNG file, 1200 x 630 pixels.",
)
@click.option(
    "--hyperfine",
    "hyperfine_path",
    type=click.Path(path_type=Path),
    help="Write the times of your own commands to this file, as hyperfine --export-json does.",
)
@click.option(
    "--library",
    "library_path",
    type=click.Path(path_type=Path),
    help="Write the runs to this new library file, for another Benchwright to import.",
)
@click.option(
    "--ticket",
    "ticket_path",
    type=click.Path(path_type=Path),
    help="Write one run to this Markdown file: results, limit, what was excluded, commands; redacted.",
)
@click.option(
    "--html",
    "html_path",
    type=click.Path(path_type=Path),
    help="Write a report to this HTML file, which needs no other file and can be imported; redacted.",
)
@click.option(
    "--script",
    "script_path",
    type=click.Path(path_type=Path),
    help="Write the commands of one run to this shell script, to repeat it by hand; with --redact not for running.",
)
@click.option(
    "--redact/--no-redact",
    default=None,
    help="Replace names of hosts and users, addresses, serial numbers, ids, paths and your own texts.  "
    "[default: only with --ticket and --html]",
)
@click.option("--preview", is_flag=True, help="Show what --redact replaces and what stays, and write nothing.")
@margin_option
@overrule_option
@metrics_option
@tested_option
@json_verb
def export(
    workstation: Workstation,
    runs: tuple[str, ...],
    csv_path: Path | None,
    parquet_path: Path | None,
    png_path: Path | None,
    pdf_path: Path | None,
    svg_path: Path | None,
    card_path: Path | None,
    hyperfine_path: Path | None,
    library_path: Path | None,
    ticket_path: Path | None,
    html_path: Path | None,
    script_path: Path | None,
    redact: bool | None,
    preview: bool,
    margins: Margins,
    overrule: str,
    metrics: tuple[str, ...],
    everything: bool,
    as_json: bool,
) -> None:
    """Export RUNS as HTML, ticket text, table, image or hyperfine JSON, or as a library file with everything."""
    if preview:
        print_redaction(workstation, runs, as_json=as_json)
        return
    given_margins = margins, overrule, tested_of(metrics, everything=everything)
    ways: tuple[tuple[Path | None, Writer, bool], ...] = (
        (csv_path, lambda shared, chosen, path: shared.export_csv(chosen, path), False),
        (parquet_path, lambda shared, chosen, path: shared.export_parquet(chosen, path), False),
        (png_path, _image("png", given_margins), False),
        (pdf_path, _image("pdf", given_margins), False),
        (svg_path, _image("svg", given_margins), False),
        (card_path, _export_card, False),
        (hyperfine_path, lambda shared, chosen, path: [shared.export_hyperfine(chosen, path)], False),
        (library_path, _export_library, False),
        (ticket_path, _export_ticket, True),
        (script_path, _export_script, False),
        (html_path, lambda shared, chosen, path: [
            shared.export_html(chosen, path, redacted=shared is not workstation)
        ], True),
    )  # fmt: skip
    given = [(path, write, shares if redact is None else redact) for path, write, shares in ways if path is not None]
    if not given:
        raise BenchwrightError(
            "No output file given.",
            "Add an option with a FILE, such as --html, --ticket, --csv, --png or --library.",
        )
    written = [file for path, write, hides in given if not hides for file in write(workstation, runs, path)]
    if any(hides for *_, hides in given):
        with workstation.redacted(runs) as source:
            written += [
                file for path, write, hides in given if hides for file in write(source.workstation, source.runs, path)
            ]
    if as_json:
        print_json({"files": [str(path) for path in written]})
        return
    for path in written:
        click.echo(plain(f"Wrote {path}"))


def print_redaction(workstation: Workstation, runs: Sequence[str], *, as_json: bool) -> None:
    """Print what a redacted export of `runs` replaces and what stays."""
    with workstation.redacted(runs) as source:
        preview = source.preview
    if as_json:
        print_json(
            {"replaced": list(map(asdict, preview.replaced)), "ordinary": preview.ordinary, "kept": preview.kept}
        )
        return
    for line in preview.text.splitlines():
        click.echo(plain(line))


def _image(kind: str, compared_with: tuple[Margins, str, Collection[str]]) -> Writer:
    return lambda workstation, runs, path: [workstation.export_image(runs, path, *compared_with, kind=kind)]


def _export_card(workstation: Workstation, runs: Sequence[str], path: Path) -> list[Path]:
    return [workstation.export_card(_one_run(runs, "A card"), path)]


def _export_ticket(workstation: Workstation, runs: Sequence[str], path: Path) -> list[Path]:
    text = workstation.ticket_text(_one_run(runs, "A ticket text"))
    return [write_whole(path, text.encode("utf-8", "replace"))]


def _export_script(workstation: Workstation, runs: Sequence[str], path: Path) -> list[Path]:
    from app.sharing.script import script_text

    text = script_text(workstation.load(_one_run(runs, "A script")))
    return [write_whole(path, text.encode("utf-8", "surrogateescape"))]


def _one_run(runs: Sequence[str], what: str) -> str:
    if len(runs) > 1:
        raise BenchwrightError(f"{what} has the results of one run.", "Name one run.")
    return runs[0]


def _export_library(workstation: Workstation, runs: Sequence[str], path: Path) -> list[Path]:
    for part in workstation.export_library(runs, path):
        show_part("Exporting", part.done, part.total)
    return [path]


@click.command("import")
@click.argument("files", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="FILE [RUN|FILE]...")
@click.option("--host", help="Host on which the outputs were measured.  [default: elsewhere, or that of --facts]")
@known_host_options
@click.option("--baseline", default="", help="Pin the imported outputs as the next version of this baseline.")
@json_verb
def import_runs(
    workstation: Workstation,
    files: tuple[Path, ...],
    host: str | None,
    facts_path: Path | None,
    telemetry_paths: tuple[Path, ...],
    interval: float,
    baseline: str,
    *,
    as_json: bool,
) -> None:
    """Import the runs of a library or an HTML report FILE, by default all finished ones, or outputs of tools.

    The file is only read. The outputs of tools that ran elsewhere, in files and folders, are recognised by their
    content and judged, as the verb judge does; each file becomes a run.
    """
    if has_library(files[0]):
        if host or facts_path or telemetry_paths or baseline:
            raise BenchwrightError(
                "--host, --facts, --telemetry and --baseline are for outputs of tools.", "Leave them out."
            )
        _import_library(workstation, files[0], [str(name) for name in files[1:]], as_json=as_json)
        return
    known = known_host(facts_path, telemetry_paths, interval)
    at = host or (ELSEWHERE if known.facts is None else known.facts.host)
    done = []
    for one in workstation.import_outputs(files, at, known):
        show_part("Importing", one.done, one.total)
        done.append(one)
    runs = [one.run for one in done if one.run]
    if baseline and runs:
        workstation.pin(",".join(runs), baseline)
    if as_json:
        print_json({"imported": [{"file": one.name, "run": one.run or None, "trust": one.trust or None,
                                  "problem": one.problem} for one in done]})  # fmt: skip
    else:
        print_table(["File", "Run", "Verdict"], [[one.name, one.run, one.problem or one.trust] for one in done])
    if not all(one.run for one in done):
        raise SystemExit(FAILED)


def _import_library(workstation: Workstation, file: Path, runs: Sequence[str], *, as_json: bool) -> None:
    for found in workstation.import_runs(file, runs):
        show_part("Importing", found.done, found.total)
    if as_json:
        print_json({"runs": found.runs, "present": found.present, "refused": dict(found.refused)})
    else:
        click.echo(plain(found.text))
    if found.refused:
        raise SystemExit(FAILED)


@click.command("acknowledge")
@click.argument("run")
@click.argument("reasons", nargs=-1, required=True, metavar="ID=REASON...")
@click.option(
    "--step", "steps", multiple=True, metavar="NAME",
    help="Only the findings of this step; repeatable.  [default: all steps]",
)  # fmt: skip
@json_verb
def acknowledge_run(
    workstation: Workstation, run: str, reasons: tuple[str, ...], steps: tuple[str, ...], *, as_json: bool
) -> None:
    """Acknowledge a finding of a stored RUN with a reason; ID= withdraws it. Errors cannot be acknowledged."""
    given = [_acknowledged(text, step) for text in reasons for step in steps or (None,)]
    record = workstation.acknowledge(run, given)
    if as_json:
        acknowledged = remarks_to_json(record.plan, listed(record))["acknowledged"]
        print_json({"run": record.summary.id, "acknowledged": acknowledged})
        return
    for each in given:
        where = "" if each.step is None else f" ({each.step})"
        done = f"Acknowledged: {each.finding}{where}: {each.reason}"
        click.echo(plain(done if each.reason else f"No longer acknowledged: {each.finding}{where}"))


def _acknowledged(text: str, step: str | None) -> Acknowledged:
    finding, equals, reason = text.partition("=")
    if not finding.strip() or not equals:
        raise PlanError(
            f"“{text[:60]}” is not ID=REASON.", "Write noisy='the nightly backup', or noisy= to withdraw it."
        )
    return Acknowledged(finding.strip(), reason.strip(), step)


@click.command()
@click.argument("suite")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option
@report_errors
def parse(suite: str, file: Path, *, as_json: bool) -> None:
    """Parse the output of SUITE's tool in FILE ("-" for standard input) and print its figures."""
    parsed = parse_output(suite, _read(file))
    if as_json:
        print_json(
            {
                "metrics": [published(figure) for figure in parsed.figures],
                "samples": [published(sample) for sample in parsed.samples],
                "notes": list(parsed.notes),
            }
        )
    else:
        rows = [
            [
                metric_text(figure.metric, figure.labels),
                figure_text(figure.metric, figure.value),
                better_text(figure.metric.better),
            ]
            for figure in parsed.figures
        ]
        if rows:
            print_table(["Metric", "Value", "Better"], rows, right=[1])
        else:
            click.echo("No figures found.")
        for note in parsed.notes:
            click.echo(plain(f"Note: {note}"))
    if not parsed.complete:
        raise SystemExit(FAILED)


def _read(file: Path) -> bytes:
    from app.outputs.recognition import MAXIMUM_SIZE

    if str(file) == "-":
        return sys.stdin.buffer.read(MAXIMUM_SIZE + 1)
    try:
        return read_bounded(file, MAXIMUM_SIZE)
    except OSError as error:
        raise BenchwrightError(
            f"Cannot read {file}: {error.strerror}.", "Check the path and its permissions."
        ) from error


@click.command()
@click.argument("damaged", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@report_errors
def salvage(damaged: Path, new: Path) -> None:
    """Copy what is readable in the DAMAGED library to a NEW one; the damaged file is not changed."""
    from app.store.salvage import salvage as save
    from app.store.salvage import saved_text

    for line in saved_text(save(damaged, new), new):
        if line:
            click.echo(plain(line))
