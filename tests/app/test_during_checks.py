"""The checks of during on made-up telemetry: each with what it must say, and its clean twin that must draw nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from app.checks.catalogue import DURING_CHECKS
from app.checks.evidence import RUNNING
from app.checks.timing import SHAPE_CHECKS
from app.verdict.listing import SHAPES, current_findings
from app.verdict.steps import new_findings, step_verdict
from suites.checks import CheckOutcome, CheckPhase, NotChecked
from suites.evidence import DONE, HostWatch, Point, TrialEvidence
from suites.verdict import Trust
from suites.vocab import Labels, Severity, labels
from tests.app.trial_evidence import CLOCK, READ, facts, shown, step, trial
from tests.messages import messages

MESSAGES = messages("app", "test_during_checks")

CHECKS = {check.id: check for check in DURING_CHECKS}
SECONDS = 60
Series = Mapping[tuple[str, Labels], Sequence[Point]]

LABELS = {
    "process_time": "process", "allowance_exceeded_time": "device", "filesystem_errors": "device",
    "link_changes": "interface", "network_sent": "interface", "network_drops": "interface",
}  # fmt: skip


def level(value: float, every: int = 1) -> tuple[Point, ...]:
    return tuple((CLOCK + second, value) for second in range(every - every, SECONDS + 1, every))


def once(value: float, at: float = 30.0) -> tuple[Point, ...]:
    return tuple((CLOCK + second, value if second == at else 0.0) for second in range(0, SECONDS + 1, 5))


def of(suite: str = "sysbench-cpu", **series: Sequence[Point]) -> TrialEvidence:
    """Return a trial of 60 seconds with telemetry; ``network_sent__eth0`` is that of the interface eth0."""
    found: dict[tuple[str, Labels], tuple[Point, ...]] = {("cpu_idle", ()): level(50.0)}
    for name, points in series.items():
        metric, _, named = name.partition("__")
        at = labels(**{LABELS[metric]: named}) if named else ()
        found[metric, at] = tuple(points)
    made = trial(suite, {}, seconds=SECONDS)
    return replace(made, watch=HostWatch("web-1", CLOCK, CLOCK + SECONDS, found, facts()))


def of_udp(**series: Sequence[Point]) -> TrialEvidence:
    one = of("iperf3", **series)
    return replace(one, values={**one.values, "protocol": "udp"})


def fell(before: float, after: float) -> tuple[Point, ...]:
    return tuple((CLOCK + second, before if second < 30 else after) for second in range(0, SECONDS + 1, 5))


PACKETS = {"network_sent__eth0": level(1e6)}

CASES: dict[str, tuple[TrialEvidence, TrialEvidence, str, Severity]] = {
    "cpu-stolen": (
        of(cpu_steal=level(3.0)), of(cpu_steal=level(0.5)),
        "Steal time was 3 % of CPU time over 1 min, up to 3 % in one second.", Severity.WARNING,
    ),
    "cpu-too-hot": (
        of(throttle_events=once(4.0), temperature_of_limit=level(99.0, 5)), of(throttle_events=once(0.0)),
        "CPUs were throttled 4 times in 1 min, at up to 99 % of the temperature limit.", Severity.WARNING,
    ),
    "clock-fell": (
        of(clock_frequency=fell(3.6e9, 2.4e9), core_busiest=level(99.0)),
        of(clock_frequency=fell(3.6e9, 3.5e9), core_busiest=level(99.0)),
        "The clock of busy CPUs dropped from 3.6 GHz to 2.4 GHz.", Severity.WARNING,
    ),
    "quota-throttled": (
        of(cgroup_throttled=level(48.0), cgroup_throttled_periods=level(97.0)),
        of(cgroup_throttled=level(1.0), cgroup_throttled_periods=level(3.0)),
        "The CPU quota was exhausted in 97 % of its periods and throttled tasks for 48 % of 1 min.",
        Severity.WARNING,
    ),
    "swapped": (
        of(swap_in=level(2**20), swap_out=level(0.0)), of(swap_in=level(0.0), swap_out=once(2**20)),
        "60 MiB swapped in and 0 B swapped out on the host in 1 min; the test’s own page faults were not counted.",
        Severity.WARNING,
    ),
    "killed-for-memory": (
        of(out_of_memory_kills=once(1.0), memory_available=level(2**20)), of(out_of_memory_kills=level(0.0)),
        "The OOM killer ended 1 process on the host; the least available memory was 1 MiB.", Severity.ERROR,
    ),
    "memory-short": (
        of(pressure_memory=level(12.0), memory_available=level(2**20)), of(pressure_memory=level(1.0)),
        "Tasks of the host waited for memory for 12 % of 1 min; the least available memory was 1 MiB.",
        Severity.WARNING,
    ),
    "near-heat-limit": (
        of(temperature_of_limit=level(96.0, 5)), of(temperature_of_limit=level(70.0, 5)),
        "The CPU reached 96 % of its temperature limit.", Severity.INFO,
    ),
    "other-process": (
        of(process_time__backup=level(4.5, 5)), of(process_time__backup=level(0.2, 5)),
        "Other processes used at least 0.9 CPUs (backup) over 1 min.", Severity.WARNING,
    ),
    "volume-limit-reached": (
        of("fio", allowance_exceeded_time__nvme1n1=once(2.5)), of("fio", allowance_exceeded_time__nvme1n1=once(0.0)),
        "I/O exceeded the volume’s provisioned limit for 2.5 s of 1 min.", Severity.WARNING,
    ),
    "link-went-down": (
        of("iperf3", link_changes__eth0=once(2.0), **PACKETS), of("iperf3", link_changes__veth0=once(2.0), **PACKETS),
        "Link state changed: eth0 2 times.", Severity.ERROR,
    ),
    "filesystem-errors": (
        of("dd", filesystem_errors__vda=once(3.0)), of("dd", filesystem_errors__vda=once(0.0)),
        "ext4 errors during the trial: 3 on vda.", Severity.ERROR,
    ),
    "segments-sent-again": (
        of("iperf3", network_segments=level(1000.0), network_retransmits=level(60.0)),
        of("iperf3", network_segments=level(1000.0), network_retransmits=level(0.1)),
        "TCP retransmitted 3600 of 60000 segments (6 %).", Severity.WARNING,
    ),
    "packets-dropped": (
        of_udp(network_datagrams_dropped=level(50.0), network_drops__eth0=level(1.0)),
        of_udp(network_datagrams_dropped=level(0.5), network_drops__eth0=level(0.0)),
        "3000 UDP datagrams dropped (receive buffer full).", Severity.WARNING,
    ),
}  # fmt: skip


@pytest.mark.parametrize("check", CASES)
def test_it_says_what_it_saw_and_nothing_of_the_clean_twin(check: str) -> None:
    staged, clean, words, gravity = CASES[check]
    outcome = CHECKS[check].evaluate(staged)
    assert isinstance(outcome, CheckOutcome)
    assert outcome.measured == words
    assert CHECKS[check].finding_for(outcome, staged).severity is gravity
    assert CHECKS[check].evaluate(clean) is None


@pytest.mark.parametrize("check", CASES)
def test_without_telemetry_it_cannot_tell_and_of_a_failed_trial_it_says_nothing(check: str) -> None:
    staged = CASES[check][0]
    assert isinstance(CHECKS[check].evaluate(replace(staged, watch=None)), NotChecked)
    assert CHECKS[check].evaluate(replace(staged, state="failed")) is None


def test_every_check_of_during_says_what_it_is_and_has_a_case() -> None:
    elsewhere = {check.id for check in SHAPE_CHECKS} | {"allowance-exceeded", "took-too-long"}
    assert set(CHECKS) == set(CASES) | elsewhere
    for check in DURING_CHECKS:
        assert check.when is CheckPhase.DURING
        assert all((check.title, check.why, check.remedy, check.source, check.needs))
        assert "!" not in check.title + check.why + check.remedy


def test_a_quiet_host_draws_no_finding() -> None:
    assert {name: shown(check, of()) for name, check in CHECKS.items() if shown(check, of())} == {
        name: "cannot tell"
        for name in CHECKS
        if name
        not in {
            "link-went-down", "filesystem-errors", "segments-sent-again", "packets-dropped",
            "took-too-long",
        }
    }  # fmt: skip


WAITED: dict[str, Any] = {"pressure_memory": level(6.6), "memory_available": level(12 * 2**30)}


def test_memory_pressure_of_another_cgroup_is_a_note_that_does_not_blame_the_test() -> None:
    check = CHECKS["memory-short"]
    owns: tuple[dict[str, Any], ...] = (
        {},
        {"tool_major_faults": level(0.0), "swap_in": level(0.0), "swap_out": level(0.0)},
    )
    for own in owns:
        elsewhere = of(**WAITED, **own)
        outcome = check.evaluate(elsewhere)
        assert isinstance(outcome, CheckOutcome)
        assert check.finding_for(outcome, elsewhere).severity is Severity.INFO
        assert outcome.measured == MESSAGES["other_cgroup_waited"]
        assert outcome.remedy is not None
        assert "working set" not in outcome.remedy


SWAPS: dict[str, Any] = {"swap_in": level(2**20), "swap_out": level(0.0)}


@pytest.mark.parametrize(("faults", "severity"), [(40.0, Severity.WARNING), (0.0, Severity.INFO)])
def test_swapping_is_that_of_the_test_if_it_had_page_faults(faults: float, severity: Severity) -> None:
    one = of(**SWAPS, tool_major_faults=level(faults))
    outcome = CHECKS["swapped"].evaluate(one)
    assert isinstance(outcome, CheckOutcome)
    assert CHECKS["swapped"].finding_for(outcome, one).severity is severity
    assert f"the test had {faults:g} major page faults/s" in outcome.measured
    assert (outcome.remedy is None) is (severity is Severity.WARNING)


def test_a_kill_beside_plenty_of_memory_is_that_of_another_cgroup() -> None:
    one, known = of(out_of_memory_kills=once(2.0), memory_available=level(12 * 2**30)), facts()
    outcome = CHECKS["killed-for-memory"].evaluate(one)
    assert isinstance(outcome, CheckOutcome)
    assert CHECKS["killed-for-memory"].finding_for(outcome, one).severity is Severity.INFO
    assert "another cgroup" in outcome.measured
    limited = replace(known, memory=replace(known.memory, limit=2**30))
    own = CHECKS["killed-for-memory"].evaluate(replace(one, context=replace(one.context, facts=limited)))
    assert isinstance(own, CheckOutcome)
    assert "1 GiB" in own.measured
    assert own.severity is None


def test_pressure_beside_the_swapping_of_others_is_a_note() -> None:
    one = of(**WAITED, **SWAPS, tool_major_faults=level(0.0))
    outcome = CHECKS["memory-short"].evaluate(one)
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is Severity.INFO


@pytest.mark.parametrize("own", [{"tool_major_faults": level(40.0)}, {"swap_in": level(2.0**20)}])
def test_memory_pressure_with_the_test_s_own_faults_or_swapping_is_a_warning(own: dict[str, Any]) -> None:
    outcome = CHECKS["memory-short"].evaluate(of(**WAITED, **own))
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is None


def test_memory_pressure_under_a_limit_of_the_test_s_own_cgroup_is_a_warning() -> None:
    one, known = of(**WAITED), facts()
    limited = replace(known, memory=replace(known.memory, limit=2**30))
    outcome = CHECKS["memory-short"].evaluate(replace(one, context=replace(one.context, facts=limited)))
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is None
    assert outcome.measured == MESSAGES["own_cgroup_limited"]


def test_a_link_that_the_test_does_not_use_is_not_reported() -> None:
    check = CHECKS["link-went-down"]
    both: dict[str, Any] = {"link_changes__eth0": once(2.0), "link_changes__veth0": once(2.0)}
    packets: dict[str, Any] = {"network_sent__eth0": level(100e6), "network_sent__veth0": level(2e3)}
    local = of("fio", **both, **packets)
    assert shown(check, local) is None
    assert shown(check, of("sysbench-cpu", **both, **packets)) is None
    one = trial("iperf3", {"throughput": 800e6}, seconds=SECONDS)
    assert shown(check, replace(of("iperf3", **both, **packets), figures=one.figures)) == MESSAGES["link_changed"]
    within = replace(of("iperf3", **both, **packets), context=replace(one.context, peer_address="127.0.0.1"))
    assert shown(check, within) is None
    remote = replace(local, context=replace(local.context, facts=facts(kind="nfs4")))
    outcome = check.evaluate(remote)
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is Severity.INFO


def test_drops_of_another_interface_or_of_other_programs_are_not_reported() -> None:
    packets: dict[str, Any] = {"network_sent__eth0": level(100e6), "network_sent__veth0": level(2e3)}
    figures = trial("iperf3", {"throughput": 800e6}, seconds=SECONDS).figures
    drops: dict[str, Any] = {"network_drops__veth0": level(90.0), "network_drops__eth0": level(0.0)}
    foreign = of("iperf3", network_datagrams_dropped=level(90.0), **drops, **packets)
    assert shown(CHECKS["packets-dropped"], replace(foreign, figures=figures)) is None
    own = replace(of("iperf3", network_drops__eth0=level(2.0), **packets), figures=figures)
    assert shown(CHECKS["packets-dropped"], own) == MESSAGES["dropped_at_an_interface"]
    udp = of_udp(network_segments=level(1000.0), network_retransmits=level(60.0))
    assert shown(CHECKS["segments-sent-again"], udp) is None


def test_what_is_stolen_makes_a_result_doubtful_from_a_tenth_on() -> None:
    check = CHECKS["cpu-stolen"]
    much = check.evaluate(of(cpu_steal=level(11.0)))
    assert isinstance(much, CheckOutcome)
    assert check.leaves(much) is Trust.DOUBTFUL


def test_of_a_trial_under_way_only_what_stays_true_is_told() -> None:
    half = replace(of(cpu_steal=level(3.0)), state=RUNNING, expected=600.0)
    assert CHECKS["cpu-stolen"].evaluate(half) is None  # 1.8 s of 600 s, if no more is stolen
    assert isinstance(CHECKS["cpu-stolen"].evaluate(replace(half, expected=120.0)), CheckOutcome)


def test_a_clock_that_falls_at_rest_is_no_finding() -> None:
    resting = of(clock_frequency=fell(3.6e9, 0.8e9), core_busiest=fell(99.0, 2.0))
    assert CHECKS["clock-fell"].evaluate(resting) is None


def test_packets_that_a_cloud_held_back_spoil_a_network_test_and_are_told_beside_others() -> None:
    at = labels(interface="eth0", allowance="bw_out")
    for suite, gravity in (("iperf3", Severity.ERROR), ("sysbench-cpu", Severity.INFO)):
        made = of(suite)
        assert made.watch is not None
        held = {**made.watch.series, ("allowance_exceeded", at): once(250.0)}
        outcome = CHECKS["allowance-exceeded"].evaluate(replace(made, watch=replace(made.watch, series=held)))
        assert isinstance(outcome, CheckOutcome)
        assert outcome.measured == MESSAGES["held_back_beyond_the"]
        assert outcome.severity is gravity


@pytest.mark.parametrize(
    ("suite", "idle", "gravity"),
    [("sysbench-cpu", 50.0, Severity.WARNING), ("fio", 50.0, Severity.INFO), ("fio", 3.0, Severity.WARNING)],
)
def test_another_process_is_a_warning_where_the_test_needs_the_processors(
    suite: str, idle: float, gravity: Severity
) -> None:
    outcome = CHECKS["other-process"].evaluate(of(suite, process_time__backup=level(4.5, 5), cpu_idle=level(idle)))
    assert isinstance(outcome, CheckOutcome)
    assert outcome.severity is gravity


def test_the_server_of_a_database_test_is_nobody_else() -> None:
    other_process = CHECKS["other-process"]
    assert other_process.evaluate(of("pgbench", process_time__postgres=level(4.5, 5))) is None
    both = of("pgbench", process_time__postgres=level(4.5, 5), process_time__backup=level(4.5, 5))
    outcome = other_process.evaluate(both)
    assert isinstance(outcome, CheckOutcome)
    assert "backup" in outcome.measured
    assert "postgres" not in outcome.measured


# The course of a rate


def course(values: Sequence[float], expected: float = 600.0, state: str = RUNNING) -> TrialEvidence:
    made = trial("fio", {"iops": values[0]}, at=READ, samples=[float(value) for value in values], seconds=len(values))
    return replace(made, figures=() if state == RUNNING else made.figures, state=state, expected=expected)


def noisy(means: Sequence[tuple[float, int]], spread: float = 0.03) -> list[float]:
    rng = np.random.default_rng(7)
    return [mean * (1 + spread * rng.standard_normal()) for mean, seconds in means for _ in range(seconds)]


def shapes(one: TrialEvidence) -> dict[str, str]:
    """Return what the checks of the rate's shape say of a trial, by their ids."""
    return {check.id: words for check in SHAPE_CHECKS if (words := shown(check, one))}


