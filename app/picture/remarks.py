"""What qualifies the figures: findings, what differs between runs, what was left out; and the exact commands."""

from collections.abc import Iterator, Mapping, Sequence
from types import MappingProxyType

from app.picture.look import (
    BODY,
    CODE,
    CONTENT,
    ERROR,
    HEADING,
    INFO,
    MARGIN,
    QUIET,
    SMALL,
    STRONG,
    SURFACE,
    WARNING,
    Style,
)
from app.picture.sheet import Sheet
from app.picture.words import wrap
from app.plans.plan import host_words
from app.plans.plan_remarks import reason_of
from app.records import RunRecord
from app.told_once import told_once
from app.wording import run_letter
from suites.base import Purpose
from suites.vocab import Finding, Level

_INDENT = 96
_MARKS: Mapping[Level, tuple[str, str]] = MappingProxyType(
    {Level.ERROR: ("✖ Error", ERROR), Level.WARNING: ("▲ Warning", WARNING), Level.INFO: ("● Note", INFO)}
)


def draw_findings(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw every finding of every run once, the gravest first."""
    sheet.paragraph("Findings", HEADING)
    found: dict[tuple[str, str | None, str | None, str], tuple[Finding, list[int], list[str]]] = {}
    for number, record in enumerate(records):
        for finding in told_once(record.findings):
            key = (finding.id, finding.step, finding.host, finding.measured)
            _, runs, reasons = found.setdefault(key, (finding, [], []))
            runs.append(number)
            reasons.append(reason_of(record.plan.acknowledged, finding))
    if not found:
        sheet.paragraph("No check raised a finding.", QUIET)
    for finding, runs, reasons in sorted(found.values(), key=lambda each: (all(each[2]), -each[0].level.rank)):
        whose = [run_letter(number) for number in dict.fromkeys(runs)] if len(records) > 1 else []
        _draw_finding(sheet, finding, whose, " / ".join(dict.fromkeys(reasons)) if all(reasons) else "")


def _draw_finding(sheet: Sheet, finding: Finding, runs: Sequence[str], acknowledged: str) -> None:
    """Draw one finding; where every run acknowledges it, quietly and with the reason."""
    sheet.y += 6
    word, colour = _MARKS[finding.level]
    colour = QUIET.colour if acknowledged else colour
    sheet.words(MARGIN, sheet.y, word, Style(BODY.size, BODY.leading, colour, bold=True))
    x, room = MARGIN + _INDENT, CONTENT - _INDENT
    place = [finding.step or "", "" if finding.host is None else f"on {host_words(finding.host)}"]
    about = [" ".join(part for part in place if part), f"run {' and '.join(runs)}" if runs else ""]
    where = ", ".join(part for part in about if part)
    sheet.paragraph(f"{finding.title} ({where})" if where else finding.title, STRONG, x, room)
    sheet.paragraph(f"{finding.measured}. {finding.why}".replace("..", "."), QUIET if acknowledged else BODY, x, room)
    if acknowledged:
        sheet.paragraph(f"Acknowledged: {acknowledged}", BODY, x, room)
    elif finding.remedy:
        sheet.paragraph(finding.remedy, BODY, x, room)
    if finding.source:
        sheet.paragraph(f"Source: {finding.source}", SMALL, x, room)


def draw_notes(sheet: Sheet, heading: str, notes: Sequence[str]) -> None:
    """Draw a list of sentences; nothing where there is none."""
    if not notes:
        return
    sheet.paragraph(heading, HEADING)
    for note in notes:
        sheet.words(MARGIN, sheet.y, "–", BODY)
        sheet.paragraph(note, BODY, MARGIN + 16, CONTENT - 16)


def draw_commands(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the exact commands of every step, each once."""
    commands = dict.fromkeys(_commands(records))
    if not commands:
        return
    sheet.paragraph("Exact commands", HEADING)
    sheet.y += 4
    top = sheet.y
    sheet.y += 10
    step = None
    for name, purpose, line in commands:
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
                        where = " on the other end" if command.on_peer else ""
                        yield step.name, f"{purpose}{where}".strip(), command.line
