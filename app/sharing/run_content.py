"""What a report has of a run, as texts: results, findings, commands, facts, method, notes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.hosts.facts_rows import as_text, fact_rows
from app.plans.plan import host_label
from app.records import RunRecord
from app.step_results import StepResult, basis_text, host_lines, step_results
from app.summary import notes_text
from app.verdict.listing import listed, without_repetitions
from suites.base import Purpose
from suites.quantities import count_text
from suites.vocab import Finding

RESULT_HEAD = ("Test", "Host", "Metric", "Value", "95 % interval", "n", "Verdict")
RESULT_RIGHT = (3, 4, 5)
"""Columns of RESULT_HEAD that are aligned to the right."""


@dataclass(frozen=True, slots=True)
class RunContent:
    """The texts of a run; `verdict`, `question`, and `note` and `tags` of the user may be empty.

    `hosts` are a line and all facts of each host.
    """

    title: str
    question: str
    ending: str
    verdict: str
    results: Sequence[StepResult]
    findings: Sequence[Finding]
    commands: Sequence[str]
    notes: Sequence[str]
    hosts: Sequence[tuple[str, str]]
    method: str
    basis: str
    note: str
    tags: str


def run_content(record: RunRecord) -> RunContent:
    """Return the texts of a run."""
    repetition = record.plan.repetition
    return RunContent(
        record.title,
        record.plan.question,
        record.ending,
        "" if record.verdict is None else record.verdict.summary,
        step_results(record),
        without_repetitions(listed(record)),
        command_lines(record),
        list(_notes(record)),
        [
            (line, as_text(fact_rows(facts)) if (facts := record.facts_before.get(host)) else "none")
            for line, host in zip(host_lines(record), record.plan.hosts, strict=True)
        ],
        f"Repetition: {repetition.policy.value}, {count_text(repetition.trials, 'trial')}, "
        f"{count_text(repetition.warm_ups, 'warm-up')}, order {record.plan.order.value}. Values are geometric "
        "means of the counted trials, intervals are Student’s t on their logarithms.",
        basis_text(record),
        record.note,
        record.tags_text,
    )


def result_cells(one: StepResult) -> tuple[str, ...]:
    """Return a result in the columns of RESULT_HEAD."""
    value = f"{one.figure} ({one.detail})" if one.detail else one.figure
    return one.step, host_label(one.host), one.metric, value, one.interval or "none", one.n, one.judgement


def _notes(record: RunRecord) -> Iterator[str]:
    for step in record.plan.steps:
        for host in record.plan.hosts:
            trials = record.trials_of(step.name, host)
            for note in notes_text((each.trial.title, each.notes) for each in trials):
                yield f"{step.name} on {host_label(host)}: {note}"


def command_lines(record: RunRecord) -> list[str]:
    """Return the distinct commands of each step after a comment with its name and the version of its tool."""
    return list(dict.fromkeys(_commands(record)))


def _commands(record: RunRecord) -> Iterator[str]:
    for step in record.plan.steps:
        trial = next((one.trial for one in record.trials if one.trial.step == step.name and one.trial.commands), None)
        if trial is None:
            continue
        yield f"# {step.name}{f': {trial.tool_version}' if trial.tool_version else ''}".replace("\n", " ")
        for command in trial.commands:
            if command.purpose is not Purpose.CLEAN_UP:
                yield f"{command.line}{'  # on the peer' if command.on_peer else ''}"
