"""What a rule decides is said with its figure, its reason and what is still to come."""

import pytest

from app.events import Decision
from app.plans.repetition import UntilInterval
from app.runs.messages import decision_text, forecast_text
from tests.app.run_events import IOPS, READ
from tests.messages import messages

MESSAGES = messages("app", "test_decision_messages")

SEVEN = (41_000.0, 41_400.0, 41_100.0, 41_900.0, 40_600.0, 41_300.0, 42_800.0)


def test_a_decision_names_the_figure_its_interval_and_what_is_wanted() -> None:
    decision = UntilInterval(0.015, 6, 30).decide(SEVEN, each=10.0)
    shown = decision_text(IOPS, READ, decision)
    assert shown == "I/O operations, read: 41.33k IOPS, ±1.9 % after 7 trials, wanted ±1.5 %"
    assert forecast_text(decision) == MESSAGES["at_least_2_more_trials"]
    assert decision_text(None, (), decision) == decision.reason


@pytest.mark.parametrize(
    ("decision", "text"),
    [
        (Decision(stop=True, settled=True, trials=7, reason="", more=0), ""),
        (
            Decision(stop=False, settled=False, trials=7, reason="", more=1, seconds=90.0),
            "about 1 more trial, 1 min 30 s",
        ),
        (Decision(stop=False, settled=False, trials=7, reason="", more=2), "about 2 more trials"),
        (
            Decision(stop=False, settled=False, trials=7, reason="", more=3, seconds=6.0, wanted=0.02, beyond=True),
            MESSAGES["beyond"],
        ),
        (Decision(stop=False, settled=False, trials=1, reason=""), "number of remaining trials unknown"),
    ],
)
def test_what_is_still_to_come_is_a_forecast(decision: Decision, text: str) -> None:
    assert forecast_text(decision) == text
