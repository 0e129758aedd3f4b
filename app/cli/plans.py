"""benchwright plan, check: what will run, and what would make it a waste of time."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path

import click

from app.cli.asking import TerminalAsker, asks
from app.cli.common import (
    json_option,
    pass_workstation,
    plain,
    print_file,
    print_json,
    print_table,
    say,
    speaks_to_people,
)
from app.cli.presets import answers_of, fill_named, list_presets, places
from app.cli.remarking import Answers, answered, answers_findings, say_changes
from app.cli.repeating import Repeating, repeats
from app.cli.tuning_option import tunes
from app.formats import (
    SIZE_LIMIT,
    FormatError,
    facts_from_json,
    finding_to_json,
    plan_to_json,
    read_json,
    remarks_to_json,
)
from app.plans.goals import SEPARATOR, goals_of
from app.plans.job_files import FIO_JOB, job_files_text, with_fio_jobs
from app.plans.plan import LOCAL, Order, Plan, PlanError, Repetition, host_words, make_step, validate
from app.plans.plan_changes import remarks_text
from app.plans.plan_file import format_plan
from app.plans.plan_remarks import Acknowledged, reason_of
from app.plans.presets import preset_names
from app.plans.totals import totals, totals_text
from app.plans.tuning import Tuning
from app.services import Workstation
from app.told_once import told_once
from app.wording import bytes_text, duration_text
from remote.local_file import read_bounded
from suites.base import device_of, directories_of
from suites.facts import Facts
from suites.registry import SUITES
from suites.vocab import Finding

EXISTING = click.Path(path_type=Path)


@click.group()
def plan() -> None:
    """Make and look at plans."""


plan.add_command(list_presets)


@plan.command("new")
@click.option(
    "--host", "hosts", multiple=True, default=(LOCAL,), metavar="HOST", show_default=True, help="May be given again."
)
@click.option("--preset", metavar="NAME", help=f"Begin with a question: {', '.join(preset_names())}.")
@click.option("--answer", "answers", multiple=True, metavar="NAME=VALUE", help="Answer what the preset asks.")
@click.option(
    "--suite",
    "suites",
    multiple=True,
    help=f"One of {', '.join(suite.id for suite in SUITES)}; may be given again.",
)
@click.option(
    "--fio-job", "fio_jobs", multiple=True, type=EXISTING, metavar="FILE", help="Run this fio job file, as it is."
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="[STEP.]NAME=VALUE",
    help="A parameter's value, as in fio.block_size=16k.",
)
@click.option("--peer", help="The host that runs the server end of network tests.")
@repeats
@tunes
@click.option("--name", default="plan", show_default=True)
@click.option("--question", default="", help="What you want to know.")
@click.option(
    "--goal", "goals", multiple=True, metavar="[STEP:]METRIC>=VALUE", help="What a figure has to reach, or <= at most."
)
@click.option(
    "--facts", "facts_files", multiple=True, type=EXISTING, help="Tune to these facts instead of asking the host."
)
@click.option("--defaults", is_flag=True, help="Use each tool's own defaults instead of tuned values.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The file to write; by default standard output.")
@asks
@json_option
@pass_workstation
@speaks_to_people
def new_plan(
    workstation: Workstation,
    hosts: tuple[str, ...],
    preset: str | None,
    answers: tuple[str, ...],
    suites: tuple[str, ...],
    fio_jobs: tuple[Path, ...],
    settings: tuple[str, ...],
    peer: str | None,
    repeating: Repeating,
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
    """Write a plan tuned to the first host: with one step for each suite, or as a preset asks for it."""
    suites += (FIO_JOB,) * len(fio_jobs)
    if preset is None and not suites:
        raise PlanError("The plan would have no step.", "Give --suite or --fio-job, as often as you like, or --preset.")
    if preset is not None:
        if suites:
            raise PlanError("Both --preset and --suite are given.", "Add steps to the file that --preset writes.")
        filled = fill_named(preset, hosts, answers_of(preset, answers, peer))
        made = filled.plan
        workstation.consents.filled_here(made)
        if not defaults:
            made = filled.tuned(facts_of(workstation, places(made, peer), facts_files, asker, _directories(made)))
        repeating = _repeating(made, repeating)
        made, question = replace(made, name=name if name != "plan" else made.name), question or made.question
    elif defaults:
        made = workstation.default_plan(hosts, suites, name)
    else:
        wanted = [*hosts, peer] if peer else list(hosts)
        made = workstation.new_plan(hosts, suites, facts_of(workstation, wanted, facts_files, asker), name)
    repetition, order, seed = repeating.repetition, repeating.order, repeating.seed
    made = replace(made, question=question, repetition=repetition, order=order, seed=seed, tuning=tuning)
    made = replace(made, goals=made.goals + goals_of(SEPARATOR.join(goals)))
    made = validate(_with_settings(_with_peer(with_fio_jobs(made, fio_jobs), peer), settings))
    workstation.consents.made_here(made)
    if output is not None:
        workstation.save_plan(made, output)
        say(f"Wrote {output}. Look at it with: benchwright check {shlex.quote(str(output))}")
    elif as_json:
        print_json(plan_to_json(made))
    else:
        print_file(format_plan(made))


def _repeating(made: Plan, repeating: Repeating) -> Repeating:
    """Return how often a preset is run: as it says itself, unless something else is asked for."""
    asked = repeating != Repeating(Repetition(), Order.BLOCK, None)
    return repeating if asked else Repeating(made.repetition, made.order, made.seed)


def _with_peer(made: Plan, peer: str | None) -> Plan:
    if peer is None:
        return made
    steps = tuple(replace(step, peer=peer) if step.suite.needs_peer else step for step in made.steps)
    return replace(made, steps=steps)


def _with_settings(made: Plan, settings: tuple[str, ...]) -> Plan:
    steps = {step.name: step for step in made.steps}
    for setting in settings:
        left, equals, value = setting.partition("=")
        step_name, dot, parameter = left.rpartition(".")
        if not equals or not parameter:
            raise PlanError(f"“{setting}” is not NAME=VALUE.", "Write --set fio.block_size=16k, for example.")
        if not dot and len(steps) > 1:
            raise PlanError(
                f"“{left}” does not say which step it is for.", f"Write STEP.{left}; steps are {', '.join(steps)}."
            )
        step = steps[made.step(step_name or made.steps[0].name).name]
        steps[step.name] = make_step(step.suite_id, {**step.values, parameter: value}, name=step.name, peer=step.peer)
    return replace(made, steps=tuple(steps.values()))


@plan.command("show")
@click.argument("file", type=EXISTING)
@click.option("--fio-job", is_flag=True, help="Print the steps of fio as the job files that do the same.")
@json_option
@pass_workstation
@speaks_to_people
def show_plan(workstation: Workstation, file: Path, *, fio_job: bool, as_json: bool) -> None:
    """Print the exact commands of the plan in FILE and what they will take."""
    loaded = workstation.load_plan(file)
    if fio_job:
        print_file(job_files_text(loaded))
        return
    as_root = workstation.root_commands(loaded, {})
    if as_json:
        print_json({**plan_to_json(loaded), "as_root": [asdict(command) for command in as_root]})
        return
    previews = workstation.preview(loaded, {})
    for preview in previews:
        estimate = preview.estimate
        took = "as long as it takes" if estimate.duration is None else duration_text(estimate.duration)
        written = "unknown" if estimate.written is None else bytes_text(estimate.written)
        prepared = f"{bytes_text(estimate.prepared)} once before, " if estimate.prepared else ""
        volume = f"writes {prepared}{written} a trial, needs {bytes_text(estimate.space)}"
        click.echo(plain(f"# {preview.step} on {host_words(preview.host)}: {took} a trial, {volume}"))
        click.echo(plain(preview.text))
    click.echo(plain(f"# In all: {totals_text(totals(loaded, previews))}"))
    for line in remarks_text(loaded):
        click.echo(plain(f"# {line}"))
    if as_root:
        click.echo("# As root:")
    for command in as_root:
        click.echo(plain(f"# on {host_words(command.host)}, {command.when}\n{command.line}"))


@click.command()
@click.argument("file", metavar="PLAN", type=EXISTING)
@click.option(
    "--facts", "facts_files", multiple=True, type=EXISTING, help="Facts saved with “facts --json”; may be given again."
)
@click.option("--host", metavar="HOST", help="Ask this host instead of those the plan names.")
@answers_findings
@click.option("-o", "--output", type=click.Path(path_type=Path), help="Write the plan as it was answered to this file.")
@asks
@json_option
@pass_workstation
@speaks_to_people
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
    """Say before it runs what is known to fool people about the plan in the file PLAN."""
    loaded = workstation.load_plan(file)
    if host is not None:
        loaded = replace(loaded, hosts=(host,))
    facts = facts_for(workstation, loaded, facts_files, asker)
    loaded = answered(workstation, loaded, facts, answers)
    if output is not None:
        workstation.save_plan(loaded, output)
    report = workstation.report(loaded, facts)
    if as_json:
        cannot_tell = [
            {"id": unsure.id, "because": unsure.because, "step": unsure.step} for unsure in report.cannot_tell
        ]
        findings = [finding_to_json(finding) for finding in report.findings]
        remarks = remarks_to_json(loaded, report.findings)
        print_json({"format": "benchwright-findings/1", "findings": findings, "cannot_tell": cannot_tell, **remarks})
        return
    say_changes(loaded)
    print_findings(list(report.findings), loaded.acknowledged)
    for unsure in report.cannot_tell:
        where = unsure.step or (host_words(unsure.host) if unsure.host else loaded.name)
        click.echo(plain(f"{where}: {unsure.id} cannot be told: {unsure.because}"))


def print_findings(findings: list[Finding], acknowledged: tuple[Acknowledged, ...] = ()) -> None:
    """Print `findings` for people, the gravest first, and those last that are acknowledged, with the reason."""
    if not findings:
        click.echo("No findings: nothing known to fool people about this plan on these hosts.")
        return
    rows = []
    for finding in sorted(
        told_once(findings), key=lambda found: (bool(reason_of(acknowledged, found)), -found.level.rank)
    ):
        reason = reason_of(acknowledged, finding)
        install = f" Install it with: {finding.install}" if finding.install else ""
        what_to_do = f"Acknowledged: {reason}" if reason else f"→ {finding.remedy}{install}"
        said = f"{finding.measured} {finding.why}\n{what_to_do}"
        rows.append(
            [finding.level, finding.id, finding.step or "", host_words(finding.host or ""), f"{finding.title}. {said}"]
        )
    print_table(["Level", "Finding", "Step", "Host", "What, why, and what to do"], rows)


def facts_for(
    workstation: Workstation, loaded: Plan, files: tuple[Path, ...], asker: TerminalAsker
) -> dict[str, Facts]:
    """Return the facts of every host of a plan and of the other ends: read, or from `files`."""
    peers = [step.peer for step in loaded.steps if step.peer is not None]
    wanted = list(dict.fromkeys([*loaded.hosts, *peers]))
    return facts_of(workstation, wanted, files, asker, _directories(loaded), _devices(loaded))


def facts_of(
    workstation: Workstation,
    hosts: list[str],
    files: tuple[Path, ...],
    asker: TerminalAsker,
    directories: tuple[str, ...] = (),
    devices: tuple[str, ...] = (),
) -> dict[str, Facts]:
    """Return the facts of every one of `hosts`: read, or from `files` (by host, the first for all others)."""
    if not files:
        return {host: workstation.facts(host, asker, directories, devices) for host in hosts}
    given = [read_facts_file(path) for path in files]
    by_host = {facts.host: facts for facts in given}
    return {host: by_host.get(host, given[0]) for host in hosts}


def read_facts_file(path: Path) -> Facts:
    """Return the facts in the file at `path`; raise FormatError naming the file and the field that is wrong."""
    try:
        return facts_from_json(read_json(read_bounded(path, SIZE_LIMIT), "the file"))
    except OSError as error:
        raise FormatError(
            f"{path} cannot be read: {error.strerror}.", "Write one with: benchwright facts HOST --json"
        ) from error
    except FormatError as error:
        raise FormatError(
            f"{path}: {error.message}", error.remedy or "Write one with: benchwright facts HOST --json"
        ) from error


def _directories(loaded: Plan) -> tuple[str, ...]:
    return tuple(sorted({path for step in loaded.steps for path in directories_of(step.suite, step.values)}))


def _devices(loaded: Plan) -> tuple[str, ...]:
    return tuple(sorted({device_of(step.suite, step.values) for step in loaded.steps} - {""}))