def test_a_bucket_that_runs_empty_is_told_while_it_runs_with_its_size() -> None:
    whole = noisy([(4000.0, 160), (1500.0, 60)])
    reported = next(seconds for seconds in range(150, 220) if shapes(course(whole[:seconds])))
    assert 170 <= reported <= 182
    words = shapes(course(whole))["token-bucket"]
    assert words.startswith("3978 IOPS until 2 min 40 s, then 1498 IOPS.")
    assert "about 397k above" in words  # (4000 - 1500) x 160 s = 400,000


def test_a_steady_rate_a_dip_that_may_last_and_a_slope_are_no_bucket() -> None:
    steady, dip = noisy([(4000.0, 300)]), noisy([(4000.0, 300), (1500.0, 8)])
    slope = [4000.0 - 8 * second for second in range(300)]
    assert [shapes(course(values)) for values in (steady, dip, slope)] == [{}, {}, {}]


@pytest.mark.parametrize(("state", "words"), [(RUNNING, True), (DONE, True), ("failed", False)])
def test_a_rate_that_still_climbs_late_is_told(state: str, words: bool) -> None:  # noqa: FBT001 (a case)
    climbing = noisy([(1000.0 + 10 * second, 1) for second in range(90)], 0.01)
    assert ("and has not levelled off" in shapes(course(climbing, 120.0, state)).get("still-on-its-way", "")) is words


