"""What was found several times is told once; what differs in anything else stays apart."""

from dataclasses import replace

from app.summary import without_repetitions
from suites.vocab import Finding, Severity
from tests.messages import messages

MESSAGES = messages("app", "test_deduplication")

FIRST = Finding(
    "other-process",
    Severity.WARNING,
    "Another process was at work",
    "make took 40 % of a processor.",
    "Why.",
    "Do.",
    "proc(5)",
)


def test_what_differs_only_in_its_figure_is_told_once_with_its_number() -> None:
    others = [FIRST, _with("cc took 20 % of a processor."), _with("cc took 30 % of a processor.")]
    (reported,) = without_repetitions(others)
    assert reported.measured == MESSAGES["make_took_40_of_a_processor"]


def test_what_was_measured_alike_or_stands_alone_stays_as_it_is() -> None:
    assert without_repetitions([FIRST, FIRST]) == [FIRST]
    assert without_repetitions([]) == []


def test_other_steps_and_levels_stay_apart_and_in_their_order() -> None:
    separate = [replace(FIRST, step="fio"), replace(FIRST, severity=Severity.ERROR), FIRST]
    assert without_repetitions(separate) == separate


def test_a_short_runtime_is_shown_once() -> None:
    planned = replace(FIRST, id="short-runtime", step="fio", host="web-1")
    measured = replace(planned, id="too-brief")
    assert without_repetitions([planned, measured]) == [measured]
    assert without_repetitions([planned, replace(measured, host="web-2")]) == [planned, replace(measured, host="web-2")]
    assert without_repetitions([planned]) == [planned]


def _with(measured: str) -> Finding:
    return replace(FIRST, measured=measured)
