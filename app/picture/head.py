"""The head of the picture: the question, which runs answer it, on which hosts, when; and its foot."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType

from app.checks.after_words import place_text
from app.events import State
from app.picture.look import (
    BODY,
    CONTENT,
    ERROR,
    INFO,
    LINE,
    MARGIN,
    QUIET,
    SMALL,
    STRONG,
    SUBTITLE,
    TITLE,
    WARNING,
    WIDTH,
    Style,
)
from app.picture.sheet import Sheet
from app.picture.words import width
from app.plans.plan import host_words
from app.records import RunRecord
from app.version import VERSION
from app.wording import bytes_text, run_name
from suites.facts import Facts, known
from suites.verdict import Trust, Verdict

_INDENT = 150
"""Pixels to the right at which what is said of a host or run begins."""

_STEP = 20
"""Pixels from a mark to its words."""


def draw_head(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw the question, or the plan's name where there is none, and what is known of the hosts."""
    first = records[0]
    sheet.paragraph(first.plan.question or first.plan.name, TITLE)
    if len(records) == 1:
        named = f"{first.plan.name}, " if first.plan.question else ""
        sheet.paragraph(f"{named}{_when(first)}", SUBTITLE)
        _draw_state(sheet, first, MARGIN)
        _draw_verdict(sheet, first, MARGIN)
        sheet.y += 10
        for host in first.plan.hosts:
            _entry(sheet, host_words(host), describe(first.facts_before.get(host)))
        return
    sheet.y += 6
    for number, record in enumerate(records):
        _entry(sheet, run_name(number), f"{record.plan.name}, {_when(record)}, run {record.summary.id}")
        _draw_state(sheet, record, MARGIN + _INDENT)
        _draw_verdict(sheet, record, MARGIN + _INDENT)
        for host in record.plan.hosts:
            told = f"{host_words(host)}: {describe(record.facts_before.get(host))}"
            sheet.paragraph(told, QUIET, MARGIN + _INDENT, CONTENT - _INDENT)
        sheet.y += 6


def _entry(sheet: Sheet, name: str, words: str) -> None:
    """Write a name and what is said of it; a name too long for its column stands on a line of its own."""
    if width(name, STRONG) > _INDENT - 12:
        sheet.paragraph(name, STRONG)
    else:
        sheet.words(MARGIN, sheet.y, name, STRONG)
    sheet.paragraph(words, BODY, MARGIN + _INDENT, CONTENT - _INDENT)


def _draw_state(sheet: Sheet, record: RunRecord, x: float) -> None:
    if record.summary.state is not State.DONE:
        words = f"{record.summary.state.capitalize()}. {record.reason}".strip()
        sheet.paragraph(words, Style(BODY.size, BODY.leading, ERROR, bold=True), x, WIDTH - MARGIN - x)


_VERDICTS: Mapping[Trust, tuple[str, str]] = MappingProxyType(
    {
        Trust.VALID: ("✔", INFO),
        Trust.CAVEATS: ("●", INFO),
        Trust.DOUBTFUL: ("▲", WARNING),
        Trust.INVALID: ("✖", ERROR),
    }
)


def _draw_verdict(sheet: Sheet, record: RunRecord, x: float) -> None:
    """Draw what may be believed of the run, and of each step on each host where there are several."""
    whole = record.verdict
    if whole is None:
        return
    _draw_sentence(sheet, whole, x, "")
    steps = [one for one in record.verdicts if one.step is not None]
    for one in steps if len(steps) > 1 else ():
        _draw_sentence(sheet, one, x + _STEP, f"{place_text(one)}: ")


def _draw_sentence(sheet: Sheet, verdict: Verdict, x: float, before: str) -> None:
    mark, colour = _VERDICTS[verdict.level]
    sheet.words(x, sheet.y, mark, Style(BODY.size, BODY.leading, colour, bold=True))
    sheet.paragraph(f"{before}{verdict.summary}", BODY, x + _STEP, WIDTH - MARGIN - x - _STEP)


def _when(record: RunRecord) -> str:
    """Return the day and time of the start, in UTC, as people write it; of a published table what it says."""
    if record.published is not None:
        return record.summary.started
    try:
        moment = datetime.fromisoformat(record.summary.started).astimezone(UTC)
    except ValueError:
        return record.summary.started
    return f"{moment.day} {moment:%B %Y, %H:%M} UTC"


def describe(facts: Facts | None) -> str:
    """Return the facts that decide how fast a host is, in one line."""
    if facts is None:
        return "no facts were read"
    return ", ".join(_facts(facts)) or "nothing is known of it"


def _facts(facts: Facts) -> Iterator[str]:
    for fact in (facts.cloud.instance_type, facts.cpu.model):
        if (told := known(fact)) is not None:
            yield told
    if (threads := known(facts.cpu.threads)) is not None:
        yield f"{threads} CPUs"
    if (memory := known(facts.memory.total)) is not None:
        yield bytes_text(memory)
    if (distribution := known(facts.system.distribution)) is not None:
        yield distribution
    if (kernel := known(facts.system.kernel)) is not None:
        yield f"kernel {kernel}"
    if (virtualisation := known(facts.system.virtualisation)) not in {None, "none"}:
        yield f"on {virtualisation}"


def draw_foot(sheet: Sheet, records: Sequence[RunRecord]) -> None:
    """Draw what leads back to the runs: their ids, the hash of their plans, the program's version."""
    sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=LINE)
    sheet.y += 10
    for record in records:
        said = f"run {record.summary.id}, plan {record.plan_hash[:12]}"
        measured = f"{said}, measured by Benchwright {record.program_version}"
        table = record.published
        sheet.paragraph(f"{record.summary.id}, source: {table.source}" if table is not None else measured, SMALL)
    if any(record.program_version != VERSION and record.published is None for record in records):
        sheet.paragraph(f"drawn by Benchwright {VERSION}", SMALL)