def test_a_rate_that_climbs_early_or_has_settled_is_not() -> None:
    climbing = noisy([(1000.0 + 10 * second, 1) for second in range(60)], 0.01)
    assert shapes(course(climbing, 600.0)) == {}
    assert "still-on-its-way" not in shapes(course(noisy([(1000.0, 5), (2000.0, 85)]), 120.0))


# What becomes of it in the verdict


def test_the_verdict_counts_what_was_found_over_all_trials_and_tells_nothing_twice() -> None:
    stolen, quiet = of(cpu_steal=level(3.0)), of(cpu_steal=level(0.1))
    judgement = step_verdict(step(replace(stolen, id=1), replace(quiet, id=2)))
    (found,) = [one for one in judgement.found if one.finding.id == "cpu-stolen"]
    assert found.finding.measured.endswith("In 1 of 2 trials.")
    assert found.trust is Trust.CAVEATS
    assert found.finding in judgement.verdict.findings
    outcome = CHECKS["cpu-stolen"].evaluate(stolen)
    assert isinstance(outcome, CheckOutcome)
    live = CHECKS["cpu-stolen"].finding_for(outcome, stolen)
    assert found in new_findings(judgement, [live])
    assert found not in new_findings(judgement, [live, found.finding])


def test_a_live_finding_that_the_end_does_not_confirm_stays_in_the_verdict() -> None:
    check, quiet = CHECKS["cpu-stolen"], of(cpu_steal=level(0.1))
    outcome = check.evaluate(of(cpu_steal=level(3.0)))
    assert isinstance(outcome, CheckOutcome)
    live = check.finding_for(outcome, quiet)
    judgement = step_verdict(replace(step(quiet), findings=(live,)))
    assert live in judgement.verdict.findings


