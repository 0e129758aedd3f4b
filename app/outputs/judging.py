"""Judge the outputs of tools that ran elsewhere, as a stored run is judged: by what they carry."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from app.checks.before import evaluate
from app.checks.catalogue import of_starts, trust_left
from app.checks.elsewhere import CACHED, MEASURED_ELSEWHERE, is_read_cold
from app.events import OutputSource, State, Trial
from app.outputs.found import FoundOutput
from app.plans.plan import ELSEWHERE, QUICK_LOOK, Plan, Step
from app.records import RunRecord, RunSummary, TrialRecord
from app.verdict.steps import StepVerdict, step_verdict
from app.verdict.stored import evidence_of
from app.version import VERSION
from suites.base import Context, StepEvidence
from suites.facts import Facts
from suites.outputs import ParsedTrial, ToolOutput
from suites.parameters import Value
from suites.quantities import first_upper
from suites.tool_messages import printable_message
from suites.verdict import Trust, Verdict
from suites.vocab import Finding, Sample, Severity


@dataclass(frozen=True, slots=True)
class JudgedOutput:
    """A result with its verdict. `record` is the output as a run of one trial.

    `deciding` are the values that the output does not state and on which the verdict depends, each as text.
    """

    found: FoundOutput
    record: RunRecord
    step: StepVerdict
    deciding: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """The verdict."""
        return self.step.verdict


@dataclass(frozen=True, slots=True)
class KnownHost:
    """What is known of the host of an output beside it: facts, and telemetry from the start of the test on."""

    facts: Facts | None = None
    telemetry: tuple[Sample, ...] = ()


UNKNOWN_HOST = KnownHost()


def judged_output(found: FoundOutput, source: OutputSource, host: KnownHost = UNKNOWN_HOST) -> JudgedOutput:
    """Return the verdict on a result of an output.

    Where it does not state a value, it is judged with each that is possible. If these differ in the trust, it is that
    of “cannot tell”.
    """
    judged = [_judged(found, source, dict(values), host) for values in found.output.possibilities()]
    first = judged[0]
    if found.output.undecided:
        text = f"{first_upper(Trust.UNDECIDED.value)}: {found.output.undecided}"
        verdict = replace(first.verdict, trust=Trust.UNDECIDED, summary=text, limited_by=None, findings=())
        return replace(first, step=replace(first.step, verdict=verdict))
    if is_not_read(found.output.parsed):
        notes = " ".join(found.output.parsed.notes)
        line = found.text.split("\n", found.output.line + 1)[found.output.line]
        text = not_read_text(found.format, found.first_line, line, notes)
        verdict = replace(first.verdict, trust=Trust.UNDECIDED, summary=text, limited_by=None, findings=())
        return replace(first, step=replace(first.step, verdict=verdict))
    levels = {one.verdict.trust for one in judged}
    stated = _without_assumed(first, judged)
    if len(levels) == 1:
        return stated
    worst = max(judged, key=lambda one: one.verdict.trust.rank)
    return _undecided(stated, worst, tuple(_deciding(judged, found)))


def _without_assumed(likeliest: JudgedOutput, judged: Sequence[JudgedOutput]) -> JudgedOutput:
    """Return the likeliest without the findings that not each possible value has, unless only they give its trust.

    Where the trust differs, only remarks are left out: the others say what it depends on.
    """
    verdict, record = likeliest.verdict, likeliest.record
    shared = set.intersection(*({finding.id for finding in one.verdict.findings} for one in judged))
    differs = any(one.verdict.trust is not verdict.trust for one in judged)
    deciding = {one.finding.id for one in likeliest.step.found if one.trust is verdict.trust}

    def is_kept(one: Finding) -> bool:
        needed = differs or (one.id in deciding and not deciding & shared)
        return one.id in shared or (needed and one.severity is not Severity.INFO)

    verdict = replace(verdict, findings=tuple(filter(is_kept, verdict.findings)))
    record = replace(record, findings=tuple(filter(is_kept, record.findings)))
    return replace(likeliest, record=record, step=replace(likeliest.step, verdict=verdict))


_MISSED = re.compile(
    r"cut off|printed no memory rate|^Decimal commas|^No \S+ report|^Not the output of|prints no time|both directions"
    r"|has several tests|gave no result"
)
"""Notes that a parser missed something, of which the tool reports neither that it failed nor that it did no work."""

_FAILED = re.compile(r"failed: |^\w+: (?!.*cut off)")


def is_not_read(parsed: ParsedTrial) -> bool:
    """Return whether an output has no figure that could be read, and no message of the tool that explains it."""
    failed = any(_FAILED.search(note) and not _MISSED.search(note) for note in parsed.notes)
    missed = not parsed.notes or any(map(_MISSED.search, parsed.notes))
    return not parsed.figures and missed and not failed


def not_read_text(format_title: str, number: int, line: str, notes: str = "") -> str:
    """Return that an output was recognised in a line of a text and has no figure that could be read, and what to do."""
    quoted = printable_message(line.strip(), LONGEST_QUOTE)
    seen = f"Not read: {format_title} in line {number} (“{quoted}”), without a figure."
    remedy = "Give the output as the tool printed it, or its JSON."
    return " ".join(part for part in (seen, notes, remedy) if part)


LONGEST_QUOTE = 60
"""Characters of a line that are quoted."""


def _deciding(judged: Sequence[JudgedOutput], found: FoundOutput) -> Iterator[str]:
    """Yield the title of each unstated parameter on whose value the trust depends."""
    steps = [one.record.plan.steps[0] for one in judged]
    for name in found.output.unstated:
        by_rest: dict[object, set[Trust]] = {}
        for one, step in zip(judged, steps, strict=True):
            rest = tuple((key, step.values[key]) for key in found.output.unstated if key != name)
            by_rest.setdefault(rest, set()).add(one.verdict.trust)
        if any(len(levels) > 1 for levels in by_rest.values()):
            yield next(each.title for each in steps[0].suite.parameters if each.name == name)


def _undecided(likeliest: JudgedOutput, worst: JudgedOutput, deciding: tuple[str, ...]) -> JudgedOutput:
    verdict = likeliest.verdict
    known = {one.id for one in verdict.findings}
    level = {id(one.finding): one.trust for one in worst.step.found}  # of those before the trial, by their severity
    beside = tuple(
        one
        for one in worst.verdict.findings
        if one.id not in known and level.get(id(one), trust_left(one)) is worst.verdict.trust
    )
    summary = verdict.summary.replace(first_upper(verdict.trust.value), first_upper(Trust.UNDECIDED.value), 1)
    summary = summary.replace(f" {MEASURED_ELSEWHERE.title}.", "")
    text = f"{summary} Depends on {', '.join(deciding)}, which the output does not state."
    whole = replace(verdict, trust=Trust.UNDECIDED, summary=text, findings=(*beside, *verdict.findings))
    return replace(likeliest, step=replace(likeliest.step, verdict=whole), deciding=deciding)


def _judged(found: FoundOutput, source: OutputSource, values: dict[str, Value], host: KnownHost) -> JudgedOutput:
    record = output_record(found, source, values, host.facts)
    step, name = record.plan.steps[0], record.plan.hosts[0]
    record = replace(record, findings=tuple(_before(step, name, host.facts, found.output)))
    telemetry = {name: host.telemetry} if host.telemetry else {}
    return JudgedOutput(found, record, record_verdict(record, {1: found.output.parsed.samples}, telemetry))


def record_verdict(
    record: RunRecord,
    samples: Mapping[int, tuple[Sample, ...]],
    telemetry: Mapping[str, tuple[Sample, ...]],
) -> StepVerdict:
    """Return the verdict on the one step of an output, which lists the remarks that a run has before it starts."""
    step = step_verdict(evidence_of(record, samples, telemetry, record.plan.steps[0], record.plan.hosts[0]))
    remarks = (one for one in record.findings if one.severity is Severity.INFO)
    return replace(step, verdict=replace(step.verdict, findings=(*step.verdict.findings, *remarks)))


def _before(step: Step, host: str, facts: Facts | None, output: ToolOutput) -> Iterator[Finding]:
    """Yield the findings of the checks of the suite that do not concern its start.

    Nothing verifies a prediction of the page cache elsewhere: it makes the result doubtful.
    """
    evidence = StepEvidence(
        step.name, step.suite, step.values, Context(facts), host, quick_look=True, measured_seconds=output.seconds
    )
    refuted = CACHED if is_read_cold(step.suite, step.values, output.parsed.notes) else frozenset()
    for one in evaluate(step.suite.checks, evidence):
        if isinstance(one, Finding) and one.id not in {*of_starts(), *refuted}:
            severity = Severity.ERROR if one.id in CACHED else one.severity
            yield replace(one, severity=severity, changes={}, install=None)


def output_record(
    found: FoundOutput, source: OutputSource, values: Mapping[str, Value], facts: Facts | None
) -> RunRecord:
    """Return a result of an output as a run of one trial with `values`."""
    output = found.output
    step = Step(output.name or output.suite_id, output.suite_id, values)
    step = replace(step, values=step.whole_values())  # with traits of fio’s jobs that are no parameters of its suite
    host = ELSEWHERE if facts is None else facts.host
    plan = Plan(source.name, (host,), (step,), repetition=QUICK_LOOK)
    now = datetime.now(UTC).isoformat()
    seconds = output.seconds
    parsed = output.parsed
    trial = TrialRecord(
        Trial(1, host, step.name, 1, warm_up=False, commands=(), started=now, clock=None if seconds is None else 0.0,
              tool_version=parsed.tool_version),
        State.DONE,
        None,
        None,
        parsed.figures,
        parsed.notes,
        "" if parsed.complete else next(iter(parsed.notes), "Its end is missing."),
        ended_clock=seconds,
    )  # fmt: skip
    summary = RunSummary(
        source.sha256[:12], source.name, "", (host,), (step.name,), State.DONE, now, None, 1, suites=(step.suite_id,)
    )
    return RunRecord(
        summary,
        plan,
        plan.hash(),
        VERSION,
        facts_before={} if facts is None else {host: facts},
        trials=(trial,),
        read_from=source,
    )
