"""Two steps agree where they measure the same, whatever else they were told."""

import pytest

from app.plans.plan import Step, make_step
from suites.parameters import Value


@pytest.mark.parametrize(
    ("suite", "values"),
    [
        ("fio", {"directory": "/srv/data"}),
        ("iperf3", {"port": 5202}),
        ("iperf3", {"address": "10.0.0.5"}),
        ("fio", {"rwmixread": 30}),  # of no effect on a pure random read
    ],
)
def test_what_does_not_change_the_measurement_does_not_change_the_fingerprint(
    suite: str, values: dict[str, Value]
) -> None:
    plain: dict[str, Value] = {"rw": "randread"} if suite == "fio" else {}
    assert make_step(suite, plain | values).fingerprint() == make_step(suite, plain).fingerprint()


@pytest.mark.parametrize(
    ("suite", "values"), [("fio", {"block_size": "16k"}), ("fio", {"rw": "write"}), ("iperf3", {"streams": 4})]
)
def test_what_changes_the_measurement_changes_the_fingerprint(suite: str, values: dict[str, Value]) -> None:
    assert make_step(suite, values).fingerprint() != make_step(suite, {}).fingerprint()


def test_a_parameter_an_older_plan_has_not_got_stands_at_its_default() -> None:
    whole = make_step("fio", {})
    older = {name: value for name, value in whole.values.items() if name != "rate_iops"}
    assert Step("old", "fio", older).fingerprint() == whole.fingerprint()


def test_a_suite_that_has_gone_is_told_apart_by_all_it_was_asked_for() -> None:
    assert Step("s", "gone", {"a": 1}).fingerprint() == Step("t", "gone", {"a": 1}).fingerprint()
    assert Step("s", "gone", {"a": 1}).fingerprint() != Step("s", "gone", {"a": 2}).fingerprint()