def test_the_shape_at_the_end_replaces_those_on_the_way() -> None:
    alternating = course(noisy([(4000.0, 6), (3000.0, 6)] * 5), state=DONE)
    outcome = CHECKS["rate-dips"].evaluate(course(noisy([(4000.0, 30), (3000.0, 6), (4000.0, 30)]), state=DONE))
    assert isinstance(outcome, CheckOutcome)
    live = CHECKS["rate-dips"].finding_for(outcome, alternating)
    found = step_verdict(replace(step(alternating), findings=(live,))).verdict.findings
    (shape,) = [one for one in found if one.id in SHAPES]
    assert shape.id == "rate-alternates"
    assert f"Replaces “{live.title}”, seen during the trial." in shape.measured
    alone = step_verdict(replace(step(alternating), findings=(shape,))).verdict.findings
    assert "Replaces" not in next(one.measured for one in alone if one.id == shape.id)


def test_a_shape_seen_live_is_not_lost_to_one_of_less_weight() -> None:
    """A start that is noted at the end leaves the trust as it is; the warning on the way does not."""
    whole = step(course(noisy([(4000.0, 6), (3000.0, 6)] * 5), state=DONE))
    (end,) = [one for one in step_verdict(whole).found if one.finding.id in SHAPES]
    live = replace(end.finding, id="rate-dips", severity=Severity.ERROR, title="Throughput dipped", measured="A dip.")
    judgement = step_verdict(replace(whole, findings=(live,)))
    assert live in judgement.verdict.findings
    raised = [live, *(one.finding for one in judgement.found)]
    assert live in current_findings(raised, [judgement.verdict])


