"""benchwright plan, check: create, show and check plans."""

import shlex
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

from app.checks.issues import Issue, counts_text, issues_of
from app.cli.common import json_verb, plain, print_file, print_json, print_note, print_table
from app.cli.plan_options import (
    Answers,
    RepetitionOptions,
    answered,
    answers_findings,
    answers_of,
    fill_named,
    hosts_of_plan,
    list_presets,
    print_changes,
    repeats,
    tunes,
)
from app.cli.prompts import TerminalAsker, with_asker
from app.command_hints import with_library
from app.formats import (
    SIZE_LIMIT,
    FormatError,
    facts_from_json,
    finding_to_json,
    plan_to_json,
    read_json,
    remarks_to_json,
)
from app.json_converter import published
from app.plans.duet import seen_in_order
from app.plans.goals import SEPARATOR, goals_of
from app.plans.job_files import FIO_JOB, job_files_text, with_fio_jobs
from app.plans.plan import LOCAL, OTHER_HOSTS, Order, Plan, PlanError, Step, host_label, make_step, value_tables
from app.plans.plan_changes import remarks_text
from app.plans.plan_file import format_plan, plan_text
from app.plans.plan_names import NEW_PLAN, automatic_name_of, on_hosts
from app.plans.plan_remarks import Acknowledged, reason_of
from app.plans.presets import preset_names
from app.plans.totals import totals, totals_text
from app.plans.tuning import Tuning
from app.plans.validation import validate
from app.plans.variation import varied
from app.services import Workstation
from app.verb_results import FINDINGS_FORMAT, CheckedKeys
from remote.local_file import read_bounded
from suites.base import Estimate, devices_of, directories_of
from suites.facts import Facts
from suites.quantities import duration_text, quantity
from suites.registry import SUITES
from suites.vocab import Finding

EXISTING = click.Path(path_type=Path)


@click.group()
def plan() -> None:
    """Create and show plans."""


plan.add_command(list_presets)


@plan.command("new")
@click.option(
    "--host",
    "hosts",
    multiple=True,
    default=(LOCAL,),
    metavar="HOST",
    show_default=True,
    help="Host to run on; repeatable.",
)
@click.option("--preset", metavar="NAME", help=f"Start from a preset: {', '.join(preset_names())}.")
@click.option(
    "--answer", "answers", multiple=True, metavar="NAME=VALUE", help="Answer a question of the preset; repeatable."
)
@click.option("--suite", "suites", multiple=True, help=f"One of {', '.join(suite.id for suite in SUITES)}; repeatable.")
@click.option(
    "--fio-job",
    "fio_jobs",
    multiple=True,
    type=EXISTING,
    metavar="FILE",
    help="Run this fio job file unchanged; repeatable.",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[STEP.]NAME[@HOST]=VALUE",
    help="Set a parameter of a step, or of all steps of a suite, as in fio.block_size=16k; or a place on one host, as "
    "in directory@db-1=/srv. Repeatable.",
)
@click.option(
    "--vary",
    "variations",
    multiple=True,
    metavar="[STEP.]NAME=VALUE,VALUE",
    help="Make a step for each value, as in fio.block_size=4k,64k; several options: for each combination. Repeatable.",
)
@click.option("--peer", metavar="HOST", help="The host that runs the server end of network tests.")
@repeats
@tunes
@click.option("--name", default="", help="Name of the plan and its runs.  [default: its steps, values and hosts]")
@click.option("--question", default="", help="The question that the plan answers.")
@click.option(
    "--goal",
    "goals",
    multiple=True,
    metavar="[STEP:]METRIC>=VALUE[UNIT]",
    help="Goal of a metric, as in “latency_p99 <= 5 ms”; without a unit in the metric's own. Repeatable.",
)
@click.option(
    "--facts",
    "facts_files",
    multiple=True,
    type=EXISTING,
    help="Tune to the facts in this file instead of reading the host; repeatable.",
)
@click.option("--defaults", is_flag=True, help="Use each tool's own defaults instead of tuned values.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File to write.  [default: standard output]")
@with_asker
@json_verb("plan")
def new_plan(
    workstation: Workstation,
    hosts: tuple[str, ...],
    preset: str | None,
    answers: tuple[str, ...],
    suites: tuple[str, ...],
    fio_jobs: tuple[Path, ...],
    settings: tuple[str, ...],
    variations: tuple[str, ...],
    peer: str | None,
    options: RepetitionOptions,
    tuning: Tuning,
    name: str,
    question: str,
    goals: tuple[str, ...],
    facts_files: tuple[Path, ...],
    defaults: bool,
    output: Path | None,
    asker: TerminalAsker,
    as_json: bool,
) -> None:
    """Write a plan tuned to the first host, with one step per suite or those of a preset."""
    suites += (FIO_JOB,) * len(fio_jobs)
    name, question = plan_text(name, "name"), plan_text(question, "question")
    if preset is None and not suites:
        raise PlanError("The plan has no step.", "Add --suite, --fio-job or --preset.")
    if preset is not None:
        if suites:
            raise PlanError("--preset and --suite exclude each other.", "Add steps to the file that --preset writes.")
        filled = fill_named(preset, hosts, answers_of(preset, answers, peer))
        filled = replace(filled, plan=options.of(filled.plan))
        made = filled.plan
        workstation.consents.remember_filled(made)
        if not defaults:
            made = filled.tuned(
                facts_of(workstation, hosts_of_plan(made, peer), facts_files, asker, _directories(made))
            )
        made, question = replace(made, name=name or made.name), question or made.question
    elif defaults:
        made = workstation.default_plan(hosts, suites, name or NEW_PLAN)
    else:
        wanted = [*hosts, peer] if peer else list(hosts)
        facts = facts_of(workstation, wanted, facts_files, asker)
        seen = seen_in_order(options.order or Order.BLOCK, hosts, facts)
        made = workstation.new_plan(hosts, suites, seen, name or NEW_PLAN)
    made = replace(options.of(made), question=question, tuning=tuning)
    made = varied(_with_settings(_with_peer(with_fio_jobs(made, fio_jobs), peer), settings), variations)
    made = validate(replace(made, goals=made.goals + goals_of(SEPARATOR.join(goals), made.steps)))
    made = replace(made, name=automatic_name_of(made)) if made.name == NEW_PLAN else made
    workstation.consents.remember_made(made)
    _write_plan(workstation, made, output, as_json=as_json)


