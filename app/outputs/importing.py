"""Import outputs of tools that ran elsewhere: a run of each file, a step of each test, a trial of each result."""

import hashlib
import math
import re
import shlex
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import zip_longest

from app.checks.run_findings import READ_OTHERWISE, FindingScope
from app.events import (
    Event,
    FactsRead,
    FindingRaised,
    Moment,
    OutputImported,
    OutputRead,
    OutputSource,
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
from app.outputs.found import Between, go_on
from app.outputs.judging import UNKNOWN_HOST, JudgedOutput, KnownHost, record_verdict
from app.outputs.pasted_text import decoded
from app.outputs.tables import MappingOf, has_mapping, no_mapping, stored_mapping
from app.outputs.tool_lines import is_loop
from app.plans.plan import Plan, Repetition, Step
from app.records import ComputedVerdicts, NotCheckedOf, RunRecord
from app.store.errors import StoreError
from app.store.ownership import new_run_id
from app.store.recorder import Recorder
from app.verdict.steps import StepVerdict, run_verdict
from suites.base import Command
from suites.checks import CheckOutcome
from suites.output_times import is_possible
from suites.quantities import count_text, figure_text, first_upper, metric_text
from suites.read_only.table_mapping import TableMapping
from suites.verdict import Trust, Verdict, worst
from suites.vocab import Figure, Finding, Labels, Metric, Sample


@dataclass(frozen=True, slots=True)
class _Test:
    """The results of one test in a file: its step, each result in order, their verdict and its findings."""

    step: Step
    results: Sequence[JudgedOutput]
    verdict: Verdict
    raised: Sequence[FindingRaised]
    not_checked: Mapping[str, str]


def import_events(
    file: JudgedFile,
    content: bytes,
    run_id: str,
    host: str,
    known: KnownHost = UNKNOWN_HOST,
    *,
    date: datetime | None = None,
) -> Iterator[Event]:
    """Yield the events of a run on `host` with the results in a file, whose bytes are `content`.

    It began at `date`; without one when its outputs state, else now.

    Results of the same suite with the same values are trials of one step, which is judged as a whole.
    """
    now = datetime.now(UTC)
    begun = date or stated_start(file.outputs)
    outputs = file.outputs if date is not None else list(map(_with_start_note, file.outputs))
    tests = _judged_tests(outputs, host)
    plan = Plan(
        file.source.name,
        (host,),
        tuple(_as_stated(test) for test in tests),
        repetition=Repetition(trials=max(len(test.results) for test in tests)),
    )
    started = (begun or now).isoformat()
    yield RunStarted(run_id, plan, started)
    yield OutputImported(file.source, content, now.isoformat())
    if known.facts is not None:
        yield FactsRead(host, Moment.BEFORE, known.facts)
    if known.telemetry:
        yield TelemetryRead(host, known.telemetry)
    number = 0
    for test in tests:
        for count, result in enumerate(test.results, 1):
            number += 1
            own = _possible_start(result)
            at = started if date is not None or own is None else own.isoformat()
            yield from _trial(result, Trial(number, host, test.step.name, count, False, _command(result), at))
        yield from test.raised
        yield VerdictReached(test.verdict)
    whole = run_verdict(test.verdict for test in tests)
    if whole is not None:
        yield VerdictReached(whole)
    yield RunEnded(run_id, State.DONE)


def _as_stated(test: _Test) -> Step:
    """Return the step of a test with the values that its output or command states: a default may be wrong."""
    stated = test.results[0].found.output.stated
    return replace(test.step, values={name: value for name, value in test.step.values.items() if name in stated})


def stated_start(outputs: Sequence[JudgedOutput]) -> datetime | None:
    """Return the earliest start that outputs state and that can be right; None if they state none."""
    return min(filter(None, map(_possible_start, outputs)), default=None)


def _possible_start(result: JudgedOutput) -> datetime | None:
    begun = result.found.output.begun
    return begun.moment if begun is not None and is_possible(begun.moment) else None


def _with_start_note(result: JudgedOutput) -> JudgedOutput:
    """Return a result with a note on its start, where the output states one without a zone or an impossible one."""
    begun, possible = result.found.output.begun, _possible_start(result) is not None
    if begun is None or (begun.zone and possible):
        return result
    stated = f"{begun.moment:%Y-%m-%d %H:%M}"
    if not possible:
        return _noted(result, f"Start not used: the output states {stated}, before 1990 or after its import.")
    return _noted(result, f"Start {stated} without a time zone in the output: taken as UTC.")


def reread_verdicts(record: RunRecord, content: bytes, telemetry: Sequence[Sample]) -> ComputedVerdicts | None:
    """Return the verdicts on an imported run from the bytes that were imported, as they are read now.

    Its figures stay. Where they are read otherwise now, its verdict says so. None if it has other tests now.
    """
    source, host = record.read_from, record.plan.hosts[0]
    if source is None or hashlib.sha256(content).hexdigest() != source.sha256:
        return None
    known = KnownHost(record.facts_before.get(host), tuple(telemetry))
    found = _judged_tests(_reread_outputs(record, source, content, known), host)
    if [test.step.name for test in found] != [step.name for step in record.plan.steps]:
        return None
    verdicts, raised = [], list[FindingRaised]()
    for test in found:
        finding = _read_otherwise(record, test)
        verdict = test.verdict if finding is None else _doubted(test.verdict, finding)
        verdicts.append(verdict)
        raised += test.raised
        if finding is not None:
            raised.append(FindingRaised(finding, checks=verdict.checks))
    whole = run_verdict(verdicts)
    not_checked: NotCheckedOf = {(test.step.name, host): test.not_checked for test in found}
    return ComputedVerdicts((*verdicts, *([] if whole is None else [whole])), tuple(raised), not_checked)


def _reread_outputs(
    record: RunRecord, source: OutputSource, content: bytes, known: KnownHost
) -> Sequence[JudgedOutput]:
    """Return the results of a run in the bytes that were imported; of a table those of its host and date."""
    step = record.plan.steps[0]
    mapping = stored_mapping(step.suite_id, step.values)
    if mapping is None:
        return judged_bytes(source.name, content, known).outputs
    file = judged_bytes(source.name, content, known, lambda _header: mapping)
    return next(
        (
            one.outputs
            for host, date, one in _runs_of(file)
            if host in {None, record.plan.hosts[0]} and (date is None or date.isoformat() == record.summary.started)
        ),
        (),
    )


def _runs_of(file: JudgedFile) -> Iterator[tuple[str | None, datetime | None, JudgedFile]]:
    """Yield the host, the date and the results of each run of a file, which are those of a table."""
    if not file.runs:
        yield None, None, file
    start = 0
    for run in file.runs:
        yield run.host, run.date, replace(file, outputs=file.outputs[start : start + len(run.found)])
        start += len(run.found)


MOST_DIFFERENCES = 3
"""Figures that are named where they are read otherwise; the rest are counted."""


def _read_otherwise(record: RunRecord, test: _Test) -> Finding | None:
    """Return the finding that figures of a test are stored otherwise than they are read now; None if they are not."""
    stored = [_values(one.figures) for one in record.trials if one.trial.step == test.step.name]
    now = [_values(result.found.output.parsed.figures) for result in test.results]
    differing = []
    none: dict[tuple[Metric, Labels], float] = {}
    for before, after in zip_longest(stored, now, fillvalue=none):
        for key in before or after:  # what is read in addition is no other figure
            if before.get(key) != after.get(key):
                metric, labels = key
                old, new = (figure_text(metric, one[key]) if key in one else "none" for one in (before, after))
                differing.append(f"{metric_text(metric, labels)} {old} stored, {new} now")
    if not differing:
        return None
    more = len(differing) - MOST_DIFFERENCES
    text = "; ".join(differing[:MOST_DIFFERENCES]) + (f"; and {more} more" if more > 0 else "")
    return READ_OTHERWISE.finding_for(CheckOutcome(f"{text}."), FindingScope(record.plan.hosts[0], test.step.name))


def _values(figures: Sequence[Figure]) -> dict[tuple[Metric, Labels], float]:
    """Return the finite values by metric and labels, as the library stores them."""
    return {(one.metric, one.labels): one.value for one in figures if math.isfinite(one.value)}


def _doubted(verdict: Verdict, finding: Finding) -> Verdict:
    """Return a verdict with a finding that makes the result doubtful."""
    findings = (finding, *verdict.findings)
    trust = worst((verdict.trust, Trust.DOUBTFUL))
    summary = verdict.summary.replace(first_upper(verdict.trust.value), first_upper(trust.value), 1)
    return replace(verdict, trust=trust, findings=findings, summary=f"{summary} {finding.title}.")


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
    whole = record_verdict(record, samples, {})
    if worst.verdict.trust.rank <= whole.verdict.trust.rank:
        return whole
    found = {one.id: one for one in (*worst.verdict.findings, *whole.verdict.findings)}
    return replace(whole, verdict=replace(worst.verdict, findings=tuple(found.values())))


def _judged_tests(outputs: Sequence[JudgedOutput], host: str) -> list[_Test]:
    """Return the tests of a file, each with its verdict as one on `host`."""
    found = []
    for step, results in _tests(outputs):
        judged = _judged_together(results)
        verdict = replace(judged.verdict, step=step.name, host=host)
        raised = [
            FindingRaised(replace(one, step=step.name, host=host), checks=verdict.checks) for one in verdict.findings
        ]
        found.append(_Test(step, results, verdict, raised, dict(judged.not_checked)))
    return found


def _tests(outputs: Sequence[JudgedOutput]) -> list[tuple[Step, Sequence[JudgedOutput]]]:
    """Return the tests of a file, each named once: fio-job, fio-job 2. Copies of an output count as one trial."""
    same: dict[tuple[str, str], list[JudgedOutput]] = {}
    for copies in _copies(outputs):
        one = copies[0]
        if len(copies) > 1:
            one = _noted(one, f"{len(copies)} copies of this output in the file, counted once.")
        step = one.record.plan.steps[0]
        same.setdefault((step.name, step.fingerprint()), []).append(one)
    taken: dict[str, int] = {}
    found: list[tuple[Step, Sequence[JudgedOutput]]] = []
    for (name, _), results in same.items():
        taken[name] = taken.get(name, 0) + 1
        named = name if taken[name] == 1 else f"{name} {taken[name]}"
        found.append((replace(results[0].record.plan.steps[0], name=named), results))
    return found


def _copies(outputs: Sequence[JudgedOutput]) -> list[list[JudgedOutput]]:
    """Return each result with its copies: those of the same text elsewhere in the file, which no loop repeated."""
    within: Counter[int] = Counter()
    found: dict[tuple[object, ...], list[JudgedOutput]] = {}
    for output in outputs:
        one = output.found
        repeated = one.first_line if is_loop(one.command) else 0
        found.setdefault((one.text.strip(), one.output.line, within[one.first_line], repeated), []).append(output)
        within[one.first_line] += 1
    return list(found.values())


def _noted(result: JudgedOutput, note: str) -> JudgedOutput:
    output = result.found.output
    parsed = replace(output.parsed, notes=(*output.parsed.notes, note))
    return replace(result, found=replace(result.found, output=replace(output, parsed=parsed)))


def _command(result: JudgedOutput) -> tuple[Command, ...]:
    line = result.found.command
    return (Command(tuple(words_of_command(line))),) if line else ()


def words_of_command(line: str) -> list[str]:
    """Return the words of a command line without their quotation marks; a backslash of a Windows path is kept."""
    reader = shlex.shlex(line, posix=True, punctuation_chars=False)
    reader.whitespace_split, reader.commenters = True, ""
    if _WINDOWS_PATH.search(line):
        reader.escape = ""
    try:
        return list(reader)
    except ValueError:  # an unclosed quotation
        return line.split()


_WINDOWS_PATH = re.compile(r"(?<!\w)[A-Za-z]:\\|\\\\\w")


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

    `present`: the library had the run already, from the same bytes on the same host. `read`: the file could be read.
    `mapping` is that of a table.
    """

    name: str
    run: str
    problem: str
    trust: str
    done: int
    total: int
    present: bool = False
    read: bool = True
    mapping: TableMapping | None = None

    @property
    def outcome(self) -> str:
        """The verdict or the problem, and whether the run was there already."""
        return self.problem or f"{self.trust}{', imported before' if self.present else ''}"


def import_text(done: Sequence[ImportedOutput]) -> str:
    """Return the outcome of an import in counts that add up to the files: ``Imported 2 runs; no result in 1 file``."""
    runs = sum(bool(one.run) and not one.present for one in done)
    present = len({one.done for one in done if one.present})
    without = sum(one.read and not one.run for one in done)
    unread = sum(not one.read for one in done)
    parts = [f"Imported {count_text(runs, 'run')}"]
    if present:
        parts.append(f"{count_text(present, 'file')} imported before")
    if without:
        parts.append(f"no result in {count_text(without, 'file')}")
    if unread:
        parts.append(f"{count_text(unread, 'file')} not read")
    if done and (rest := done[-1].total - done[-1].done):
        parts.append(f"stopped before {count_text(rest, 'file')}")
    return "; ".join(parts)


MOST_MISSING = 5
"""Files that an error names."""

Present = Callable[[str, str, str | None], tuple[str, str] | None]
"""Returns the run (id, trust) that has a file of this SHA-256 on this host, begun at this time if one is given."""


def import_outputs(
    sources: Sequence[Source],
    host: str,
    known: KnownHost,
    recorder: Callable[[str], Recorder],
    present: Present,
    *,
    mappings: MappingOf = no_mapping,
    between: Between = go_on,
) -> Iterator[ImportedOutput]:
    """Import each of `sources`, or each file in these folders, as a run on `host`; yield each as it is done.

    A table with a mapping is a run for each host and date. What is `present` is not imported.

    Raises StoreError.
    """
    found, done = sources_in(sources), list[ImportedOutput]()
    if known.facts is not None:
        known = replace(known, facts=replace(known.facts, host=host))  # as it is stored, and judged again
    for number, source in enumerate(found, 1):
        name, content = content_of(source)
        so_far = ImportedOutput(name, "", "", "", number, len(found))
        if isinstance(content, str):
            yield replace(so_far, problem=content, read=False)
            continue
        sha256 = hashlib.sha256(content).hexdigest()
        before = present(sha256, host, None)
        if before is not None and not has_mapping(decoded(content), mappings):
            yield replace(so_far, run=before[0], trust=before[1], present=True)
            continue
        file = judged_bytes(name, content, known, mappings, between)
        so_far = replace(so_far, problem=file.problem, mapping=file.mapping)
        for of_host, date, part in _runs_of(file):
            at = host if of_host is None else of_host
            before = present(sha256, at, None if date is None else date.isoformat()) if file.runs else None
            if before is not None:
                yield replace(so_far, run=before[0], trust=before[1], present=True)
                continue
            try:
                one = _imported(so_far, part, content, at, date=date, known=known, recorder=recorder)
            except StoreError as error:
                _name_missing(error, done, [each.name for each in found[number - 1 :]])
                raise
            done.append(one)
            yield one


def _name_missing(error: StoreError, done: Sequence[ImportedOutput], missing: Sequence[str]) -> None:
    """Replace what the error of a run's recording says is in memory: no file's measurements are lost."""
    cause = error.__cause__
    reason = cause.fault if isinstance(cause, StoreError) else error.fault
    more = f" and {len(missing) - MOST_MISSING} more" if len(missing) > MOST_MISSING else ""
    error.message = f"{reason} {import_text(done)}. Not imported: {', '.join(missing[:MOST_MISSING])}{more}."


def _imported(
    so_far: ImportedOutput,
    file: JudgedFile,
    content: bytes,
    host: str,
    *,
    date: datetime | None,
    known: KnownHost,
    recorder: Callable[[str], Recorder],
) -> ImportedOutput:
    """Return what was imported of a file as a run; without a result nothing is."""
    if not file.outputs:
        return so_far
    now = datetime.now(UTC)
    run_id, trust = new_run_id(date or stated_start(file.outputs) or now), ""
    with recorder(run_id) as recording:
        for event in import_events(file, content, run_id, host, known, date=date):
            recording.defer(event)  # one transaction: a commit for each trial takes ms, and would leave half a run
            trust = event.verdict.trust.value if isinstance(event, VerdictReached) else trust
    return replace(so_far, run=run_id, trust=trust)
