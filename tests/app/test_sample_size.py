"""Sample sizes: components and times of stored runs, designs and their cost, sentences, and the command."""

import json
import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner, Result
from hypothesis import given
from hypothesis import strategies as st

from app.calibration.report import noise_lines
from app.calibration.sessions import SessionNoise
from app.cli.main import benchwright
from app.comparison.comparison import CompareError
from app.comparison.power import ONE_TEST, NestedVariance, PlannedTest, SampleDesign, least_detectable
from app.comparison.selectors import only_step
from app.comparison.variance import HOST, RUN, TRIAL, components_of
from app.comparison.verdicts import Level
from app.events import Event, RunStarted, TrialStarted
from app.margins import DEFAULTS, Margins
from app.plans.plan import Order
from app.plans.plan_file import read_plan
from app.ranking.candidates import Price
from app.records import RunRecord
from app.sample_size.designs import (
    CostedDesign,
    DesignLimits,
    Effort,
    NoiseEstimate,
    SampleSizeRequest,
    costed,
    fewest_with_unlimited,
    proposed,
    proposed_cautious,
    sufficient_designs,
)
from app.sample_size.pilot import Pilot, PilotQuery, pilot_of
from app.sample_size.report import (
    SampleSizeError,
    component_rows,
    design_rows,
    sample_size,
    sample_size_chart,
    sample_size_given,
    sample_size_lines,
)
from app.store.store import Store
from suites.verdict import Limiter, Trust, Verdict
from tests.app.run_events import IOPS, READ, STEP, run_events, run_record
from tests.app.test_calibration import calibration
from tests.messages import messages

MESSAGES = messages("app", "test_sample_size")

KNOWN = NestedVariance(0.02**2, 0.03**2, 0.04**2)
LOUD = NestedVariance(0.04**2, 0.06**2, 0.08**2)
NOISE = NoiseEstimate(KNOWN, LOUD)
PAIRS = PlannedTest(paired=True)
EFFORT = Effort(60.0, 120.0, price=Price(0.5, "USD"))
REQUEST = SampleSizeRequest(0.10, 0.05, EFFORT)


def of_pilot(hosts: int, sessions: int, trials: int = 6, seed: int = 1) -> list[RunRecord]:
    """Return the runs of a pilot: 4 % between hosts, 3 % between sessions, 2 % between trials."""
    rng = np.random.default_rng(seed)
    found = []
    for host in range(hosts):
        level = 0.04 * rng.normal()
        for session in range(sessions):
            values = 1000 * np.exp(level + 0.03 * rng.normal() + 0.02 * rng.normal(size=trials))
            found.append(run_record(f"{host}-{session}", list(map(float, values)), host=f"web-{host}"))
    return found


def pilot(hosts: int = 3, sessions: int = 3, trials: int = 6) -> Pilot:
    return replace(pilot_of([of_pilot(hosts, sessions, trials)], PilotQuery(), Margins()), effort=EFFORT)


# Components


def test_components_by_hand_on_logarithms() -> None:
    # Mean square of trials 0.02, of sessions 1 with 2 trials each: (1 - 0.02) / 2 = 0.49.
    sessions = [[math.exp(value) for value in one] for one in ((1.0, 1.2), (2.0, 2.2))]
    trial, run, host = components_of([[sessions]])
    assert [trial.variance, run.variance] == pytest.approx([0.02, 0.49])
    assert [(one.freedom, one.n) for one in (trial, run)] == [(2, 4), (1, 2)]
    assert (host.variance, host.n) == (None, 1)


def test_the_upper_limit_of_trials_is_that_of_the_chi_square_distribution() -> None:
    rng = np.random.default_rng(3)
    values = [list(map(float, np.exp(0.02 * rng.normal(size=6)))) for _ in range(4)]
    trial = components_of([[values]])[0]
    assert trial.variance is not None
    # Chi-square with 20 degrees of freedom: its quantiles at 0.2, 0.025 and 0.975 are 14.578, 9.591 and 34.170.
    ends = [trial.variance * 20 / quantile for quantile in (14.578, 34.170, 9.591)]
    assert [trial.upper, trial.low, trial.high] == pytest.approx(ends, rel=0.02)


def test_sides_are_pooled_whatever_their_means() -> None:
    side = [[[1.0, 1.1, 1.2], [1.3, 1.2, 1.4]]]
    alone, twice = components_of([side]), components_of([side, [[[9 * value for value in run] for run in side[0]]]])
    assert [one.variance for one in twice] == pytest.approx([one.variance for one in alone])
    assert [one.freedom for one in twice] == [2 * one.freedom for one in alone]
    assert [one.n for one in twice] == [2 * one.n for one in alone]


