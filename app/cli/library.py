"""benchwright list, show, export, delete, parse: what was measured."""

import sys
from pathlib import Path

import click

from app.checks.after_words import place_text
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    print_table,
    speaks_to_people,
)
from app.cli.comparing import margin_option, overrule_option, share_of
from app.cli.comparison_table import LEVELS_HEAD, level_cells
from app.cli.distribution_table import say_distributions
from app.cli.plans import print_findings
from app.comparing.levels import WithinTrials
from app.formats import figure_to_json, sample_to_json
from app.parse import parse_output
from app.plans.plan import host_words
from app.records import RunRecord
from app.run_json import run_to_json, summary_to_json
from app.services import Workstation
from app.summary import levels, summaries
from app.wording import direction_text, figure_text, metric_text, range_text
from remote.local_file import read_bounded
from suites.errors import BenchwrightError


@click.command("list")
@json_option
@pass_workstation
@speaks_to_people
def list_runs(workstation: Workstation, *, as_json: bool) -> None:
    """List the stored runs, the newest first."""
    stored = workstation.runs()
    if as_json:
        print_json([summary_to_json(summary) for summary in stored])
        return
    if not stored:
        click.echo(plain("The library is empty. Benchmark this computer with: benchwright quick"))
        return
    rows = [
        [run.id, run.started[:19].replace("T", " "), run.name, ", ".join(map(host_words, run.hosts)), run.standing,
         str(run.trials), run.headline, run.trust, run.baseline or ""]
        for run in stored
    ]  # fmt: skip
    print_table(
        ["Run", "Started (UTC)", "Plan", "Hosts", "State", "Trials", "Headline", "Verdict", "Baseline"], rows, right=[5]
    )


@click.command()
@click.argument("run")
@click.option("--trials", is_flag=True, help="Show every trial, not only their median.")
@click.option(
    "--distribution",
    is_flag=False,
    flag_value="",
    metavar="[METRIC]",
    help="Show percentiles, by default of the headline.",
)
@json_option
@pass_workstation
@speaks_to_people
def show(workstation: Workstation, run: str, *, trials: bool, distribution: str | None, as_json: bool) -> None:
    """Show RUN: an id, its beginning, the name it is pinned under, or “last”."""
    if distribution is not None:
        say_distributions(workstation.describing.distributions([run], distribution), as_json=as_json)
        return
    record = workstation.load(run)
    within = workstation.within([run])
    if as_json:
        print_json(run_to_json(record, within))
        return
    print_run(record, within, trials=trials)


def print_run(record: RunRecord, within: WithinTrials, *, trials: bool = False) -> None:
    """Print a stored run for people: what ran, how far to believe it, the figures and their spread, the findings."""
    summary = record.summary
    click.echo(plain(f"{summary.name}  ({summary.id}, {summary.started[:19].replace('T', ' ')} UTC, {summary.state})"))
    for host, facts in record.facts_before.items():
        told = [facts.cpu.model, facts.system.distribution, facts.system.kernel]
        click.echo(plain(f"{host_words(host)}: {', '.join(fact for fact in told if isinstance(fact, str))}"))
    if record.reason:
        click.echo(plain(record.reason))
    _print_verdicts(record)
    rows = []
    for figure in summaries(record):
        spread = range_text(figure.metric, figure.minimum, figure.maximum, figure.uncertainty)
        rows.append(
            [figure.step, host_words(figure.host), metric_text(figure.metric, figure.labels),
             figure_text(figure.metric, figure.median, figure.uncertainty), spread, str(figure.n),
             direction_text(figure.metric.better)]
        )  # fmt: skip
    if rows:
        print_table(["Step", "Host", "Metric", "Median", "Lowest to highest", "n", "Better"], rows, right=[3, 4, 5])
    else:
        click.echo("No trial counts: there is no figure.")
    _print_levels(record, within)
    if trials:
        _print_trials(record)
    _print_agreements(record)
    if record.facts_before:  # without facts nothing could be checked, and nothing is said of findings
        click.echo("")
        print_findings(list(record.findings), record.plan.acknowledged)
    _print_commands(record)


def _print_commands(record: RunRecord) -> None:
    """Print each step's commands, after the versions of the tool that ran."""
    for step in record.plan.steps:
        versions = dict.fromkeys(trial.trial.tool_version for trial in record.trials if trial.trial.step == step.name)
        for version in filter(None, versions):
            click.echo(plain(f"# {step.name}: {version}"))
        ran = next((trial for trial in record.trials if trial.trial.step == step.name), None)
        for command in () if ran is None else ran.trial.commands:
            click.echo(plain(f"$ {command.line}"))


def _print_agreements(record: RunRecord) -> None:
    """Print whether the tools of the run that ask one question agree."""
    from app.cli.opinions import print_agreements
    from app.opinion.agreement import agreements

    found = agreements(record)
    if found:
        click.echo("")
        print_agreements(found)


