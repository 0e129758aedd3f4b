"""benchwright judge: a verdict on outputs of tools that ran elsewhere."""

import sys
from collections.abc import Iterator
from pathlib import Path

import click

from app.checks.catalogue import catalogue
from app.cli.common import (
    BAD_INPUT,
    json_option,
    known_host_options,
    pass_workstation,
    plain,
    print_json,
    report_errors,
    show_part,
)
from app.outputs.files import JudgedFile, OutputText, judged_source, known_host, sources_in
from app.outputs.found import MAXIMUM_SIZE
from app.outputs.judged_json import judged_to_json
from app.outputs.judging import JudgedOutput, KnownHost, is_not_read
from app.outputs.tables import MappingOf
from app.services import Workstation
from suites.identities import CONTRADICTION
from suites.quantities import figure_text, metric_text

MOST_FIGURES = 8
"""Figures of a result that are shown; with --all every one."""


@click.command()
@click.argument("files", nargs=-1, type=click.Path(path_type=Path, allow_dash=True))
@known_host_options
@click.option("--all", "everything", is_flag=True, help="Show every figure, and what was not checked.")
@json_option("judge")
@pass_workstation
@report_errors
def judge(
    workstation: Workstation,
    files: tuple[Path, ...],
    facts_path: Path | None,
    telemetry_paths: tuple[Path, ...],
    interval: float,
    *,
    everything: bool,
    as_json: bool,
) -> None:
    """Judge the outputs of tools in FILES (folders, or "-" for standard input): a verdict on each result.

    The output is recognised by its content, also as pasted from a mail, a log or a terminal, several in one file. A
    result from elsewhere is “unverified” at best; “not read” is one without a figure that could be read. The exit
    status is 2 if a file has no result of a known tool that could be read.
    """
    known = known_host(facts_path, telemetry_paths, interval)
    judged = list(_judged(files or (Path("-"),), known, workstation.saved_mappings.finder()))
    if as_json:
        print_json(judged_to_json(judged))
    else:
        for one in judged:
            _print_file(one, everything=everything, named=len(judged) > 1)
    if any(one.problem or all(is_not_read(each.found.output.parsed) for each in one.outputs) for one in judged):
        raise SystemExit(BAD_INPUT)


def _judged(paths: tuple[Path, ...], known: KnownHost, mappings: MappingOf) -> Iterator[JudgedFile]:
    given = [_standard_input() if str(path) == "-" else path for path in paths]
    sources = sources_in(given)
    for number, source in enumerate(sources, 1):
        if len(sources) > 1:
            show_part("Judging", number, len(sources))
        yield judged_source(source, known, mappings)


def _standard_input() -> OutputText:
    return OutputText("standard input", sys.stdin.buffer.read(MAXIMUM_SIZE + 1))


def _print_file(one: JudgedFile, *, everything: bool, named: bool) -> None:
    if named:
        click.echo(plain(f"{one.source.name}"))
    if one.problem:
        click.echo(plain(f"  {one.problem}" if named else one.problem))
    for output in one.outputs:
        _print_output(output, everything=everything)
    if one.left_over_text:
        click.echo(plain(one.left_over_text))


def _print_output(one: JudgedOutput, *, everything: bool) -> None:
    click.echo(plain(one.verdict.summary))
    name = one.found.output.name
    click.echo(plain(f"  {one.found.format}, line {one.found.first_line}{f': {name}' if name else ''}"))
    figures = one.found.output.parsed.figures
    for figure in figures if everything else figures[:MOST_FIGURES]:
        click.echo(plain(f"  {metric_text(figure.metric, figure.labels)}: {figure_text(figure.metric, figure.value)}"))
    for finding in one.verdict.findings:
        click.echo(plain(f"  - {finding.title}: {finding.measured}"))
    shown = " ".join(finding.measured for finding in one.verdict.findings) + one.verdict.summary
    for note in one.found.output.parsed.notes:
        if note.removeprefix(CONTRADICTION).rstrip(".") not in shown:
            click.echo(plain(f"  - {note}"))
    if everything:
        titles = {check.id: check.title for check in catalogue()}
        for check, reason in one.step.not_checked:
            click.echo(plain(f"  Not checked: {titles[check]}: {reason}"))