def test_few_units_leave_a_wide_interval() -> None:
    found = pilot(3, 3)
    host = found.component(HOST)
    assert host.low is not None
    assert host.variance is not None
    assert host.upper is not None
    assert host.low < host.variance < host.upper
    assert found.noise.upper.host == host.upper


# Reading


def test_a_level_that_was_not_repeated_is_not_known() -> None:
    one = pilot(1, 1)
    assert (one.noise.found.session, one.noise.found.host) == (None, None)
    assert pilot(1, 3).noise.found.host is None
    together = pilot(3, 1)
    assert together.hosts_include_sessions
    assert together.noise.found.session is None
    assert together.noise.found.host is not None


def test_runs_with_other_parameters_have_a_mean_of_their_own() -> None:
    other = replace(STEP, values={**STEP.values, "block_size": 8192})
    values = (1000.0, 1010.0, 990.0, 1005.0)
    faster = [run_record(f"b{day}", [9 * value for value in values], step=other) for day in range(2)]
    whole = [run_record(f"a{day}", values) for day in range(2)] + faster
    assert pilot_of([whole], PilotQuery(), Margins()).component(RUN).variance == pytest.approx(0.0, abs=1e-4)


def test_invalid_results_do_not_count_and_are_named() -> None:
    good, bad = run_record("a", (1000.0, 1010.0, 1020.0)), run_record("b", (10.0, 5000.0, 1.0))
    invalid = Verdict(Trust.INVALID, Limiter.TOOL, "Invalid.", (), STEP.name, "web-1")
    bad = replace(bad, verdicts=(invalid,))
    found = pilot_of([[good], [bad]], PilotQuery(), Margins())
    assert found.component(TRIAL).n == 3
    assert [text.partition(":")[0] for text in found.excluded] == ["b"]
    with pytest.raises(CompareError):
        pilot_of([[bad]], PilotQuery(), Margins())


@pytest.mark.parametrize(
    "query", [PilotQuery(step="none"), PilotQuery(metric="none"), PilotQuery(labels=(("operation", "write"),))]
)
def test_a_step_metric_or_label_that_is_not_there_is_refused(query: PilotQuery) -> None:
    with pytest.raises(CompareError) as refused:
        pilot_of([of_pilot(1, 1)], query, Margins())
    assert refused.value.remedy or "operation" in str(refused.value)


@pytest.mark.parametrize("values", [(1000.0,), (1000.0, 0.0)])
def test_single_trials_and_zeros_give_no_pilot(values: tuple[float, ...]) -> None:
    with pytest.raises(CompareError):
        pilot_of([[run_record("a", values)]], PilotQuery(), Margins())


# Designs


def brute(noise: NestedVariance, wanted: float, limits: DesignLimits, test: PlannedTest) -> set[SampleDesign]:
    """Return the host-level designs with the fewest trials, by trying all."""
    found = set()
    for hosts in range(3, limits.hosts + 1):
        for sessions in range(1, limits.sessions + 1):
            designs = [SampleDesign(hosts, sessions, trials) for trials in range(6, limits.trials + 1)]
            enough = [one for one in designs if (least_detectable(noise, one, test) or 1.0) <= wanted]
            found |= set(enough[:1])
    return found


@pytest.mark.parametrize("test", [ONE_TEST, PAIRS])
def test_sufficient_designs_are_those_of_a_search_of_all(test: PlannedTest) -> None:
    limits = DesignLimits(8, 5, 12)
    found = sufficient_designs(KNOWN, 0.08, limits, test)
    assert set(found) == brute(KNOWN, 0.08, limits, test)
    assert len(found) > 2


def test_no_efficient_design_is_beaten_by_another() -> None:
    request = replace(REQUEST, test=PAIRS, wanted=0.05)
    found = proposed(NOISE, request)
    cost = [(one.host_hours, one.days, one.design.hosts) for one in found]
    assert len(found) > 3
    assert cost == sorted(cost)
    whole = [costed(NOISE, design, request) for design in sufficient_designs(KNOWN, 0.05, REQUEST.limits, PAIRS)]
    every = {(one.host_hours, one.days, one.design.hosts) for one in whole if one is not None}
    unbeaten = {
        one
        for one in every
        if not any(all(a <= b for a, b in zip(other, one, strict=True)) for other in every if other != one)
    }
    assert set(cost) == unbeaten < every


def only(design: SampleDesign, request: SampleSizeRequest = REQUEST) -> CostedDesign:
    found = costed(NOISE, design, request)
    assert found is not None
    return found


