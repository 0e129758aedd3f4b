"""A calibration counts only while the host is what it was, and is stored, also one of an older version."""

from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest

from app.calibration.calibration import applying, changed, fingerprint_of
from app.calibration.report import calibration_row, instrument_rows
from app.formats import FormatError, calibration_from_json, calibration_to_json
from app.records import Calibration, Instrument, MetricNoise
from app.store.store import Store
from app.verdict.steps import step_verdict
from suites.evidence import HostNoise
from suites.verdict import Trust
from tests.app import run_events, trial_evidence
from tests.messages import messages

MESSAGES = messages("app", "test_calibration")

RUN = "20261112-100000-abcd"


def calibration(host: str = "web-1", *, suite: str = "fio", cov: float = 0.01, run: str = RUN) -> Calibration:
    return Calibration(
        host,
        "2026-11-12T10:00:00+00:00",
        suite,
        run,
        fingerprint_of(run_events.facts(host), "fio"),
        Instrument("tsc", 1e-9, 2e-8, 5e-5, 1e-3, 0.002, 0.004, 0.003),
        (MetricNoise("iops", "IOPS", (("operation", "read"),), 16, cov),),
    )


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
    disturbed = calibration(cov=0.3)
    assert applying([disturbed, calibration()], "web-1", "fio", facts, moment) is None
    assert calibration_row(replace(disturbed, made=datetime.now(UTC).isoformat()))[-1] == "disturbed"


def test_a_document_says_all_of_it_and_a_damaged_one_is_refused() -> None:
    one = calibration()
    assert calibration_from_json(calibration_to_json(one)) == one
    with pytest.raises(FormatError):
        calibration_from_json({"format": "benchwright-calibration/9"})
    with pytest.raises(FormatError):
        calibration_from_json(calibration_to_json(one) | {"noise": [{}]})


def test_one_of_an_older_version_is_read_without_its_margin() -> None:
    one = calibration()
    alarms = {"trials": 8, "splits": 4000, "rate": 0.0, "rate_without": 0.05, "rate_apart": 0.0, "quiet_margin": 0.002}
    noise = {"metric": "iops", "title": "IOPS", "labels": {"operation": "read"}, "n": 16, "cov": 0.01}
    old = calibration_to_json(one) | {
        "format": "benchwright-calibration/1",
        "noise": [{**noise, "detectable": {"6": 0.02}}],
        "false_alarms": {**alarms, "shown_margin": 0.024, "margin": 0.03},
        "margin": 0.03,
    }
    del old["parameters"]
    assert calibration_from_json(old) == one


def test_what_is_not_known_is_said() -> None:
    rows = dict(instrument_rows(Instrument(absent={"clock": "The host has no compiler."})))
    assert rows["Clock resolution"] == "unknown"
    assert rows["Clock and timers"] == MESSAGES["the_host_has_no_compiler"]


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
