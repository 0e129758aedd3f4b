"""The results that are read in a pasted text: their figures, and the ids of the findings on them."""

from app.outputs.files import judged_bytes
from app.outputs.judging import JudgedOutput


def outputs(text: str) -> tuple[JudgedOutput, ...]:
    return judged_bytes("paste", text.encode()).outputs


def only(text: str) -> JudgedOutput:
    found = outputs(text)
    assert len(found) == 1, [one.found.format for one in found]
    return found[0]


def ids(one: JudgedOutput) -> set[str]:
    return {finding.id for finding in one.verdict.findings}


def value(one: JudgedOutput, name: str, **at: str) -> float | None:
    figures = one.found.output.parsed.figures
    return next(
        (each.value for each in figures if each.metric.name == name and at.items() <= dict(each.labels).items()), None
    )
