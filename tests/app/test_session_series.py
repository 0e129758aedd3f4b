"""When the sessions of a series are due, and what each of them runs."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.events import PlannedSession, State
from app.plans.consent import needs_person
from app.plans.plan import DAY, Order, Plan, PlanError, Repetition, make_step, with_seed
from app.plans.plan_file import format_plan, parse_plan
from app.plans.totals import StepPreview, totals, totals_text
from app.plans.tuning import Tuning
from app.plans.validation import LEAST_EVERY, validate
from app.session_series import MOST_FAILURES, SessionRun, SessionSeries, late_by
from app.session_text import crontab_line, held_back, runs_unattended, session_text, status_text, systemd_units
from suites.base import Estimate
from tests.app import run_events
from tests.messages import messages

MESSAGES = messages("app", "test_session_series")
START = datetime(2026, 10, 24, 6, 15, tzinfo=UTC)
HOUR = timedelta(hours=1)


def plan(sessions: int = 5, every: float = DAY) -> Plan:
    return replace(run_events.plan(), repetition=Repetition(sessions=sessions, every=every))


def run(number: int, started: datetime, *, hours: float = 1, state: State = State.DONE) -> SessionRun:
    ended = None if state is State.RUNNING else (started + hours * HOUR).isoformat()
    return SessionRun(f"run-{started:%d%H%M}", number, state, started.isoformat(), ended, started.isoformat())


def series(*runs: SessionRun, sessions: int = 5, every: float = DAY) -> SessionSeries:
    return SessionSeries("s7kqm2", plan(sessions, every), START.isoformat(), None, runs)


def test_sessions_are_due_at_the_same_time_of_day_in_utc_over_a_change_of_summer_time() -> None:
    assert series().due == START
    assert series(run(1, START)).due == START + 24 * HOUR
    assert series(run(1, START), run(2, START + 26 * HOUR)).due == START + 48 * HOUR  # 2 h late


def test_missed_sessions_are_not_made_up_for() -> None:
    """Asleep for two and a half days: session 2 runs then, session 3 not at once and not half a day later either."""
    late = series(run(1, START), run(2, START + 60 * HOUR))
    assert late.due == START + 96 * HOUR
    assert late.next_number == 3


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(0.001, 3)), min_size=1, max_size=8))
def test_two_sessions_are_never_closer_than_half_the_interval(delays: list[tuple[float, float]]) -> None:
    """Whatever the delays and durations of the sessions are, both in intervals."""
    ran: list[SessionRun] = []
    for number, (delay, duration) in enumerate(delays, 1):
        due = series(*ran, sessions=20).due
        assert due is not None
        assert (due - START) % timedelta(seconds=DAY) == timedelta(0)
        if ran:
            assert due - datetime.fromisoformat(str(ran[-1].ended)) >= timedelta(seconds=DAY / 2 - 1e-3)
        ran.append(run(number, due + timedelta(days=delay), hours=24 * duration))


def test_a_failed_session_is_repeated_and_three_in_a_row_need_a_person() -> None:
    failed = series(run(1, START), run(2, START + 24 * HOUR, state=State.FAILED))
    assert (failed.done, failed.next_number, failed.failures) == (1, 2, 1)
    assert held_back(failed) == ""
    rest = [run(2, START + (1 + day) * 24 * HOUR, state=State.PARTIAL) for day in range(MOST_FAILURES)]
    paused = series(run(1, START), *rest)
    assert paused.paused
    assert held_back(paused) == MESSAGES["paused_after_3"]
    assert not runs_unattended(paused, START + 400 * HOUR)
    assert not series(*paused.runs, run(2, START + 200 * HOUR)).paused


def test_a_series_is_over_when_complete_and_stays_over_when_a_run_is_deleted() -> None:
    both = (run(1, START), run(2, START + 24 * HOUR))
    assert series(*both, sessions=2).over
    assert series(*both, sessions=2).due is None
    assert series(both[1], sessions=2).over  # the first was deleted
    assert replace(series(both[0], sessions=2), ended=START.isoformat()).over


def test_nothing_is_due_while_a_session_is_under_way() -> None:
    busy = series(run(1, START, state=State.RUNNING))
    assert busy.due is None
    assert not runs_unattended(busy, START + 100 * HOUR)
    detached = series(replace(busy.runs[0], detached=True))
    assert runs_unattended(detached, START)  # it is attached


def test_each_session_has_a_seed_of_its_own_and_is_the_same_plan() -> None:
    drawn = replace(plan(), order=Order.RANDOMISED)
    first = SessionSeries("s", drawn, START.isoformat())
    second = replace(first, runs=(run(1, START),))
    plans = [with_seed(first.session_plan()), with_seed(second.session_plan())]
    assert plans[0].seed != plans[1].seed
    assert plans[0].hash() != plans[1].hash()
    assert plans[0].session_key() == plans[1].session_key()
    assert plans[0].repetition == Repetition()
    chosen = replace(drawn, seed=2**63 - 1)
    seeds = [replace(one, plan=chosen).session_plan().seed for one in (first, second)]
    assert seeds == [2**63 - 1, 0]


def test_the_session_key_tells_plans_apart() -> None:
    one = run_events.plan()
    old = replace(one.steps[0], values={"rw": "randread", "block_size": 4096, "directory": "/var/tmp"})
    whole = replace(one.steps[0], values=one.steps[0].whole_values())
    assert replace(one, steps=(old,)).session_key() == replace(one, steps=(whole,)).session_key()
    others = (
        replace(one, hosts=("web-2",)),
        replace(one, repetition=Repetition(9)),
        replace(one, order=Order.RANDOMISED),
        replace(one, steps=(replace(old, values={**old.values, "directory": "/mnt"}),)),
    )
    assert len({one.session_key(), *(other.session_key() for other in others)}) == 5


def test_sessions_raise_the_format_of_a_plan_and_leave_its_hash() -> None:
    one = plan(1)
    assert (one.format, plan(5).format, plan(2, 3600.0).format) == (
        "benchwright-plan/1", "benchwright-plan/4", "benchwright-plan/4",
    )  # fmt: skip
    assert one.hash() == plan(5).hash() == plan(5, 3600.0).hash()


def test_a_plan_file_has_the_sessions_only_if_there_are_several() -> None:
    step = make_step("fio", {})
    single = Plan("p", ("local",), (step,))
    assert "every" not in format_plan(single)
    several = replace(single, repetition=Repetition(sessions=5, every=2 * DAY))
    assert MESSAGES["every_in_a_file"] in format_plan(several)
    assert parse_plan(format_plan(several)) == several
    written = format_plan(several).replace('"2 d"', '"1d"')
    assert parse_plan(written).repetition.every == DAY


@pytest.mark.parametrize(("sessions", "every"), [(0, DAY), (5, LEAST_EVERY - 1), (1001, DAY), (5, 400 * DAY)])
def test_sessions_out_of_bounds_are_refused(sessions: int, every: float) -> None:
    with pytest.raises(PlanError, match=r"repetition\.(sessions|every)"):
        validate(plan(sessions, every))


def test_the_totals_say_when_the_last_session_ends() -> None:
    made = plan(3, 3600.0)
    sums = totals(made, [StepPreview("web-1", "random read", (), Estimate(100.0, 0, 0, 0), "")])
    assert sums.end(START) == START + 2 * HOUR + timedelta(seconds=600)
    assert MESSAGES["until"] in totals_text(sums)
    long = replace(sums, duration=3000.0)  # more than half the interval: the next one is skipped
    assert long.end(START) == START + 4 * HOUR + timedelta(seconds=3000)


def test_plans_that_destroy_or_act_as_root_do_not_repeat_by_themselves() -> None:
    assert needs_person(plan()) == ""
    write = make_step("fio", {"rw": "randwrite", "device": "/dev/sdb"}, name="fill")
    destroys = replace(plan(), steps=(write,))
    assert needs_person(destroys) == "fill overwrites a device"
    tuned = replace(plan(), tuning=Tuning(drop_caches=True))
    assert needs_person(tuned) == MESSAGES["settings_as_root"]
    own = replace(plan(), steps=(make_step("command", {"command": "echo 1"}),))
    assert needs_person(own) == ""
    by_hand = replace(series(), plan=destroys)
    assert not runs_unattended(by_hand, START + HOUR)
    assert runs_unattended(series(), START + HOUR)
    assert status_text(by_hand, START) == MESSAGES["by_hand"]


def test_the_lateness_of_a_session_is_shown_from_a_minute() -> None:
    session = PlannedSession("s7kqm2", 2, 5, START.isoformat())
    assert late_by(session, (START - HOUR).isoformat()) == 0
    assert session_text(session, (START + HOUR / 120).isoformat()) == MESSAGES["second_of_5"]
    assert session_text(session, (START + HOUR).isoformat()).endswith(", 1 h late")
    assert session_text(replace(session, total=0), START.isoformat()) == MESSAGES["second"]


def test_the_texts_of_a_series_name_what_comes_next() -> None:
    assert status_text(series(), START - 5 * HOUR) == "due in 5 h"
    assert status_text(series(), START + 2 * HOUR) == "due, 2 h late"
    assert status_text(series(run(1, START), sessions=1), START) == "complete"
    assert status_text(replace(series(), ended="2026"), START) == "ended"
    busy = series(run(1, START, state=State.RUNNING))
    assert status_text(busy, START) == f"session 1 is under way: {busy.runs[0].run}"


def test_entries_of_cron_and_systemd_escape_their_words() -> None:
    words = ["/opt/50% off/benchwright", "--store", '/a "b"$c', "sessions", "run-due", "--quiet"]
    line = crontab_line(words)
    assert line.startswith("*/10 * * * * '/opt/50\\% off/benchwright' --store ")
    assert 'ExecStart="/opt/50%% off/benchwright" "--store" "/a \\"b\\"$$c" "sessions"' in systemd_units(words)