def test_a_finding_that_became_worse_is_raised_again() -> None:
    judgement = step_verdict(step(of(cpu_steal=level(3.0))))
    (found,) = [one for one in judgement.found if one.finding.id == "cpu-stolen"]
    assert found in new_findings(judgement, [replace(found.finding, severity=Severity.INFO)])


def test_a_finding_that_another_replaces_is_new_only_once() -> None:
    """`quota-throttled` is not listed beside `quota-bound`, and yet it was raised."""
    judgement = step_verdict(step(of(cpu_steal=level(3.0))))
    (one,) = [one for one in judgement.found if one.finding.id == "cpu-stolen"]
    rated = [replace(one, finding=replace(one.finding, id=each)) for each in ("quota-bound", "quota-throttled")]
    both = replace(judgement, found=tuple(rated))
    assert new_findings(both, ()) == tuple(rated)
    assert not new_findings(both, [one.finding for one in rated])


def test_errors_of_a_loop_device_that_the_test_does_not_use_are_a_note() -> None:
    check = CHECKS["filesystem-errors"]
    outcomes = [
        check.evaluate(of("dd", filesystem_errors__loop3=once(2.0), **more))
        for more in ({}, {"filesystem_errors__vda": once(1.0)})
    ]
    assert [one.severity for one in outcomes if isinstance(one, CheckOutcome)] == [Severity.INFO, None]


def test_errors_of_a_file_system_are_a_note_where_the_test_uses_no_disk() -> None:
    check, network = CHECKS["filesystem-errors"], of("iperf3", filesystem_errors__loop3=once(2.0))
    outcome = check.evaluate(network)
    assert isinstance(outcome, CheckOutcome)
    assert check.finding_for(outcome, network).severity is Severity.INFO
    assert check.leaves(outcome) is Trust.VALID
