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


def metered(
    readings: tuple[float, ...], package: float | None = None, averaged: str = "1000", before: float | None = None
) -> StepOutcomeEvidence:
    """Return three trials whose meter was read every 5 s from 9 s before on; `before` are the package's watts then."""
    evidence = used({} if package is None else {"package-0": package})
    at = labels(zone="hwmon3", domain="server", averaged_ms=averaged)
    points = tuple((91.0 + 5 * number, value) for number, value in enumerate(readings))

    def changed(watch: HostWatch) -> HostWatch:
        series = {**watch.series, ("power", at): points}
        if package is not None and before is not None:
            key = "power", labels(zone=ZONES["package-0"], domain="package-0")
            series[key] = (*((90.5 + second, before) for second in range(10)), *watch.series[key])
        return replace(watch, series=series)

    return replace(
        evidence, trials=tuple(replace(one, watch=changed(one.watch)) for one in evidence.trials if one.watch)
    )


@pytest.mark.parametrize(
    ("evidence", "text"),
    [
        (metered((100, 100, 250, 250, 250), 14.0), MESSAGES["meter_beside"]),
        (metered((100, 100, 250, 250, 250)), MESSAGES["meter_alone"]),
        (metered((100, 100, 250, 0, 100)), MESSAGES["meter_zero"]),
        (metered((100, 100, 250, 65535, 100)), MESSAGES["meter_no_reading"]),
        (metered((8, 8, 8, 8), 14.0), MESSAGES["meter_below_packages"]),
        (metered((250,) * 4, averaged="300000"), MESSAGES["meter_averaged"]),
        (metered((250,) * 5, 120.0, before=20.0), MESSAGES["meter_constant"]),
    ],
)
def test_a_meter_of_the_server_is_beside_the_packages(evidence: StepOutcomeEvidence, text: str) -> None:
    assert found(evidence) == text


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
