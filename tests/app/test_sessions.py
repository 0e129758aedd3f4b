"""The noise of a host within and between sessions: variance components, detectable differences, designs, reading."""

import math
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest

from app.calibration.calibration import UNWATCHED
from app.calibration.report import design_text, noise_lines, noise_rows, noise_to_json
from app.calibration.sessions import MOST, SessionNoise, noise_of, session_noise
from app.events import Event, FactsRead, RunStarted, TrialStarted
from app.margins import DEFAULTS, Margins
from app.plans.plan import make_step
from app.store.store import Store
from tests.app import run_events
from tests.app.run_events import IOPS, P99, READ
from tests.app.test_calibration import calibration
from tests.app.test_power import of_power
from tests.messages import messages

MESSAGES = messages("app", "test_sessions")

WITHIN = SessionNoise(IOPS, READ, 1, 10, 0.02, None)
NESTED = SessionNoise(IOPS, READ, 6, 60, 0.02, 0.03)


# Detectable differences


def test_detectable_differences_are_those_of_the_variances() -> None:
    variance = (math.log1p(0.03**2) + math.log1p(0.02**2) / 6) / 5
    assert NESTED.detectable(5, 6) == pytest.approx(of_power(5, variance), rel=0.03)
    assert WITHIN.detectable(1, 6) == pytest.approx(of_power(6, math.log1p(0.02**2) / 6), rel=0.02)
    assert WITHIN.detectable(3, 6) is None


# Designs


def test_a_design_shows_the_wanted_difference_with_the_fewest_trials() -> None:
    design = NESTED.design(0.05)
    assert design is not None
    sessions, trials = design
    assert sessions >= 3
    assert (NESTED.detectable(sessions, trials) or 1.0) <= 0.05
    assert (NESTED.detectable(sessions - 1, trials) or 1.0) > 0.05
    assert all(
        (NESTED.detectable(k, n) or 1.0) > 0.05
        for k in range(3, MOST + 1)
        for n in range(6, MOST + 1)
        if k * n < sessions * trials
    )


def test_without_several_sessions_a_design_holds_within_one() -> None:
    # An effect of one standard deviation: 17 a group (Cohen 1988, table 2.4.1).
    assert WITHIN.design(math.expm1(0.02)) == (1, 17)
    assert design_text(WITHIN, 0.05) == "5 %: 6 trials"
    assert "not known" in noise_lines(calibration(), [WITHIN], DEFAULTS)[1]
    assert "rough" in noise_lines(calibration(), [replace(NESTED, sessions=2)], DEFAULTS)[1]
    assert not any("rough" in line for line in noise_lines(calibration(), [NESTED], DEFAULTS))


def test_a_difference_that_no_design_shows_says_so() -> None:
    loud = replace(NESTED, session=0.3)
    assert (loud.design(0.01), replace(WITHIN, trial=0.5).design(0.01)) == (None, None)
    assert design_text(loud, 0.01) == MESSAGES["1_more_than_30_sessions"]
    assert noise_to_json([loud], Margins(0.01))[0]["design"] is None


def test_a_row_and_its_json_use_the_margin_of_the_metric() -> None:
    tail = replace(NESTED, metric=P99, labels=())
    rows = noise_rows([NESTED, tail, WITHIN], DEFAULTS)
    assert [row[-1].partition(":")[0] for row in rows] == ["5 %", "10 %", "5 %"]
    assert [cell == "—" for cell in rows[2][4:9]] == [True, False, True, True, True]
    found = noise_to_json([NESTED, tail], Margins(kept={"iops": 0.03}))
    assert [one["margin"] for one in found] == [0.03, 0.10]
    assert found[0]["detectable"]["5x6"] == NESTED.detectable(5, 6)
    assert found[0]["design"] == dict(zip(("sessions", "trials"), NESTED.design(0.03) or (), strict=True))


# Components


def test_the_components_are_those_of_the_nested_analysis_of_variance() -> None:
    # By hand: MSW = 2, MSB = 100, so (100 - 2) / 2 = 49 between sessions; the mean is 16.
    found = noise_of(IOPS, READ, [[10.0, 12.0], [20.0, 22.0]])
    assert found is not None
    assert (found.sessions, found.n) == (2, 4)
    assert found.trial == pytest.approx(2**0.5 / 16)
    assert found.session == pytest.approx(7 / 16)


@pytest.mark.parametrize("sessions", [[], [[1.0]], [[1.0], [2.0]], [[1.0, 0.0], [2.0, 2.0]]])
def test_too_few_trials_or_a_zero_give_no_noise(sessions: list[list[float]]) -> None:
    assert noise_of(IOPS, READ, sessions) is None


# Reading


def session(run: str, day: int, values: tuple[float, ...], *, kernel: str = "6.1.0") -> Iterable[Event]:
    for event in run_events.run_events(run, values, started=f"2026-11-{day:02d}T10:00:00+00:00"):
        if isinstance(event, FactsRead):
            yield replace(event, facts=replace(event.facts, system=replace(event.facts.system, kernel=kernel)))
        else:
            yield event


def renamed(events: Iterable[Event], step: str) -> Iterable[Event]:
    for event in events:
        if isinstance(event, RunStarted):
            plan = event.plan
            yield replace(event, plan=replace(plan, steps=(replace(plan.steps[0], name=step),)))
        elif isinstance(event, TrialStarted):
            yield replace(event, trial=replace(event.trial, step=step))
        else:
            yield event


def of_other_step(events: Iterable[Event]) -> Iterable[Event]:
    for event in events:
        if isinstance(event, RunStarted):
            first = event.plan.steps[0]
            other = make_step(first.suite_id, {**first.values, "iodepth": 7}, name=first.name)
            yield replace(event, plan=replace(event.plan, steps=(other,)))
        else:
            yield event


def test_every_run_of_the_parameter_set_on_the_unchanged_host_is_a_session(tmp_path: Path) -> None:
    store = Store(tmp_path / "runs.sqlite3")
    kept = {
        "20261112-100000-abcd": session("20261112-100000-abcd", 12, (1000.0, 1010.0)),
        "20261113-100000-abcd": session("20261113-100000-abcd", 13, (1100.0, 1110.0)),
        "20261114-100000-abcd": session("20261114-100000-abcd", 14, (5.0, 6.0), kernel="7.0"),
        "20261115-100000-abcd": of_other_step(session("20261115-100000-abcd", 15, (7.0, 8.0))),
        "20261116-100000-abcd": renamed(session("20261116-100000-abcd", 16, (9.0, 8.0)), f"disk, {UNWATCHED}"),
    }
    for run, events in kept.items():
        with store.recorder(run) as recorder:
            for event in events:
                recorder.record(event)
    made = replace(calibration(), fingerprint={"kernel": "6.1.0"})
    found = {noise.metric.name: noise for noise in session_noise(store, made)}
    assert set(found) == {"iops", "latency_p99"}
    assert (found["iops"].sessions, found["iops"].n) == (2, 4)
    expected = noise_of(IOPS, READ, [[1000.0, 1010.0], [1100.0, 1110.0]])
    assert found["iops"] == expected
    old = replace(made, made="2027-06-01T00:00:00+00:00")
    assert session_noise(store, old) == ()
    store.delete("20261112-100000-abcd")
    assert session_noise(store, made) == ()
    assert "deleted" in noise_lines(made, (), DEFAULTS)[0]
    store.close()