def test_the_cost_by_hand() -> None:
    # A session is 120 s + 6 x 60 s = 8 min; 2 sides x 3 hosts x 2 sessions are 96 min.
    found = only(SampleDesign(3, 2, 6))
    assert found.per_host == 960
    assert found.host_hours == pytest.approx(1.6)
    assert found.cost == pytest.approx(0.8)
    assert found.days == pytest.approx(1 + 480 / 86400)
    paired = only(SampleDesign(3, 2, 6), replace(REQUEST, test=PAIRS))
    assert (paired.per_host, paired.host_hours) == (1920, found.host_hours)
    assert paired.days == pytest.approx(3 + 480 / 86400)
    for test in (PAIRS, REQUEST.test):  # of two steps of one session: 120 s + 2 x 6 x 60 s
        single = only(SampleDesign(1, 1, 6), replace(REQUEST, test=test))
        assert single.per_host == 840
        assert single.host_hours == pytest.approx(840 / 3600)
        assert single.days == pytest.approx(840 / 86400)
    assert found.beyond(0.05) == pytest.approx(1.05 * (1 + found.detectable) - 1)
    assert found.cautious > found.detectable


def test_the_limits_decide_on_the_claim() -> None:
    levels = [
        sample_size(pilot(), replace(REQUEST, wanted=0.3, limits=limits)).level
        for limits in (DesignLimits(), DesignLimits(hosts=2), DesignLimits(2, 2))
    ]
    assert levels == [Level.HOST, Level.SESSION, Level.TRIAL]


def test_pairs_need_no_variation_between_hosts() -> None:
    found = sample_size(pilot(1, 3), replace(REQUEST, test=PAIRS))
    assert found.level is Level.HOST
    assert found.recommended is not None
    assert sample_size(pilot(1, 3), REQUEST).level is Level.SESSION


def test_upper_limits_ask_for_a_larger_design() -> None:
    cautious, found = (
        proposed_cautious(NOISE, replace(REQUEST, wanted=0.2)),
        proposed(NOISE, replace(REQUEST, wanted=0.2)),
    )
    assert cautious is not None
    assert cautious.host_hours > found[0].host_hours
    assert cautious.cautious <= 0.2


def test_unlimited_units_below_the_dominating_level_leave_a_least_number() -> None:
    noise = NestedVariance(0.01**2, 0.05**2)
    found = fewest_with_unlimited(noise, SampleDesign(1, 5, 6), replace(REQUEST, wanted=0.05))
    assert found is not None
    without_trials = NestedVariance(0.0, 0.05**2)
    assert (least_detectable(without_trials, SampleDesign(1, found, 1)) or 1.0) <= 0.05
    assert (least_detectable(without_trials, SampleDesign(1, found - 1, 1)) or 0.0) > 0.05
    assert fewest_with_unlimited(NestedVariance(0.05**2, 0.0), SampleDesign(1, 5, 6), REQUEST) is None


@given(st.floats(0.02, 0.5), st.floats(0.5, 0.95), st.booleans())
def test_a_proposed_design_shows_what_was_wanted_and_no_cheaper_one_does(
    wanted: float,
    power: float,
    paired: bool,  # noqa: FBT001 (hypothesis)
) -> None:
    test = PlannedTest(round(power, 1), paired)
    request = replace(REQUEST, wanted=wanted, test=test, limits=DesignLimits(6, 6, 12))
    for one in proposed(NOISE, request):
        assert one.detectable <= wanted
        fewer = replace(one.design, trials=one.design.trials - 1)
        assert one.design.trials == 6 or (least_detectable(KNOWN, fewer, test) or 1.0) > wanted


# Text


def test_a_recommendation_names_design_claim_and_what_is_not_known() -> None:
    lines = sample_size_lines(sample_size(pilot(1, 3), replace(REQUEST, wanted=0.2)))
    assert "sessions x 6 trials" in lines[0]
    assert "USD" in lines[0]
    assert "these two hosts" in lines[1]
    assert "one host" in lines[2]
    assert MESSAGES["pilot_for_hosts"] in lines[2]
    assert component_rows(pilot(1, 3))[0][2:] == ["not known: one host", "", ""]
    single = sample_size_lines(sample_size(pilot(1, 1), replace(REQUEST, wanted=0.2)))
    assert "within one session" in single[1]


def test_limits_that_do_not_suffice_say_what_they_show() -> None:
    found = sample_size(pilot(), replace(REQUEST, wanted=0.0001))
    assert (found.designs, found.recommended, found.cautious) == ((), None, None)
    lines = sample_size_lines(found)
    assert "0.01 %" in lines[0]
    assert MESSAGES["largest_design"] in lines[0]