def _write_plan(workstation: Workstation, made: Plan, output: Path | None, *, as_json: bool) -> None:
    """Save the plan to `output`, or print it; as JSON in any case."""
    if output is not None:
        workstation.save_plan(made, output)
        print_note(f"Wrote {output}: {totals_text(totals(made, workstation.preview(made, {})))}")
        print_note(f"Check it with: benchwright check {shlex.quote(str(output))}")
    if as_json:
        print_json(plan_to_json(made))
    elif output is None:
        print_file(format_plan(made))


def _with_peer(made: Plan, peer: str | None) -> Plan:
    if peer is None:
        return made
    steps = tuple(replace(step, peer=peer) if step.suite.needs_peer else step for step in made.steps)
    return replace(made, steps=steps)


def _with_settings(made: Plan, settings: tuple[str, ...]) -> Plan:
    steps = {step.name: step for step in made.steps}
    for setting in settings:
        target, equals, value = setting.partition("=")
        target, at, host = target.partition("@")
        step_name, dot, parameter = target.rpartition(".")
        if not equals or not parameter:
            raise PlanError(f"“{setting}” is not NAME=VALUE.", "Write --set fio.block_size=16k, for example.")
        alike = [name for name, one in steps.items() if one.suite_id == (step_name or made.steps[0].suite_id)]
        if not dot and len(alike) < len(steps):
            raise PlanError(
                f"“{target}” needs a step.", f"Write --set STEP.{target}=VALUE; the steps are {', '.join(steps)}."
            )
        for name in [step_name] if step_name in steps or not alike else alike:
            step = steps[made.step(name).name]
            tables = value_tables(step)
            given: dict[str, Any] = {**step.values, **tables, parameter: value}
            if at or parameter in tables:
                shared = {OTHER_HOSTS: step.values[parameter]} if parameter in step.values else {}
                given[parameter] = {**tables.get(parameter, shared), host if at else OTHER_HOSTS: value}
            steps[step.name] = make_step(step.suite_id, given, name=step.name, peer=step.peer)
    return replace(made, steps=tuple(steps.values()))


@plan.command("show")
@click.argument("file", type=EXISTING)
@click.option("--fio-job", is_flag=True, help="Print the fio steps as job files.")
@json_verb("plan-show")
def show_plan(workstation: Workstation, file: Path, *, fio_job: bool, as_json: bool) -> None:
    """Print the exact commands of the plan in FILE, with their duration and space."""
    loaded = workstation.load_plan(file)
    if fio_job:
        print_file(job_files_text(loaded))
        return
    as_root = workstation.root_commands(loaded, {})
    if as_json:
        print_json({**plan_to_json(loaded), "as_root": [published(command) for command in as_root]})
        return
    previews = workstation.preview(loaded, {})
    for preview in previews:
        estimate = preview.estimate
        duration = "unknown duration" if estimate.duration is None else duration_text(estimate.duration)
        parts = [f"{duration} per trial", *_volumes(estimate)]
        click.echo(plain(f"# {preview.step} on {host_label(preview.host)}: {', '.join(parts)}"))
        click.echo(plain(preview.text))
    click.echo(plain(f"# Total: {totals_text(totals(loaded, previews))}"))
    for line in remarks_text(loaded):
        click.echo(plain(f"# {line}"))
    if as_root:
        click.echo("# As root:")
    for command in as_root:
        click.echo(plain(f"# on {host_label(command.host)}, {command.when}\n{command.line}"))


def _volumes(estimate: Estimate) -> Iterator[str]:
    """Yield what a step writes and the space it needs, without zeros."""
    if estimate.prepared:
        yield f"writes {quantity(estimate.prepared)} to prepare"
    if estimate.written != 0:
        yield f"writes {'unknown' if estimate.written is None else quantity(estimate.written)} per trial"
    if estimate.space:
        yield f"needs {quantity(estimate.space)} of space"


