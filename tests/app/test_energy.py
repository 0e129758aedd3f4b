"""Energy of trials from staged RAPL domains: joules, work, and domains that cannot be believed."""

from dataclasses import replace

import pytest

from app.checks.energy import ENERGY
from suites.evidence import HostWatch, StepOutcomeEvidence
from suites.vocab import Labels, labels
from tests.app.trial_evidence import READ, repeated, trial
from tests.messages import messages

MESSAGES = messages("app", "test_energy")

SECONDS = 10
ZONES = {
    "package-0": "intel-rapl:0",
    "core": "intel-rapl:0:0",
    "uncore": "intel-rapl:0:1",
    "dram": "intel-rapl:0:2",
    "psys": "intel-rapl:1",
    "package-1": "intel-rapl:2",
}


def used(watts: dict[str, float], *, gap: bool = False) -> StepOutcomeEvidence:
    """Return three trials of 10 s with these watts by domain; with `gap`, half of the readings of dram are missing."""
    series: dict[tuple[str, Labels], tuple[tuple[float, float], ...]] = {
        ("cpu_idle", ()): tuple((100.0 + second, 50.0) for second in range(1, SECONDS + 1))
    }
    for name, value in watts.items():
        points = tuple((100.5 + second, value) for second in range(SECONDS + 1))
        kept = points[:5] if gap and name == "dram" else points
        series["power", labels(zone=ZONES[name], domain=name)] = kept
    one = trial("fio", {"iops": 10_000.0}, at=READ, rw="randread")
    one = replace(one, watch=HostWatch("web-1", 100.0, 100.0 + SECONDS, series))
    return repeated(one, (10_000.0,) * 3)


def found(evidence: StepOutcomeEvidence) -> str:
    outcome = ENERGY.outcome(evidence)
    return getattr(outcome, "measured", "")


@pytest.mark.parametrize(
    ("watts", "text"),
    [
        ({"package-0": 14.0, "core": 9.0, "uncore": 0.0, "dram": 3.0}, MESSAGES["server"]),
        ({"package-0": 14.0, "package-1": 16.0}, MESSAGES["two_sockets"]),
        ({"package-0": 14.0, "psys": 30.0}, MESSAGES["platform"]),
        ({"package-0": 14.0, "core": 30.0, "dram": 3.0}, MESSAGES["core_above_package"]),
        ({"package-0": 14.0, "core": 9.0, "uncore": 9.0}, MESSAGES["parts_above_package"]),
        ({"package-0": 14.0, "psys": 5.0}, MESSAGES["psys_below_packages"]),
        ({"package-0": 0.0}, MESSAGES["stuck"]),
        ({"package-0": 5000.0}, MESSAGES["absurd"]),
        ({"package-0": 14.0, "psys": 9000.0}, MESSAGES["absurd_psys"]),
        ({"package-0": 14.0, "package-1": 5000.0}, MESSAGES["no_part_of_the_packages"]),
    ],
)
def test_domains_are_added_up_where_they_agree(watts: dict[str, float], text: str) -> None:
    assert found(used(watts)) == text


def test_a_domain_with_gaps_is_left_out() -> None:
    assert found(used({"package-0": 14.0, "dram": 3.0}, gap=True)) == MESSAGES["gap"]


def test_without_counters_nothing_is_said() -> None:
    assert not found(used({}))


def test_a_duet_shares_its_energy() -> None:
    whole = used({"package-0": 14.0})
    duet = replace(whole, trials=tuple(replace(one, uncounted=not place) for place, one in enumerate(whole.trials)))
    assert found(whole)
    assert not found(duet)