def test_one_design_given_shows_its_difference() -> None:
    found = sample_size_given(pilot(), REQUEST, SampleDesign(3, 2, 6))
    assert len(design_rows(found)) == 1
    assert found.designs[0].detectable == least_detectable(pilot().noise.found, SampleDesign(3, 2, 6))
    for hosts, sessions, trials in ((2, 1, 6), (1, 2, 6), (1, 1, 5)):
        with pytest.raises(SampleSizeError):
            sample_size_given(pilot(), REQUEST, SampleDesign(hosts, sessions, trials))
    with pytest.raises(SampleSizeError, match="one host"):
        sample_size_given(pilot(1, 3), REQUEST, SampleDesign(3, 1, 6))
    with pytest.raises(SampleSizeError, match="one session"):
        sample_size_given(pilot(3, 1), REQUEST, SampleDesign(3, 2, 6))


@pytest.mark.parametrize("shape", [(3, 3), (1, 3), (1, 1), (3, 1)])
def test_the_chart_falls_with_host_hours_and_marks_the_target(shape: tuple[int, int]) -> None:
    chart = sample_size_chart(sample_size(pilot(*shape), REQUEST))
    *lines, target = chart.series
    assert 1 <= len(lines) <= 4
    assert target.ys == (REQUEST.wanted, REQUEST.wanted)
    for line in lines:
        assert list(line.xs) == sorted(line.xs)
        assert list(line.ys) == sorted(line.ys, reverse=True)


# The command


def on_host(events: Iterable[Event], host: str) -> Iterable[Event]:
    for event in events:
        if isinstance(event, RunStarted):
            yield replace(event, plan=replace(event.plan, hosts=(host,)))
        elif isinstance(event, TrialStarted):
            yield replace(event, trial=replace(event.trial, host=host))
        elif getattr(event, "host", None) == "web-1":
            yield event if host == "web-1" else replace(event, host=host)  # type: ignore[type-var]
        else:
            yield event


def library_of_pilot(folder: Path) -> Path:
    """Return a library of three sessions on each of three hosts."""
    path = folder / "runs.sqlite3"
    store = Store(path)
    for number, record in enumerate(of_pilot(3, 3)):
        host = record.summary.hosts[0].replace("web-0", "web-1") if number < 3 else f"db-{number // 3}"
        values = [trial.figures[0].value for trial in record.trials]
        run = f"20261112-10000{number}-abcd"
        with store.recorder(run) as recorder:
            for event in on_host(run_events(run, values, started=f"2026-11-12T10:0{number}:00+00:00"), host):
                recorder.record(event)
    store.close()
    return path


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return library_of_pilot(tmp_path_factory.mktemp("library"))


def invoke(library: Path, *arguments: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(library), "sample-size", *arguments])


def names(count: int = 9) -> str:
    return ",".join(f"20261112-10000{number}-abcd" for number in range(count))


def found_in(result: Result) -> dict[str, object]:
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert isinstance(found, dict)
    return found


def test_the_command_proposes_designs_from_a_library(library: Path) -> None:
    found = found_in(invoke(library, names(), "--detect", "15%", "--price", "0.34 USD", "--json"))
    assert (found["format"], found["claim"], found["detect"]) == ("benchwright-sample-size/1", "host", 0.15)
    levels = found["components"]
    assert isinstance(levels, list)
    assert [one["n"] for one in levels] == [54, 9, 3]
    designs = found["designs"]
    assert isinstance(designs, Sequence)
    assert all(one["detectable"] <= 0.15 for one in designs)
    assert found["metrics_tested"] == 2  # IOPS and its tail
    printed = invoke(library, names(), "--detect", "15%")
    assert printed.exit_code == 0
    assert "between hosts" in printed.output


def test_the_command_writes_a_plan_and_names_the_missing_hosts(library: Path, tmp_path: Path) -> None:
    path = tmp_path / "plan.toml"
    result = invoke(library, names(), "--detect", "15%", "--every", "12h", "--plan", str(path))
    assert result.exit_code == 0, result.output
    found = found_in(invoke(library, names(), "--detect", "15%", "--every", "12h", "--json"))["designs"]
    assert isinstance(found, list)
    first = found[0]
    plan = read_plan(path)
    assert (plan.repetition.sessions, plan.repetition.trials) == (first["sessions"], first["trials"])
    assert f"Add {first['hosts'] - 1} host" in result.output