@click.command()
@click.argument("file", metavar="PLAN", type=EXISTING)
@click.option(
    "--facts", "facts_files", multiple=True, type=EXISTING, help="Facts saved with “facts --json”; repeatable."
)
@click.option("--host", metavar="HOST", help="Check for this host instead of the plan's hosts.")
@answers_findings
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the changed plan to this file.")
@with_asker
@json_verb("check")
def check(
    workstation: Workstation,
    file: Path,
    facts_files: tuple[Path, ...],
    host: str | None,
    answers: Answers,
    output: Path | None,
    asker: TerminalAsker,
    as_json: bool,
) -> None:
    """Check the plan in the file PLAN on its hosts before it runs."""
    loaded = workstation.load_plan(file)
    if host is not None:
        loaded = on_hosts(loaded, [host])
    workstation.stopping_baseline(loaded)
    facts = facts_for(workstation, loaded, facts_files, asker)
    loaded = answered(workstation, loaded, facts, answers)
    if output is not None:
        workstation.save_plan(loaded, output)
    report = workstation.report(loaded, facts)
    if as_json:
        checked = CheckedKeys(
            format=FINDINGS_FORMAT,
            findings=[finding_to_json(finding) for finding in report.findings],
            cannot_tell=[{"id": one.id, "because": one.because, "step": one.step} for one in report.cannot_tell],
        )
        print_json({**checked, **remarks_to_json(loaded, report.findings)})
        return
    print_changes(loaded)
    print_findings(list(report.findings), loaded.acknowledged)
    for unsure in report.cannot_tell:
        where = unsure.step or (host_label(unsure.host) if unsure.host else loaded.name)
        click.echo(plain(f"{where}: not checked: {unsure.id}: {unsure.because}"))


def print_findings(findings: list[Finding], acknowledged: tuple[Acknowledged, ...] = ()) -> None:
    """Print `findings`, the most severe first, acknowledged ones last with their reason."""
    if not findings:
        click.echo("No findings.")
        return
    issues = issues_of(findings, partial(reason_of, acknowledged))
    click.echo(plain(f"Issues: {counts_text(issues)}"))
    rows = [
        [
            str(issue.first.severity),
            issue.first.id,
            ", ".join(dict.fromkeys(one.step for one in issue.findings if one.step)),
            ", ".join(dict.fromkeys(host_label(one.host) for one in issue.findings if one.host)),
            _issue_text(issue),
        ]
        for issue in issues
    ]
    print_table(["Severity", "Finding", "Step", "Host", "Message and remedy"], rows)


def _issue_text(issue: Issue) -> str:
    finding = issue.first
    install = f" Install it with: {finding.install}" if finding.install else ""
    action = f"Acknowledged: {issue.reason}" if issue.reason else with_library(f"→ {finding.remedy}{install}")
    measured = "\n".join(issue.evidence)
    return f"{finding.title}. {measured} {finding.why}\n{action}"


def facts_for(
    workstation: Workstation, loaded: Plan, files: tuple[Path, ...], asker: TerminalAsker
) -> dict[str, Facts]:
    """Return the facts of the hosts and peers of a plan, from `files` or read from the hosts."""
    wanted = hosts_of_plan(loaded, None)
    return facts_of(workstation, wanted, files, asker, _directories(loaded), _devices(loaded))


def facts_of(
    workstation: Workstation,
    hosts: list[str],
    files: tuple[Path, ...],
    asker: TerminalAsker,
    directories: tuple[str, ...] = (),
    devices: tuple[str, ...] = (),
) -> dict[str, Facts]:
    """Return the facts of `hosts`, from `files` (matched by host, else the first file) or read from the hosts."""
    if not files:
        return {host: workstation.facts(host, asker, directories, devices) for host in hosts}
    given = [read_facts_file(path) for path in files]
    by_host = {facts.host: facts for facts in given}
    return {host: by_host.get(host, given[0]) for host in hosts}


def read_facts_file(path: Path) -> Facts:
    """Return the facts in the file at `path`; raise FormatError with the file and the invalid field."""
    try:
        return facts_from_json(read_json(read_bounded(path, SIZE_LIMIT), "the file"))
    except OSError as error:
        raise FormatError(
            f"Cannot read {path}: {error.strerror}.", "Write one with: benchwright facts HOST --json"
        ) from error
    except FormatError as error:
        raise FormatError(
            f"{path}: {error.message}", error.remedy or "Write one with: benchwright facts HOST --json"
        ) from error


def _directories(loaded: Plan) -> tuple[str, ...]:
    return tuple(sorted({path for step in _on_hosts(loaded) for path in directories_of(step.suite, step.values)}))


def _devices(loaded: Plan) -> tuple[str, ...]:
    return tuple(sorted({path for step in _on_hosts(loaded) for path in devices_of(step.suite, step.values)}))


def _on_hosts(loaded: Plan) -> Iterator[Step]:
    return (step for host in loaded.hosts for step in loaded.steps_on(host))
