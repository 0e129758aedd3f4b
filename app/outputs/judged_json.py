"""The public JSON of judged outputs."""

from collections.abc import Iterable, Mapping
from typing import Annotated, TypedDict

from app.json_converter import Json, published
from app.outputs.files import JudgedFile
from app.outputs.judging import JudgedOutput
from suites.parameters import Value
from suites.verdict import Trust
from suites.vocab import Figure, Finding, Severity


class JudgedFinding(TypedDict):
    """A finding on an output."""

    id: str
    severity: Severity
    title: str
    measured: str
    why: str
    remedy: str
    source: str


class JudgedResult(TypedDict):
    """A result in an output, with its verdict. `line` is its first line, `not_checked` has the reasons by check.

    `values` are those that it or its command states.
    """

    format: str
    suite: str
    line: int
    name: str
    command_line: str
    values: Mapping[str, Value]
    trust: Trust
    summary: str
    deciding: list[str]
    metrics: list[Annotated[Json, Figure]]
    findings: list[JudgedFinding]
    not_checked: Mapping[str, str]
    notes: list[str]


class JudgedFileJson(TypedDict):
    """A file with its results; without any, `problem` is why."""

    file: str
    sha256: str
    problem: str
    lines_not_read: int
    results: list[JudgedResult]


class JudgedJson(TypedDict):
    """Judged files."""

    files: list[JudgedFileJson]


def judged_to_json(judged: Iterable[JudgedFile]) -> JudgedJson:
    """Return the public JSON of judged files."""
    return {"files": [_file(one) for one in judged]}


def _file(one: JudgedFile) -> JudgedFileJson:
    return {
        "file": one.source.name,
        "sha256": one.source.sha256,
        "problem": one.problem,
        "lines_not_read": one.left_over,
        "results": [_result(each) for each in one.outputs],
    }


def _result(one: JudgedOutput) -> JudgedResult:
    values = one.record.plan.steps[0].values
    return {
        "format": one.found.format,
        "suite": one.found.output.suite_id,
        "line": one.found.first_line,
        "name": one.found.output.name,
        "command_line": one.found.command,
        "values": {name: value for name, value in values.items() if name in one.found.output.stated},
        "trust": one.verdict.trust,
        "summary": one.verdict.summary,
        "deciding": list(one.deciding),
        "metrics": [published(figure) for figure in one.found.output.parsed.figures],
        "findings": [_finding(finding) for finding in one.verdict.findings],
        "not_checked": dict(one.step.not_checked),
        "notes": list(one.found.output.parsed.notes),
    }


def _finding(one: Finding) -> JudgedFinding:
    return {
        "id": one.id,
        "severity": one.severity,
        "title": one.title,
        "measured": one.measured,
        "why": one.why,
        "remedy": one.remedy,
        "source": one.source,
    }