def test_the_command_shows_what_a_given_design_detects(library: Path) -> None:
    found = found_in(invoke(library, names(), "--hosts", "3", "--sessions", "2", "--trials", "6", "--json"))
    designs = found["designs"]
    assert isinstance(designs, list)
    assert [(one["hosts"], one["sessions"], one["trials"]) for one in designs] == [(3, 2, 6)]
    assert invoke(library, names(3), "--hosts", "3").exit_code == 2


@pytest.mark.parametrize(
    "wrong",
    [("--detect", "nan"), ("--detect", "0"), ("--power", "100"), ("--price", "x"), ("--every", "often"),
     ("--hosts", "0"), ("--metric", "none"), ("--every", "1s", "--plan", "x.toml")],
)  # fmt: skip
def test_wrong_options_are_refused(
    library: Path, wrong: tuple[str, ...], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = wrong if "--plan" not in wrong else (*wrong, "--sessions", "3")
    result = invoke(library, names(), *given)
    assert result.exit_code == 2
    assert result.exception is None or isinstance(result.exception, SystemExit)


def test_an_undecided_comparison_and_a_calibration_name_the_command(library: Path) -> None:
    first, second, *_ = names().split(",")
    found = CliRunner().invoke(benchwright, ["--store", str(library), "compare", first, second])
    assert found.exit_code == 0
    assert "sample-size" in found.output
    assert (
        "sample-size series:" in noise_lines(calibration(), [SessionNoise(IOPS, READ, 6, 60, 0.02, 0.03)], DEFAULTS)[-1]
    )


# What is no pilot


def test_a_run_that_is_there_twice_is_refused() -> None:
    runs = of_pilot(1, 1)
    for groups in ([runs, runs], [[*runs, *runs]]):
        with pytest.raises(CompareError) as caught:
            pilot_of(groups, PilotQuery(), Margins())
        assert caught.value.message == MESSAGES["twice"]


def test_a_duet_is_refused() -> None:
    (run,) = of_pilot(1, 1)
    steps = (STEP, replace(STEP, name="other"))
    duet = replace(run, summary=replace(run.summary, id="r1"), plan=replace(run.plan, steps=steps, order=Order.DUET))
    with pytest.raises(CompareError) as caught:
        pilot_of([[only_step(duet, STEP.name)]], PilotQuery(), Margins())
    assert caught.value.message == MESSAGES["duet"]
    assert "benchwright compare r1" in caught.value.remedy


def test_identical_trials_are_no_pilot() -> None:
    with pytest.raises(CompareError) as caught:
        pilot_of([[run_record("same", [1000.0] * 6)]], PilotQuery(), Margins())
    assert caught.value.message.startswith(MESSAGES["identical"])


def test_a_group_of_identical_trials_does_not_halve_the_noise() -> None:
    varied, constant = of_pilot(1, 3), [run_record(f"k{number}", [1000.0] * 6, host="web-9") for number in range(3)]
    found = pilot_of([varied, constant], PilotQuery(), Margins())
    assert found.components == pilot_of([varied], PilotQuery(), Margins()).components
    assert found.excluded == (MESSAGES["identical_host"],)
    other = [run_record(f"s{number}", [900.0 + 10 * number + k for k in range(6)], host="web-8") for number in range(3)]
    within = pilot_of([[*varied, *constant]], PilotQuery(), Margins())
    assert (within.components, within.excluded) == (found.components, found.excluded)
    coarse = [run_record(f"c{number}", [1000.0 + number] * 6, host="web-9") for number in range(3)]
    assert (
        pilot_of([varied, coarse], PilotQuery(), Margins()).component(TRIAL).variance == found.component(TRIAL).variance
    )
    with pytest.raises(CompareError) as caught:
        pilot_of([coarse], PilotQuery(), Margins())
    assert caught.value.message.startswith(MESSAGES["no_different_trials"])
    two = pilot_of([varied, other], PilotQuery(), Margins())
    assert component_rows(two)[0][1:3] == ["2", MESSAGES["one_host_each"]]


def test_small_costs_have_three_digits() -> None:
    cheap = replace(REQUEST, effort=Effort(1.0, price=Price(0.00123, "USD")))
    found = sample_size(pilot(), replace(cheap, wanted=0.5))
    assert found.designs[0].cost is not None
    text = design_rows(found)[0][-1]
    assert float(text.removesuffix(" USD")) == pytest.approx(found.designs[0].cost, rel=0.005)
    assert "e" not in text


def test_the_pilot_is_repeated_only_where_its_estimate_has_a_design() -> None:
    none = sample_size(pilot(), replace(REQUEST, wanted=0.001))
    assert not none.designs
    assert MESSAGES["repeat"] not in " ".join(sample_size_lines(none))
