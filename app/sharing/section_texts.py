"""Sections of a document as Markdown, and as a sheet for PDF."""

from collections.abc import Sequence

from app.markdown import code, escaped, paragraphs, table
from app.report_image.plots import draw_chart, draw_panel
from app.report_image.report import SECTION
from app.report_image.sheet import BODY, CODE, CONTENT, HEADING, MARGIN, QUIET, SMALL, SURFACE, TITLE, Sheet, wrap
from app.report_image.tables import ImageColumn, TableCell, TableRow, draw_table
from app.sharing.sections import ReportSection


def sections_markdown(title: str, sections: Sequence[ReportSection], footer: str) -> str:
    """Return a document as Markdown, without its plots. Marks in its texts are escaped."""
    lines = [f"# {escaped(title)}", ""]
    for section in sections:
        lines += [f"## {escaped(section.title)}", ""]
        for text in section.quoted:
            lines += [*paragraphs(text), ""]
        for text in section.lines:
            lines += [escaped(text), ""]
        if section.table is not None:
            lines += [*table(section.table.head, section.table.rows, section.table.right), ""]
        if section.notes:
            lines += [*(f"- {escaped(text)}" for text in section.notes), ""]
        if section.code:
            lines += [*code(section.code.splitlines(), "sh"), ""]
    return "\n".join([*lines, escaped(footer), ""])


WIDEST = 260
"""Pixels of a column of text at most."""


def sections_sheet(title: str, sections: Sequence[ReportSection], footer: str) -> Sheet:
    """Return a document as a sheet, with its plots."""
    sheet = Sheet()
    sheet.paragraph(title, TITLE)
    for section in sections:
        sheet.y += SECTION
        sheet.paragraph(section.title, HEADING)
        for text in section.quoted:
            for line in text.splitlines():
                sheet.paragraph(line, BODY)
        for text in section.lines:
            sheet.paragraph(text, QUIET)
        if section.table is not None:
            sheet.y += 8
            columns = [
                ImageColumn(head, right=index in section.table.right, widest=WIDEST)
                for index, head in enumerate(section.table.head)
            ]
            draw_table(sheet, columns, [TableRow(tuple(map(TableCell, row))) for row in section.table.rows])
        for text in section.notes:
            sheet.paragraph(f"– {text}", QUIET)
        for step, panel in section.panels:
            sheet.y += 8
            sheet.paragraph(step, SMALL)
            sheet.y, _ = draw_panel(sheet, panel, MARGIN, CONTENT)
        for chart in section.charts:
            sheet.y += 8
            draw_chart(sheet, chart, MARGIN, CONTENT)
        if section.code:
            _draw_code(sheet, section.code)
    sheet.y += SECTION
    sheet.paragraph(footer, SMALL)
    return sheet


def _draw_code(sheet: Sheet, code: str) -> None:
    sheet.y += 8
    top = sheet.y
    sheet.y += 10
    for line in code.splitlines():
        sheet.y = sheet.lines(MARGIN + 14, sheet.y, wrap(line, CODE, CONTENT - 28, indent="    "), CODE)
    sheet.y += 10
    sheet.box(MARGIN, top, CONTENT, sheet.y - top, SURFACE)