def _print_verdicts(record: RunRecord) -> None:
    """Print what may be said of the run and of each step on each host: the sentences to quote."""
    steps = [one for one in record.verdicts if one.step is not None]
    whole = record.verdict
    if whole is not None:
        click.echo(plain(f"Verdict: {whole.summary}"))
    for one in steps if len(steps) > 1 else ():
        click.echo(plain(f"  {place_text(one)}: {one.summary}"))
    if record.verdicts:
        click.echo("")


def _print_levels(record: RunRecord, within: WithinTrials) -> None:
    found = [(figure, levels(figure, within)) for figure in summaries(record)]
    rows = [
        [figure.step, host_words(figure.host), metric_text(figure.metric, figure.labels), *level_cells(spread)[:2]]
        for figure, spread in found
        if spread is not None and figure.n > 1
    ]
    if rows:
        click.echo("")
        print_table(["Step", "Host", "Metric", *LEVELS_HEAD[:2]], rows, right=[3, 4])


def _print_trials(record: RunRecord) -> None:
    rows = [
        [trial.trial.step, host_words(trial.trial.host),
         f"{trial.trial.number}{' (warm-up)' if trial.trial.warm_up else ''}", trial.state,
         metric_text(figure.metric, figure.labels), figure_text(figure.metric, figure.value)]
        for trial in record.trials
        for figure in trial.figures
    ]  # fmt: skip
    print_table(["Step", "Host", "Trial", "State", "Metric", "Value"], rows, right=[5])


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option(
    "--csv", "csv_path", type=click.Path(path_type=Path), help="Write the summary here and the samples beside it."
)
@click.option("--png", "png_path", type=click.Path(path_type=Path), help="Write the report picture here.")
@margin_option
@overrule_option
@json_option
@pass_workstation
@speaks_to_people
def export(
    workstation: Workstation,
    runs: tuple[str, ...],
    csv_path: Path | None,
    png_path: Path | None,
    margin: float | None,
    overrule: str,
    as_json: bool,
) -> None:
    """Export RUNS as CSV, PNG or both."""
    if csv_path is None and png_path is None:
        raise BenchwrightError("Nothing to write.", "Give --csv FILE, --png FILE or both.")
    written: list[Path] = []
    if csv_path is not None:
        written.extend(workstation.export_csv(runs, csv_path))
    if png_path is not None:
        written.append(workstation.export_png(runs, png_path, share_of(margin), overrule))
    if as_json:
        print_json({"files": [str(path) for path in written]})
        return
    for path in written:
        click.echo(plain(f"Wrote {path}"))


@click.command()
@click.argument("run")
@click.option("--yes", is_flag=True, help="Do not ask.")
@pass_workstation
@speaks_to_people
def delete(workstation: Workstation, run: str, *, yes: bool) -> None:
    """Delete RUN for good."""
    record = workstation.load(run)
    if not yes:
        click.confirm(plain(f"Delete {record.summary.id} ({record.summary.name}) for good?"), abort=True, err=True)
    workstation.delete(record.summary.id)


@click.command()
@click.argument("suite")
@click.argument("file", type=click.Path(path_type=Path, allow_dash=True))
@json_option
@speaks_to_people
def parse(suite: str, file: Path, *, as_json: bool) -> None:
    """Read a captured output of SUITE's tool in FILE ("-" is standard input) and print its figures."""
    parsed = parse_output(suite, _read(file))
    if as_json:
        print_json(
            {
                "metrics": [figure_to_json(figure) for figure in parsed.figures],
                "samples": [sample_to_json(sample) for sample in parsed.samples],
                "notes": list(parsed.notes),
            }
        )
    else:
        rows = [
            [
                metric_text(figure.metric, figure.labels),
                figure_text(figure.metric, figure.value),
                direction_text(figure.metric.better),
            ]
            for figure in parsed.figures
        ]
        if rows:
            print_table(["Metric", "Value", "Better"], rows, right=[1])
        else:
            click.echo("There is no figure in it.")
        for note in parsed.notes:
            click.echo(plain(f"Note: {note}"))
    if not parsed.complete:
        raise SystemExit(FAILED)


def _read(file: Path) -> bytes:
    from app.parse import MAXIMUM_SIZE

    if str(file) == "-":
        return sys.stdin.buffer.read(MAXIMUM_SIZE + 1)
    try:
        return read_bounded(file, MAXIMUM_SIZE)
    except OSError as error:
        raise BenchwrightError(
            f"{file} cannot be read: {error.strerror}.", "Check the name and its permissions."
        ) from error


@click.command()
@click.argument("damaged", type=click.Path(path_type=Path))
@click.argument("new", type=click.Path(path_type=Path))
@speaks_to_people
def salvage(damaged: Path, new: Path) -> None:
    """Write what can be read of the DAMAGED library to a NEW one; the damaged file is only copied from."""
    from app.store.salvage import salvage as save
    from app.store.salvage import saved_text

    for line in saved_text(save(damaged, new), new):
        if line:
            click.echo(plain(line))
