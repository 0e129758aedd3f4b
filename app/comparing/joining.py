"""Several runs as one, for what draws and lists runs: trials are numbered on, steps answer to each other."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from app.comparing.sides import Side
from app.records import RunRecord, SampleSeries, TrialRecord
from suites.facts import Facts
from suites.vocab import Finding, Sample


def join(runs: Sequence[RunRecord], samples: Mapping[str, SampleSeries]) -> tuple[RunRecord, SampleSeries]:
    """Return `runs` as one, with the samples of its trials; `samples` are those of each run by its id.

    The trials keep their order in time, and get new ids: those of different runs are the same numbers.
    """
    if len(runs) == 1:
        return runs[0], samples[runs[0].summary.id]
    side = Side(runs)
    plan = replace(runs[0].plan, name=side.summary.name, steps=side.steps, hosts=side.hosts)
    trials: list[TrialRecord] = []
    series: dict[int, tuple[Sample, ...]] = {}
    counts: dict[tuple[str, str, bool], int] = {}
    for run_id, step, record in sorted(_trials(side), key=lambda found: found[2].trial.started):
        key = (step, record.trial.host, record.trial.warm_up)
        counts[key] = counts.get(key, 0) + 1
        trial = replace(record.trial, id=len(trials) + 1, step=step, number=counts[key])
        trials.append(replace(record, trial=trial))
        series[trial.id] = samples[run_id].get(record.trial.id, ())
    findings: list[Finding] = []
    for finding in (finding for run in runs for finding in run.findings):
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
        verdicts=(),  # of several runs there is none: each has its own
        finding_trials=(),
    )
    return joined, series


def _trials(side: Side) -> Iterator[tuple[str, str, TrialRecord]]:
    """Yield every trial with the id of its run and the name of its step on the side."""
    for step in side.steps:
        for run, own in side.own_steps(step):
            for record in run.trials:
                if record.trial.step == own.name:
                    yield run.summary.id, step.name, record


def _facts(found: Sequence[Mapping[str, Facts]]) -> dict[str, Facts]:
    """Return the facts of every host as the first run that has them read them."""
    merged: dict[str, Facts] = {}
    for facts in found:
        for host, one in facts.items():
            merged.setdefault(host, one)
    return merged
