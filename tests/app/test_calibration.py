"""What a calibration says follows from its trials, and counts only while the host is what it was."""

import random
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.calibration.calibration import (
    DEFAULT_MARGIN,
    LEAST_MARGIN,
    applying,
    changed,
    false_alarms,
    fingerprint_of,
    least_detectable,
    log_spread,
    margin_origin,
)
from app.calibration.report import alarm_lines, instrument_rows
from app.comparison.compare import compare
from app.comparison.comparison import comparison_to_json
from app.comparison.verdicts import ComparisonVerdict
from app.formats import FormatError, calibration_from_json, calibration_to_json
from app.records import Calibration, FalseAlarms, Instrument, MetricNoise, RunRecord
from app.store import Store
from app.verdict.steps import step_verdict
from suites.errors import BenchwrightError
from suites.evidence import HostNoise
from suites.verdict import Trust
from tests.app import run_events, trial_evidence
from tests.app.other_tools import judge
from tests.app.run_events import run_record
from tests.messages import messages

MESSAGES = messages("app", "test_calibration")

ALARMS = FalseAlarms(8, 4000, 0.0, 0.05, 0.0, 0.002, 0.024, 0.03)


def calibration(host: str = "web-1", *, margin: float = 0.03, suite: str = "fio", cov: float = 0.01) -> Calibration:
    return Calibration(
        host,
        "2026-11-12T10:00:00+00:00",
        suite,
        "20261112-100000-abcd",
        fingerprint_of(run_events.facts(host), "fio"),
        Instrument("tsc", 1e-9, 2e-8, 5e-5, 1e-3, 0.002, 0.004, 0.003),
        (MetricNoise("iops", "IOPS", (("operation", "read"),), 16, cov, {6: 0.02}),),
        replace(ALARMS, margin=margin),
    )


def lots(spread: float, count: int, seed: int = 3) -> list[float]:
    drawn = random.Random(seed)
    return [1000 * drawn.lognormvariate(0, spread) for _ in range(count)]


# The A/A test


def test_quiet_trials_raise_no_alarm_and_the_margin_is_the_least_there_is() -> None:
    found = false_alarms(lots(0.001, 16))
    assert (found.trials, found.rate, found.rate_apart) == (8, 0.0, 0.0)
    assert 0.02 < found.rate_without < 0.08  # a test at 5 % errs in 5 % where nothing differs
    assert found.margin == LEAST_MARGIN


def test_the_margin_grows_with_the_noise() -> None:
    margins = [false_alarms(lots(spread, 16)).margin for spread in (0.01, 0.03, 0.1)]
    assert margins == sorted(set(margins))
    assert margins[2] > DEFAULT_MARGIN


def test_a_drift_shows_between_stretches_of_time_and_widens_the_margin() -> None:
    drifting = [1000 * (1 + 0.02 * place) for place in range(16)]
    found = false_alarms(drifting)
    mixed = list(drifting)
    random.Random(1).shuffle(mixed)
    assert found.rate_apart > 0
    assert found.quiet_margin > false_alarms(mixed).quiet_margin


def test_trials_that_all_agree_give_no_alarm() -> None:
    found = false_alarms([5.0] * 12)
    assert (found.rate, found.rate_without, found.margin) == (0.0, 0.0, LEAST_MARGIN)


@pytest.mark.parametrize("values", [[1.0] * 11, [1.0] * 11 + [0.0]])
def test_what_cannot_be_split_is_refused(values: list[float]) -> None:
    with pytest.raises(BenchwrightError):
        false_alarms(values)


@given(st.lists(st.floats(1.0, 1e6), min_size=12, max_size=20))
def test_a_margin_is_a_share_and_holds_for_both_splits(values: list[float]) -> None:
    found = false_alarms(values, splits=200)
    assert LEAST_MARGIN <= found.margin <= 1
    assert 0 <= found.rate <= found.rate_without <= 1
    assert found.margin >= min(1.0, found.quiet_margin)


