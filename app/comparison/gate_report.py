"""The outcome of a gate as text, JSON, JUnit XML and Markdown for a pull request."""

from collections.abc import Iterator, Mapping
from typing import Annotated, TypedDict
from xml.etree import ElementTree as ET

from app.comparison.gate import ConditionAnswer, GateOutcome, GateResult
from app.markdown import escaped, table
from app.output import visible

FORMAT = "benchwright-gate/1"

_TITLES = {
    GateOutcome.PASS: "passed",
    GateOutcome.FAIL: "failed: a regression is shown",
    GateOutcome.UNDECIDED: "undecided",
}


def gate_lines(found: GateResult) -> Iterator[str]:
    """Yield the outcome, then each condition with its figure, interval and n."""
    yield f"Gate {_title(found)}"
    for one in found.answers:
        yield f"  {one.answer.upper():9} {one.name}: {_detail(one)}"
    yield f"Runs: {', '.join(found.runs)}; baseline: {found.baseline}"


def _title(found: GateResult) -> str:
    return f"{_TITLES[found.outcome]}{', on unverified results' if found.unverified else ''}"


def _detail(one: ConditionAnswer) -> str:
    return "; ".join(filter(None, (one.text, one.reason, one.remark)))


class ConditionJson(TypedDict):
    """The outcome of a condition of a gate for one figure."""

    condition: str
    metric: str
    step: str | None
    host: str | None
    labels: Mapping[str, str]
    outcome: GateOutcome
    run: str
    ratio: float | None
    low: float | None
    high: float | None
    p: float | None
    counts: Annotated[list[int], tuple[int, int]]
    trust: str | None
    text: str
    reason: str | None
    remark: str | None


class GateJson(TypedDict):
    """The outcome of a gate."""

    format: Annotated[str, FORMAT]
    outcome: GateOutcome
    unverified: bool
    baseline: str
    runs: list[str]
    conditions: list[ConditionJson]


def gate_to_json(found: GateResult) -> GateJson:
    """Return the outcome as JSON for ``gate --json``."""
    return {
        "format": FORMAT,
        "outcome": found.outcome,
        "unverified": found.unverified,
        "baseline": found.baseline,
        "runs": list(found.runs),
        "conditions": [
            {
                "condition": one.condition.text,
                "metric": one.condition.metric,
                "step": one.step or None,
                "host": one.host or None,
                "labels": dict(one.labels),
                "outcome": one.answer,
                "run": one.run,
                "ratio": one.ratio,
                "low": one.low,
                "high": one.high,
                "p": one.p,
                "counts": list(one.counts),
                "trust": one.trust or None,
                "text": one.text,
                "reason": one.reason or None,
                "remark": one.remark or None,
            }
            for one in found.answers
        ],
    }


def gate_junit(found: GateResult) -> str:
    """Return the outcome as JUnit XML: a test case for each condition and figure; an undecided one is an error."""
    counts = {answer: sum(one.answer is answer for one in found.answers) for answer in GateOutcome}
    totals = {
        "tests": str(len(found.answers)),
        "failures": str(counts[GateOutcome.FAIL]),
        "errors": str(counts[GateOutcome.UNDECIDED]),
    }
    root = ET.Element("testsuites", totals)
    suite = ET.SubElement(root, "testsuite", {"name": "benchwright gate", **totals})
    for one in found.answers:
        case = ET.SubElement(suite, "testcase", {"classname": "benchwright.gate", "name": visible(one.name)})
        if one.answer is not GateOutcome.PASS:
            tag = "failure" if one.answer is GateOutcome.FAIL else "error"
            message = "Regression shown" if one.answer is GateOutcome.FAIL else f"Undecided: {one.reason}"
            ET.SubElement(case, tag, {"message": visible(message)}).text = visible(_detail(one))
        else:
            ET.SubElement(case, "system-out").text = visible(_detail(one))
    ET.indent(root)
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{ET.tostring(root, encoding="unicode")}\n'


def gate_markdown(found: GateResult) -> str:
    """Return the outcome as a table in Markdown."""
    head, rows = (
        ("Outcome", "Condition", "Measured"),
        [[one.answer.value, one.name, _detail(one)] for one in found.answers],
    )
    runs = f"Runs: {escaped(', '.join(found.runs))}; baseline: {escaped(found.baseline)}"
    return "\n".join([f"### Benchmark gate {_title(found)}", "", *table(head, rows), "", runs, ""])
