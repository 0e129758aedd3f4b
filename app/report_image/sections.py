"""The text sections of a report: question, hosts and verdicts, findings, notes, commands, and the footer."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial

from app.comparison.comparison import run_letters, run_name
from app.hosts.short_facts import host_text
from app.plans.plan import host_label
from app.plans.plan_remarks import reason_of
from app.records import RunRecord
from app.report_image.sheet import (
    BODY,
    CODE,
    CONTENT,
    ERROR,
    GOOD,
    HEADING,
    INFO,
    LINE,
    MARGIN,
    QUIET,
    SMALL,
    STRONG,
    SUBTITLE,
    SURFACE,
    TITLE,
    WARNING,
    WIDTH,
    Sheet,
    Style,
    width,
    wrap,
)
from app.step_results import limit_text
from app.summary import telemetry_text
from app.verdict.listing import listed, without_repetitions
from app.verdict.steps import step_host_text
from app.version import VERSION
from suites.base import Purpose
from suites.verdict import Trust, Verdict
from suites.vocab import Finding, Severity

_INDENT = 150
"""Indent of the text on a host or run, in pixels."""

_MOST_NOTE = 8
"""Most lines of the user's note on a run."""

_STEP = 20
"""Distance from a mark to its text in pixels."""


def draw_head(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the question, or the plan's name without one, and the facts of the hosts."""
    first = records[0]
    sheet.paragraph(first.plan.question or first.plan.name, TITLE)
    if len(records) == 1:
        named = f"{first.plan.name}, " if first.plan.question else ""
        sheet.paragraph(f"{named}{_when(first)}", SUBTITLE)
        _draw_state(sheet, first, MARGIN)
        _draw_verdict(sheet, first, MARGIN)
        sheet.y += 10
        note = wrap(first.note, BODY, CONTENT - _INDENT) if first.note else []
        more = ["…"] if len(note) > _MOST_NOTE else []
        if own := [*note[:_MOST_NOTE], *more, *filter(None, [first.tags_text])]:
            _entry(sheet, "Note", "\n".join(own))
        for host in _hosts(first):
            _entry(sheet, host_label(host), host_text(first.facts_before.get(host)))
        return
    sheet.y += 6
    for number, record in enumerate(records):
        name = f"{record.plan.name}, {record.summary.part}" if record.summary.part else record.plan.name
        _entry(sheet, run_name(number), f"{name}, {_when(record)}, run {', '.join(record.summary.ids)}")
        _draw_state(sheet, record, MARGIN + _INDENT)
        _draw_verdict(sheet, record, MARGIN + _INDENT)
        for host in _hosts(record):
            facts = f"{host_label(host)}: {host_text(record.facts_before.get(host))}"
            sheet.paragraph(facts, QUIET, MARGIN + _INDENT, CONTENT - _INDENT)
        sheet.y += 6


def _hosts(record: RunRecord) -> tuple[str, ...]:
    """Return the hosts of a run and their peers."""
    return tuple(dict.fromkeys((*record.plan.hosts, *record.facts_before)))


def _entry(sheet: Sheet, name: str, text: str) -> None:
    """Write a name and its text; a name wider than its column has its own line."""
    if width(name, STRONG) > _INDENT - 12:
        sheet.paragraph(name, STRONG)
    else:
        sheet.text(MARGIN, sheet.y, name, STRONG)
    sheet.paragraph(text, BODY, MARGIN + _INDENT, CONTENT - _INDENT)


def _draw_state(sheet: Sheet, record: RunRecord, x: float) -> None:
    if record.ending:
        sheet.paragraph(record.ending, Style(BODY.size, BODY.leading, ERROR, bold=True), x, WIDTH - MARGIN - x)


VERDICT_MARKS: Mapping[Trust, tuple[str, str]] = {  # sign and colour
    Trust.VALID: ("✔", GOOD),
    Trust.UNVERIFIED: ("○", INFO),
    Trust.CAVEATS: ("●", INFO),
    Trust.UNDECIDED: ("?", WARNING),
    Trust.DOUBTFUL: ("▲", WARNING),
    Trust.INVALID: ("✖", ERROR),
}


def _draw_verdict(sheet: Sheet, record: RunRecord, x: float) -> None:
    """Draw what may be believed of the run, and of each step on each host where there are several."""
    whole = record.verdict
    if whole is None:
        return
    _draw_sentence(sheet, whole, x, whole.summary)
    if x == MARGIN:  # of a single run, whose table of results has those of its steps
        return
    steps = [one for one in record.verdicts if one.step is not None]
    for one in steps if len(steps) > 1 else ():
        limit = limit_text(one)
        _draw_sentence(sheet, one, x + _STEP, f"{step_host_text(one)}: {one.text}{f', {limit}' if limit else ''}.")


def _draw_sentence(sheet: Sheet, verdict: Verdict, x: float, text: str) -> None:
    mark, colour = VERDICT_MARKS[verdict.trust]
    sheet.text(x, sheet.y, mark, Style(BODY.size, BODY.leading, colour, bold=True))
    sheet.paragraph(text, BODY, x + _STEP, WIDTH - MARGIN - x - _STEP)


def _when(record: RunRecord) -> str:
    """Return the formatted start in UTC; the text as given for a published table."""
    if record.published is not None:
        return record.summary.started
    try:
        moment = datetime.fromisoformat(record.summary.started).astimezone(UTC)
    except ValueError:
        return record.summary.started
    return record.summary.start_text(f"{moment.day} {moment:%B %Y, %H:%M} UTC")


def draw_footer(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the footer: run ids, plan hashes, program versions, telemetry."""
    sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=LINE)
    sheet.y += 10
    lines: dict[str, dict[str, None]] = {}  # by run: several sides may be parts of one
    for record in records:
        lines.setdefault(record.summary.id, {}).update(dict.fromkeys(_footer_lines(record)))
    for line in (line for own in lines.values() for line in own):
        sheet.paragraph(line, SMALL)
    if any(record.program_version != VERSION and record.published is None for record in records):
        sheet.paragraph(f"drawn by Benchwright {VERSION}", SMALL)


def _footer_lines(record: RunRecord) -> Iterator[str]:
    """Yield the line of a run, and one for the telemetry of each host."""
    ids = f"run {', '.join(record.summary.ids)}, plan {record.plan_hash[:12]}"
    measured = f"{ids}, measured by Benchwright {record.program_version}"
    table = record.published
    yield f"{record.summary.id}, source: {table.source}" if table is not None else measured
    for part in record.parts or (record,):
        for host in _hosts(part):
            if telemetry := telemetry_text(part.telemetry_program.get(host), part.telemetry_cost.get(host)):
                yield f"{host_label(host)}: {telemetry}"


_FINDING_INDENT = 96
_MARKS: Mapping[Severity, tuple[str, str]] = {
    Severity.ERROR: ("✖ Error", ERROR),
    Severity.WARNING: ("▲ Warning", WARNING),
    Severity.INFO: ("● Note", INFO),
}


def draw_findings(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the distinct findings of all runs, the most severe first, acknowledged ones last; of several no notes."""
    sheet.paragraph("Findings", HEADING)
    found: dict[tuple[str, str | None, str | None, str], tuple[Finding, list[int], list[str]]] = {}
    for number, record in enumerate(records):
        for finding in without_repetitions(listed(record), partial(reason_of, record.plan.acknowledged)):
            key = (finding.id, finding.step, finding.host, finding.measured)
            _, runs, reasons = found.setdefault(key, (finding, [], []))
            runs.append(number)
            reasons.append(reason_of(record.plan.acknowledged, finding))
    if not found:
        sheet.paragraph("No findings.", QUIET)
    ids = list(dict.fromkeys(key[0] for key in found))
    explained: set[str] = set()
    for finding, runs, reasons in sorted(
        found.values(), key=lambda each: (all(each[2]), -each[0].severity.rank, ids.index(each[0].id))
    ):
        letters = run_letters(runs) if len(records) > 1 else ""
        info = finding.severity is Severity.INFO  # lowers no trust
        if letters and info:
            continue
        brief = bool(letters) or info or finding.id in explained  # the report of each of several runs explains them
        explained.add(finding.id)
        _draw_finding(sheet, finding, letters, " / ".join(dict.fromkeys(reasons)) if all(reasons) else "", brief=brief)


def _draw_finding(sheet: Sheet, finding: Finding, runs: str, acknowledged: str, *, brief: bool) -> None:
    """Draw a finding, only title and measurement if `brief`; muted, with the reason, if all runs acknowledge it."""
    sheet.y += 2 if brief else 6
    word, colour = _MARKS[finding.severity]
    colour = QUIET.colour if acknowledged else colour
    sheet.text(MARGIN, sheet.y, word, Style(BODY.size, BODY.leading, colour, bold=True))
    x, available = MARGIN + _FINDING_INDENT, CONTENT - _FINDING_INDENT
    scope = [finding.step or "", "" if finding.host is None else f"on {host_label(finding.host)}"]
    about = [" ".join(part for part in scope if part), f"run {runs}" if runs else ""]
    where = ", ".join(part for part in about if part)
    title = f"{finding.title} ({where})" if where else finding.title
    if brief:
        text = f"{title}: {finding.measured}"
    else:
        sheet.paragraph(title, STRONG, x, available)
        remedy = "" if acknowledged else finding.remedy
        text = f"{finding.measured}. {finding.why} {remedy}".replace("..", ".").strip()
    sheet.paragraph(text, QUIET if acknowledged else BODY, x, available)
    if acknowledged:
        sheet.paragraph(f"Acknowledged: {acknowledged}", BODY, x, available)


def draw_notes(sheet: Sheet, heading: str, notes: Sequence[str]) -> None:
    """Draw a list of sentences."""
    sheet.paragraph(heading, HEADING)
    for note in notes:
        sheet.text(MARGIN, sheet.y, "–", BODY)
        sheet.paragraph(note, BODY, MARGIN + 16, CONTENT - 16)


def draw_commands(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the distinct commands of every step."""
    commands = dict.fromkeys(_commands(records))
    if not commands:
        return
    sheet.paragraph("Exact commands", HEADING)
    sheet.y += 4
    top = sheet.y
    sheet.y += 10
    step, written = None, set[tuple[str, str]]()
    for name, purpose, line in commands:
        if purpose and (purpose, line) in written:  # the same preparation as of a step before
            continue
        written.add((purpose, line))
        if name != step:
            sheet.y += 6 if step is not None else 0
            sheet.paragraph(name, SMALL, MARGIN + 14, CONTENT - 28)
        step = name
        shown = f"{line}  # {purpose}" if purpose else line
        lines = wrap(shown, CODE, CONTENT - 28, indent="    ")
        sheet.y = sheet.lines(MARGIN + 14, sheet.y, lines, CODE)
    sheet.y += 10
    sheet.box(MARGIN, top, CONTENT, sheet.y - top, SURFACE)


def _commands(records: Sequence[RunRecord]) -> Iterator[tuple[str, str, str]]:
    """Yield step, purpose and line of every command, in the order of the plan."""
    for record in records:
        for step in record.plan.steps:
            for trial in record.trials:
                if trial.trial.step == step.name:
                    for command in trial.trial.commands:
                        purpose = "" if command.purpose is Purpose.MEASURE else command.purpose.value
                        where = " on the peer" if command.on_peer else ""
                        yield step.name, f"{purpose}{where}".strip(), command.line
