"""Sentences on changes: the digits distinguish value, interval and margin, whatever their sizes."""

import math
import re

from hypothesis import given
from hypothesis import strategies as st

from app.comparison.estimates import Ratio
from app.comparison.sentences import change_text, claim_text
from app.comparison.verdicts import VerdictEvidence, decide
from suites.units import Unit
from suites.vocab import Better, Metric, MetricKind
from tests.app.run_events import IOPS
from tests.messages import messages

MESSAGES = messages("app", "test_sentences")

TIME = Metric("elapsed", "Elapsed", Unit.SECOND, Better.LOWER, MetricKind.TIME)
SHARES = re.compile(r"^([\d.]+) % (?:faster|slower) \(95 % CI ([\d.]+)–([\d.]+) %\)$")


@given(st.floats(0.02, 0.6), st.floats(0.001, 0.4), st.sampled_from([0.01, 0.05, 0.1]))
def test_a_value_is_within_its_interval_and_the_interval_off_the_margin(
    change: float, half: float, margin: float
) -> None:
    ratio = Ratio(1 + change, (1 + change) * math.exp(-half), (1 + change) * math.exp(half))
    found = SHARES.match(claim_text(ratio, IOPS, margin))
    if ratio.low is None or ratio.low <= 1 or found is None:  # no claim, or a factor
        return
    value, low, high = map(float, found.groups())
    assert low <= value <= high
    assert low < high
    assert (low == 100 * margin) == (round(ratio.low - 1 - margin, 8) == 0)


def test_an_edge_next_to_the_margin_does_not_look_like_it() -> None:
    assert claim_text(Ratio(1.2, 1.0502, 1.37), IOPS, 0.05) == MESSAGES["beyond_5"]
    assert change_text(Ratio(0.99, 0.9497, 1.0289), 0.05) == MESSAGES["across_5"]


def test_a_ratio_below_a_tenth_is_a_factor_and_half_is_a_share() -> None:
    assert claim_text(Ratio(0.002, 0.0019, 0.0021), IOPS) == MESSAGES["rate"]
    assert claim_text(Ratio(0.002, 0.0019, 0.0021), TIME) == MESSAGES["factor"]
    assert claim_text(Ratio(0.5, 0.48, 0.52), TIME) == MESSAGES["share"]


def test_a_claim_that_the_correction_takes_names_it() -> None:
    evidence = VerdictEvidence(IOPS, 0.05, (8, 8), tests=18, p=0.06, p_same=1.0)
    _, text, _ = decide(Ratio(1.08, 1.055, 1.105, 0.02, 0.02), evidence)
    assert text.startswith(MESSAGES["corrected"])
