"""What was found several times is told once; what differs in anything else stays apart."""

from dataclasses import replace

from app.told_once import told_once
from suites.vocab import Finding, Level

FIRST = Finding(
    "other-process",
    Level.WARNING,
    "Another process was at work",
    "make took 40 % of a processor.",
    "Why.",
    "Do.",
    "proc(5)",
)


def test_what_differs_only_in_its_figure_is_told_once_with_its_number() -> None:
    others = [FIRST, _with("cc took 20 % of a processor."), _with("cc took 30 % of a processor.")]
    (told,) = told_once(others)
    assert told.measured == "make took 40 % of a processor. Found 3 times; this is the first."


def test_what_was_measured_alike_or_stands_alone_stays_as_it_is() -> None:
    assert told_once([FIRST, FIRST]) == [FIRST]
    assert told_once([]) == []


def test_other_steps_and_levels_stay_apart_and_in_their_order() -> None:
    apart = [replace(FIRST, step="fio"), replace(FIRST, level=Level.ERROR), FIRST]
    assert told_once(apart) == apart


def _with(measured: str) -> Finding:
    return replace(FIRST, measured=measured)
