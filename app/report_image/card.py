"""The result card: the results of a run at a glance, 1200 x 630 pixels, the size of a link preview."""

from app.plans.plan import host_label
from app.records import RunRecord
from app.report_image.sections import VERDICT_MARKS
from app.report_image.sheet import (
    BODY,
    CONTENT,
    ERROR,
    FAINT,
    HEADING,
    INK,
    LINE,
    MARGIN,
    MUTED,
    QUIET,
    SMALL,
    SUBTITLE,
    TITLE,
    Sheet,
    Style,
    width,
    wrap,
)
from app.step_results import ResultCard, StepResult, basis_text, host_lines, results_text, step_results
from suites.quantities import count_text

HEIGHT = 630
MOST = 9
"""Most results on a card."""

MOST_ENDING = 3
"""Most lines of why the run failed or ended early."""

_ROW = 60
_FIGURE = Style(22, 30, INK, bold=True)
_NAME = Style(16, 24, INK)
_FIGURE_END, _DETAIL, _VERDICT = 520, 540, 760
"""Right edge of the figures, and left edges of detail and verdict in pixels."""


def draw_card(record: RunRecord) -> Sheet:
    """Return the card of `record`; results beyond MOST are counted."""
    sheet = Sheet()
    sheet.paragraph(record.title, TITLE)
    if record.ending:
        style = Style(SUBTITLE.size, SUBTITLE.leading, ERROR, bold=True)
        lines = wrap(record.ending, style, CONTENT)[:MOST_ENDING]
        sheet.lines(MARGIN, sheet.y, lines, style)
        sheet.y += len(lines) * style.leading
    for facts in host_lines(record)[:2]:
        sheet.text(MARGIN, sheet.y, wrap(facts, SUBTITLE, CONTENT)[0], SUBTITLE)
        sheet.y += SUBTITLE.leading
    found = step_results(record)
    sheet.y += 14
    row = min(_ROW, (HEIGHT - MARGIN - 2 * QUIET.leading - sheet.y) / max(1, len(found[:MOST])))
    sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=LINE)
    several = len(record.plan.hosts) > 1
    for one in found[:MOST]:
        _draw_result(sheet, one, row, named=several)
    more = len(found) - MOST
    foot = f"{count_text(more, 'more result')}. {basis_text(record)}" if more > 0 else basis_text(record)
    sheet.text(MARGIN, HEIGHT - MARGIN - QUIET.leading, wrap(foot, QUIET, CONTENT)[0], QUIET)
    sheet.y = HEIGHT - MARGIN
    return sheet


def result_card(record: RunRecord) -> ResultCard:
    """Return the card of `record` as data, text and picture."""
    results = tuple(step_results(record))
    title, hosts = record.title, tuple(host_lines(record))
    texts = basis_text(record), results_text(record)
    return ResultCard(title, record.ending, hosts, results, *texts, draw_card(record).png())


def _draw_result(sheet: Sheet, one: StepResult, row: float, *, named: bool) -> None:
    middle = sheet.y + row / 2
    name = f"{one.step}, {host_label(one.host)}" if named else one.step
    top = middle - (_NAME.leading + SMALL.leading) / 2
    sheet.text(MARGIN, top, wrap(name, _NAME, 300)[0], _NAME)
    sheet.text(MARGIN, top + _NAME.leading, wrap(one.metric, SMALL, 300)[0], SMALL)
    figure = f"{one.figure} {one.interval}".strip()
    wide = width(figure, _FIGURE)
    style = _FIGURE if wide <= _FIGURE_END - MARGIN - 180 else HEADING
    sheet.text(_FIGURE_END, middle - style.leading / 2, figure, style, "right")
    tail = wrap(one.detail, QUIET, _VERDICT - _DETAIL - 10)[:2]
    sheet.lines(_DETAIL, middle - len(tail) * QUIET.leading / 2, tail, QUIET)
    mark, colour = ("○", MUTED) if one.trust is None else VERDICT_MARKS[one.trust]
    sheet.text(_VERDICT, middle - BODY.leading / 2, mark, Style(BODY.size, BODY.leading, colour, bold=True))
    lines = wrap(one.judgement, BODY, MARGIN + CONTENT - _VERDICT - 20)[:2]
    sheet.lines(_VERDICT + 20, middle - len(lines) * BODY.leading / 2, lines, BODY)
    sheet.y += row
    sheet.rule((MARGIN, sheet.y), (MARGIN + CONTENT, sheet.y), colour=FAINT)
