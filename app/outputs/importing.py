"""Import outputs of tools that ran elsewhere: a run of each file, a step of each test, a trial of each result."""

import hashlib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    OutputImported,
    OutputRead,
    RunEnded,
    RunStarted,
    State,
    TelemetryRead,
    Trial,
    TrialEnded,
    TrialStarted,
    VerdictReached,
)
from app.outputs.files import JudgedFile, Source, content_of, judged_bytes, sources_in
from app.outputs.judging import UNKNOWN_HOST, JudgedOutput, KnownHost
from app.plans.plan import Plan, Repetition, Step
from app.store.ownership import new_run_id
from app.store.recorder import Recorder
from app.verdict.steps import StepVerdict, new_findings, run_verdict, step_verdict
from app.verdict.stored import evidence_of
from suites.base import Command


@dataclass(frozen=True, slots=True)
class _Test:
    """The results of one test in a file: its step, and each result in order."""

    step: Step
    results: Sequence[JudgedOutput]


def import_events(
    file: JudgedFile, content: bytes, run_id: str, host: str, known: KnownHost = UNKNOWN_HOST
) -> Iterator[Event]:
    """Yield the events of a run on `host` with the results in a file, whose bytes are `content`.

    Results of the same suite with the same values are trials of one step, which is judged as a whole.
    """
    tests = _tests(file.outputs)
    plan = Plan(
        file.source.name,
        (host,),
        tuple(test.step for test in tests),
        repetition=Repetition(trials=max(len(test.results) for test in tests)),
    )
    now = datetime.now(UTC).isoformat()
    yield RunStarted(run_id, plan, now)
    yield OutputImported(file.source, content)
    if known.facts is not None:
        yield FactsRead(host, Moment.BEFORE, replace(known.facts, host=host))
    if known.telemetry:
        yield TelemetryRead(host, known.telemetry)
    verdicts = []
    number = 0
    for test in tests:
        for count, result in enumerate(test.results, 1):
            number += 1
            yield from _trial(result, Trial(number, host, test.step.name, count, False, _command(result), now))
        judged = _judged_together(test.results)
        for found in new_findings(judged, ()):
            yield FindingRaised(replace(found.finding, step=test.step.name, host=host))
        verdict = replace(judged.verdict, step=test.step.name, host=host)
        verdicts.append(verdict)
        yield VerdictReached(verdict)
    whole = run_verdict(verdicts)
    if whole is not None:
        yield VerdictReached(whole)
    yield RunEnded(run_id, State.DONE)


def _judged_together(results: Sequence[JudgedOutput]) -> StepVerdict:
    """Return the verdict on several results of one test; that of one which is worse counts, with its findings."""
    worst = max(results, key=lambda one: one.verdict.trust.rank).step
    if len(results) == 1:
        return worst
    first = results[0].record
    trials = tuple(
        replace(one.record.trials[0], trial=replace(one.record.trials[0].trial, id=number, number=number))
        for number, one in enumerate(results, 1)
    )
    samples = {number: one.found.output.parsed.samples for number, one in enumerate(results, 1)}
    record = replace(first, trials=trials, plan=replace(first.plan, repetition=Repetition(trials=len(trials))))
    whole = step_verdict(evidence_of(record, samples, {}, record.plan.steps[0], record.plan.hosts[0]))
    if worst.verdict.trust.rank <= whole.verdict.trust.rank:
        return whole
    found = {one.id: one for one in (*worst.verdict.findings, *whole.verdict.findings)}
    return replace(whole, verdict=replace(worst.verdict, findings=tuple(found.values())))


def _tests(outputs: Sequence[JudgedOutput]) -> list[_Test]:
    """Return the tests of a file, each named once: fio-job, fio-job 2. Copies of an output count as one trial."""
    same: dict[tuple[str, str], list[JudgedOutput]] = {}
    copies = Counter(one.found.text for one in outputs)
    for output in {each.found.text: each for each in reversed(outputs)}.values():
        one, count = output, copies[output.found.text]
        if count > 1:
            one = _noted(one, f"{count} copies of this output in the file, counted once.")
        step = one.record.plan.steps[0]
        same.setdefault((step.name, step.fingerprint()), []).append(one)
    taken: dict[str, int] = {}
    found = []
    for (name, _), results in same.items():
        taken[name] = taken.get(name, 0) + 1
        named = name if taken[name] == 1 else f"{name} {taken[name]}"
        found.append(_Test(replace(results[0].record.plan.steps[0], name=named), results))
    return found


def _noted(result: JudgedOutput, note: str) -> JudgedOutput:
    output = result.found.output
    parsed = replace(output.parsed, notes=(*output.parsed.notes, note))
    return replace(result, found=replace(result.found, output=replace(output, parsed=parsed)))


def _command(result: JudgedOutput) -> tuple[Command, ...]:
    line = result.found.command
    return (Command(tuple(line.split())),) if line else ()


def _trial(result: JudgedOutput, trial: Trial) -> Iterator[Event]:
    (record,) = result.record.trials
    yield TrialStarted(replace(trial, clock=record.trial.clock, tool_version=record.trial.tool_version), None)
    yield OutputRead(trial.id, "stdout", result.found.text.encode())
    yield TrialEnded(
        trial.id, State.DONE, None, result.found.output.parsed, record.reason, ended_clock=record.ended_clock
    )


@dataclass(frozen=True, slots=True)
class ImportedOutput:
    """A file of `total`, the `done`-th: its run, or the problem for which there is none. `trust` is its verdict's.

    `present`: the library had the run already, from the same bytes on the same host.
    """

    name: str
    run: str
    problem: str
    trust: str
    done: int
    total: int
    present: bool = False

    @property
    def outcome(self) -> str:
        """The verdict or the problem, and whether the run was there already."""
        return self.problem or f"{self.trust}{', imported before' if self.present else ''}"


def import_outputs(
    sources: Sequence[Source],
    host: str,
    known: KnownHost,
    recorder: Callable[[str], Recorder],
    present: Callable[[str], tuple[str, str] | None],
) -> Iterator[ImportedOutput]:
    """Import each of `sources`, or each file in these folders, as a run on `host`; yield each as it is done.

    `present` returns the run (id, trust) that has a file of this SHA-256, which is then not imported; None without one.

    Raises StoreError.
    """
    found = sources_in(sources)
    for number, source in enumerate(found, 1):
        name, content = content_of(source)
        if isinstance(content, str):
            yield ImportedOutput(name, "", content, "", number, len(found))
            continue
        before = present(hashlib.sha256(content).hexdigest())
        if before is not None:
            yield ImportedOutput(name, before[0], "", before[1], number, len(found), present=True)
            continue
        judged, run_id, trust = judged_bytes(name, content, known), "", ""
        if judged.outputs:
            run_id = new_run_id(datetime.now(UTC))
            with recorder(run_id) as recording:
                for event in import_events(judged, content, run_id, host, known):
                    recording.record(event)
                    trust = event.verdict.trust.value if isinstance(event, VerdictReached) else trust
        yield ImportedOutput(name, run_id, judged.problem, trust, number, len(found))
