"""The report in Markdown, for tickets and pull requests: comparison, results, findings, commands, facts, method."""

from collections.abc import Iterator, Sequence

from app.markdown import code, escaped, paragraphs, table
from app.records import RunRecord
from app.sharing.compared_runs import RIGHT, ComparedRuns
from app.sharing.run_content import RESULT_HEAD, RESULT_RIGHT, RunContent, result_cells, run_content
from suites.vocab import Finding


def markdown_report(records: Sequence[RunRecord], compared: ComparedRuns | None) -> str:
    """Return the report of runs, after their comparison if there is one. All texts are escaped."""
    lines = [] if compared is None else list(_comparison(compared))
    for record in records:
        lines += [*([""] if lines else []), *_run(run_content(record))]
    return "\n".join([*lines, ""])


def _comparison(compared: ComparedRuns) -> Iterator[str]:
    yield from (f"## {escaped(compared.title)}", "")
    yield from (f"- {escaped(side)}" for side in compared.sides)
    yield ""
    if compared.rows:
        yield from table(compared.head, compared.rows, RIGHT)
        yield ""
    yield from _list("Differences and caveats", compared.notes)
    yield from ("### Method of the comparison", "", escaped(compared.method))


def _run(run: RunContent) -> Iterator[str]:
    yield from (f"## {escaped(run.title)}", "")
    own = (escaped(run.question), *own_text(run.note, run.tags))
    yield from (f"{line}\n" for line in (*own, *map(_strong, (run.ending, run.verdict))) if line)
    yield from table(RESULT_HEAD, map(result_cells, run.results), RESULT_RIGHT)
    yield ""
    yield from _list("Findings", [*map(_finding_text, run.findings)] or ["None."])
    yield from ("### Commands", "", *code(run.commands, "sh"), "")
    yield from _list("Notes", run.notes)
    yield from ("### Hosts", "")
    for line, facts in run.hosts:
        yield from (escaped(line), "", "<details><summary>All facts</summary>", "")
        yield from (*code(facts.splitlines(), "text"), "", "</details>", "")
    yield from ("### Method", "", escaped(run.method), "", escaped(run.basis))


def own_text(note: str, tags: str) -> Iterator[str]:
    """Yield the user's note and tags, each as Markdown."""
    yield "\n".join(paragraphs(note))
    yield escaped(tags)


def _finding_text(one: Finding) -> str:
    where = f", {one.step}" if one.step else ""
    return f"{one.title} ({one.severity}{where}): {one.measured} {one.why} {one.remedy}"


def _strong(text: str) -> str:
    return f"**{escaped(text)}**" if text else ""


def _list(title: str, items: Sequence[str]) -> Iterator[str]:
    if items:
        yield from (f"### {title}", "", *(f"- {escaped(one)}" for one in items), "")