def test_the_least_difference_is_the_one_of_the_power_of_a_test() -> None:
    # G*Power 3.1, two means, two-sided, 10 a group, error 0.05, power 0.8: an effect of 1.325 standard deviations.
    assert least_detectable(0.02, 10) == pytest.approx(0.02 * 1.325, rel=0.03)
    assert least_detectable(0.02, 20) < least_detectable(0.02, 6)
    assert log_spread([1.0, 1.0, 1.0]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("spread", [0.01, 0.03])
def test_later_comparisons_by_the_own_margin_claim_nothing_where_nothing_differs(spread: float) -> None:
    cases, shown = 150, []
    for case in range(cases):
        margin = false_alarms(lots(spread, 16, seed=case), splits=500).margin
        one, other = lots(spread, 8, seed=1000 + case), lots(spread, 8, seed=2000 + case)
        shown.append(judge(run_events.IOPS, one, other, margin).verdict)
    assert sum(verdict in {ComparisonVerdict.BETTER, ComparisonVerdict.WORSE} for verdict in shown) <= 0.05 * cases
    assert sum(verdict is ComparisonVerdict.SAME for verdict in shown) > 0.5 * cases


# Whether it counts


def test_a_calibration_counts_until_the_host_changes_or_it_grows_old() -> None:
    one, facts = calibration(), run_events.facts("web-1")
    moment = "2026-11-20T00:00:00+00:00"
    newer_kernel = replace(facts, system=replace(facts.system, kernel="7.0"))
    assert applying([one], "web-1", "fio", facts, moment) is one
    assert applying([one], "web-1", "dd", facts, moment) is None
    assert applying([one], "web-2", "fio", facts, moment) is None
    assert applying([one], "web-1", "fio", None, moment) is None
    assert applying([one], "web-1", "fio", facts, "2027-03-01T00:00:00+00:00") is None
    assert applying([replace(one, fingerprint={"kernel": "6.1"})], "web-1", "fio", newer_kernel, moment) is None
    assert "7.0 now" in changed(replace(one, fingerprint={"kernel": "6.1"}), newer_kernel)


def test_one_of_a_disturbed_host_does_not_count_nor_lets_an_older_one() -> None:
    facts, moment = run_events.facts("web-1"), "2026-11-20T00:00:00+00:00"
    disturbed = calibration(margin=0.6)
    assert applying([disturbed, calibration()], "web-1", "fio", facts, moment) is None
    assert "was disturbed" in alarm_lines(disturbed)[0]


def test_a_document_says_all_of_it_and_a_damaged_one_is_refused() -> None:
    one = calibration()
    assert calibration_from_json(calibration_to_json(one)) == one
    with pytest.raises(FormatError):
        calibration_from_json({"format": "benchwright-calibration/9"})
    with pytest.raises(FormatError):
        calibration_from_json(calibration_to_json(one) | {"noise": [{}]})


def test_what_is_not_known_is_said() -> None:
    rows = dict(instrument_rows(Instrument(absent={"clock": "The host has no compiler."})))
    assert rows["Clock resolution"] == "unknown"
    assert rows["Clock and timers"] == MESSAGES["the_host_has_no_compiler"]


# Where it is used


def with_calibration(record: RunRecord, **given: float) -> RunRecord:
    suite = record.plan.steps[0].suite_id
    return replace(record, calibrations=(calibration(record.plan.hosts[0], suite=suite, **given),))


BASE = (1000.0, 1010.0, 990.0, 1005.0, 995.0, 1002.0, 998.0)


def test_the_margin_of_a_calibrated_host_is_its_own_unless_the_user_says_otherwise() -> None:
    sides = [
        with_calibration(run_record("a", BASE)),
        with_calibration(run_record("b", tuple(1.04 * value for value in BASE))),
    ]
    own, asked = compare(sides), compare(sides, 0.05)
    against = own.rows[0].against[0]
    assert against.verdict is ComparisonVerdict.BETTER
    assert MESSAGES["margin_3_this_hosts_own_of"] in against.text
    assert own.origins == (MESSAGES["3_this_hosts_own_of_12_nov"],)
    assert (comparison_to_json(own)[0]["margin"], comparison_to_json(own)[0]["margin_of"]) == (
        0.03,
        MESSAGES["this_hosts_own_of_12_nov"],
    )
    assert asked.rows[0].against[0].verdict is not ComparisonVerdict.BETTER
    assert (comparison_to_json(asked)[0]["margin"], comparison_to_json(asked)[0]["margin_of"]) == (0.05, None)


def test_of_two_hosts_both_have_to_be_calibrated_and_the_wider_margin_counts() -> None:
    one, other = run_record("a", BASE), run_record("b", BASE)
    assert compare([with_calibration(one), other]).origins == ()
    wide = compare([with_calibration(one), with_calibration(other, margin=0.08)])
    assert wide.rows[0].against[0].margin == 0.08
    assert margin_origin([calibration("a"), calibration("b")]) == MESSAGES["these_hosts_own_of_12_nov"]


def test_a_spread_is_held_against_what_the_host_shows_by_itself() -> None:
    values = (100.0, 106.0, 95.0, 103.0, 108.0, 93.0)
    step = trial_evidence.repeated(trial_evidence.trial("sysbench-cpu", {"events_per_second": 1.0}), values)
    reported = {one.finding.id for one in step_verdict(replace(step, host_noise=HostNoise(0.01, "12 Nov"))).found}
    assert "trials-disagree" in reported
    calm = step_verdict(replace(step, host_noise=HostNoise(0.09, "12 Nov")))
    assert "trials-disagree" not in {one.finding.id for one in calm.found}
    assert calm.verdict.trust is not Trust.INVALID


def test_the_store_keeps_calibrations_and_gives_a_run_its_own(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    with store.recorder("20261120-141530-k3f9") as recorder:
        for event in run_events.run_events("20261120-141530-k3f9"):
            recorder.record(event)
    assert store.load("last").calibrations == ()
    suite = store.load("last").plan.steps[0].suite_id
    store.keep_calibration(calibration(suite=suite))
    store.keep_calibration(calibration("web-9", suite=suite))
    assert store.load("last").calibrations == (calibration(suite=suite),)
    assert [one.host for one in store.calibrations()] == ["web-9", "web-1"]
    assert (store.forget_calibrations("web-1"), store.forget_calibrations("web-1")) == (1, 0)
    assert store.load("last").calibrations == ()
    store.close()
