"""benchwright show, acknowledge, parse, salvage: stored runs."""

import sys
from pathlib import Path

import click

from app.cli.common import (
    FAILED,
    json_option,
    json_verb,
    plain,
    print_json,
    print_table,
    report_errors,
)
from app.cli.plans import print_findings
from app.cli.studies import (
    Study,
    print_study,
)
from app.cli.tables import LEVELS_HEAD, level_cells, print_agreements, print_distributions
from app.distributions.distribution import distributions_to_json
from app.formats import remarks_to_json
from app.json_converter import published
from app.parse import parse_output
from app.plans.plan import PlanError, host_label
from app.plans.plan_remarks import Acknowledged
from app.records import RunRecord
from app.rejudging.history_text import earlier_text, earlier_verdicts, recall_text, unjudged_text, version_text
from app.sample_statistics import WithinTrials
from app.services import Workstation
from app.session_text import session_text
from app.step_results import results_text
from app.summary import levels, notes_text, run_to_json, summaries, telemetry_text
from app.verb_results import AcknowledgedRun, ParsedJson
from app.verdict.listing import listed
from app.verdict.steps import step_host_text
from remote.local_file import read_bounded
from suites.errors import BenchwrightError
from suites.quantities import better_text, figure_text, metric_text, range_text

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
@json_verb("run", "distribution")
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
    started = summary.start_text(summary.started[:19].replace("T", " "))
    click.echo(plain(f"{summary.name}  ({summary.id}, {started} UTC, {summary.status_text})"))
    if summary.session is not None:
        click.echo(plain(f"{session_text(summary.session, summary.started)}."))
    for host, facts in record.facts_before.items():
        shown = [facts.cpu.model, facts.system.distribution, facts.system.kernel]
        click.echo(plain(f"{host_label(host)}: {', '.join(fact for fact in shown if isinstance(fact, str))}"))
        if telemetry := telemetry_text(record.telemetry_program.get(host), record.telemetry_cost.get(host)):
            click.echo(plain(f"  {telemetry}"))
    if record.reason:
        click.echo(plain(record.reason))
    for line in (*record.note.splitlines(), *filter(None, [record.tags_text])):
        click.echo(plain(line))
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
    if whole is not None:
        click.echo(plain(f"  Judged by {version_text(whole)}. {recall_text(record)}".rstrip()))
    if record.unjudged:
        click.echo(plain(f"  {unjudged_text(record)}"))
    for earlier in earlier_verdicts(record):
        click.echo(plain(f"  {earlier_text(earlier)}"))
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


@click.command("acknowledge")
@click.argument("run")
@click.argument("reasons", nargs=-1, required=True, metavar="ID=REASON...")
@click.option(
    "--step", "steps", multiple=True, metavar="NAME",
    help="Only the findings of this step; repeatable.  [default: all steps]",
)  # fmt: skip
@json_verb("acknowledge")
def acknowledge_run(
    workstation: Workstation, run: str, reasons: tuple[str, ...], steps: tuple[str, ...], *, as_json: bool
) -> None:
    """Acknowledge a finding of a stored RUN with a reason; ID= withdraws it. Errors cannot be acknowledged."""
    given = [_acknowledged(text, step) for text in reasons for step in steps or (None,)]
    record = workstation.acknowledge(run, given)
    if as_json:
        acknowledged = remarks_to_json(record.plan, listed(record))["acknowledged"]
        print_json(AcknowledgedRun(run=record.summary.id, acknowledged=acknowledged))
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
@json_option("parse")
@report_errors
def parse(suite: str, file: Path, *, as_json: bool) -> None:
    """Parse the output of SUITE's tool in FILE ("-" for standard input) and print its figures.

    Exit status 1: the output is incomplete, or has no figure that could be read.
    """
    parsed = parse_output(suite, _read(file))
    if as_json:
        print_json(
            ParsedJson(
                metrics=[published(figure) for figure in parsed.figures],
                samples=[published(sample) for sample in parsed.samples],
                notes=list(parsed.notes),
            )
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
    if not (parsed.complete and parsed.figures):
        raise SystemExit(FAILED)


def _read(file: Path) -> bytes:
    from app.outputs.found import MAXIMUM_SIZE

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
    """Copy what is readable in the DAMAGED library to a NEW one; the damaged file is not changed.

    Ends with status 1 if something is known to be missing.
    """
    from app.store.salvage import salvage as save
    from app.store.salvage import saved_text

    saved = save(damaged, new)
    for line in saved_text(saved, new):
        if line:
            click.echo(plain(line))
    if not saved.whole:
        raise SystemExit(FAILED)
