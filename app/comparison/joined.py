"""Runs of one side joined to one, with the samples of its trials, and the trials that do not count."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.comparison.sides import Side, StepHosts, step_hosts
from app.events import State
from app.plans.plan import host_label
from app.records import RunRecord, SampleSeries, TrialRecord, TrialSource
from app.verdict.listing import listed
from app.verdict.steps import run_verdict
from suites.facts import Facts
from suites.quantities import count_text, first_upper
from suites.verdict import Trust, Verdict
from suites.vocab import Finding, Sample


def excluded_trials(record: RunRecord, *, invalid: bool = True) -> Iterator[str]:
    """Yield a line for each trial that is excluded, of each joined run, and with `invalid` for each invalid step.

    Warm-ups are not listed.
    """
    if record.parts:
        for part in record.parts:
            yield from excluded_trials(part, invalid=invalid)
        return
    for trial in record.trials:
        if trial.state is not State.DONE and not trial.trial.warm_up:
            where = f"trial {trial.trial.number} of {trial.trial.step} on {host_label(trial.trial.host)}"
            reason = trial.reason or "no reason recorded"
            yield f"{record.summary.id}: {where} is excluded, {trial.state.text}: {reason}"
    for verdict in record.verdicts:
        if verdict.trust is Trust.INVALID and verdict.step is not None and invalid:
            where = f"{verdict.step} on {host_label(verdict.host or '')}"
            yield f"{record.summary.id}: {where} is not compared, {verdict.text}"


def join(runs: Sequence[RunRecord], samples: Mapping[str, SampleSeries]) -> tuple[RunRecord, SampleSeries]:
    """Return `runs` as one, with the samples of its trials; `samples` are those of each run by its id.

    Invalid trials do not count beside others; the verdict of a step and host is the least trusted of the rest.
    The trials keep their order in time and get new ids, because ids are unique within a run only.
    """
    if len(runs) == 1:
        return runs[0], samples[runs[0].summary.id]
    side = Side(runs)
    plan = replace(runs[0].plan, name=side.summary.name, steps=side.steps, hosts=side.hosts)
    trials: list[TrialRecord] = []
    series: dict[int, tuple[Sample, ...]] = {}
    counts: dict[tuple[str, str, bool], int] = {}
    sources: dict[int, TrialSource] = {}
    halves = {key: half for cell in step_hosts(side) for key, half in side.on_first(cell).items()}
    invalid = side.invalid()
    for run_id, step, record in sorted(_trials(side), key=lambda found: found[2].trial.started):
        if (run_id, record.trial.id) in invalid:
            continue
        key = (step, record.trial.host, record.trial.warm_up)
        counts[key] = counts.get(key, 0) + 1
        trial = replace(record.trial, id=len(trials) + 1, step=step, number=counts[key])
        trials.append(replace(record, trial=trial))
        sources[trial.id] = TrialSource(run_id, record.trial.id, halves.get((run_id, record.trial.id)))
        series[trial.id] = samples[run_id].get(record.trial.id, ())
    verdicts = _verdicts(side)
    whole = run_verdict(verdicts)
    findings: list[Finding] = []
    for finding in (finding for run in runs for finding in listed(run)):
        if finding not in findings:
            findings.append(finding)
    joined = replace(
        runs[0],
        summary=side.summary,
        plan=plan,
        plan_hash=plan.hash(),
        reason=" ".join(dict.fromkeys(run.reason for run in runs if run.reason)),
        facts_before=_facts([run.facts_before for run in runs]),
        facts_after=_facts([run.facts_after for run in runs]),
        trials=tuple(trials),
        findings=tuple(findings),
        telemetry_cost={},
        telemetry_program={},
        verdicts=(*verdicts, *([] if whole is None else [whole])),
        finding_trials=(),
        finding_clocks=(),
        finding_checks=(),
        earlier=(),
        recall=None,
        parts=tuple(runs),
        sources=sources,
    )
    return joined, series


def _verdicts(side: Side) -> list[Verdict]:
    """Return the verdict of each step on each host."""
    found = {cell: side.verdict(cell) for cell in step_hosts(side)}
    return [
        replace(one, step=cell.step.name, host=cell.host, summary=_summary_of(one, side, cell))
        for cell, one in found.items()
        if one is not None
    ]


def _summary_of(least: Verdict, side: Side, cell: StepHosts) -> str:
    """Return the sentence on the verdict of joined runs: the least trusted, and how many runs of the cell have it."""
    by_run = {one.run.summary.id: one.verdict for one in side.trials(cell)}
    alike = sum(found is not None and found.trust is least.trust for found in by_run.values())
    measured = [run for run, own in side.steps_by_run(cell.step) if run.trials_of(own.name, cell.host)]
    runs = len({run.summary.id for run in measured})
    share = f"{alike} of " if alike < runs else "all " if runs > 1 else ""
    return f"{first_upper(least.text)} ({share}{count_text(runs, 'run')})."


def _trials(side: Side) -> Iterator[tuple[str, str, TrialRecord]]:
    """Yield every trial with its run id and the name of its step on the side."""
    for step in side.steps:
        for run, own in side.steps_by_run(step):
            for record in run.trials:
                if record.trial.step == own.name:
                    yield run.summary.id, step.name, record


def _facts(found: Sequence[Mapping[str, Facts]]) -> dict[str, Facts]:
    """Return the facts of every host from the first run that has them."""
    merged: dict[str, Facts] = {}
    for facts in found:
        for host, one in facts.items():
            merged.setdefault(host, one)
    return merged
