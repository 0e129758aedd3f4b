"""The checks of a host as it is: its processors, what else it does, and what its cloud lends it."""

from dataclasses import replace

import pytest

from app.checks.before import SkippedCheck, check_plan, evaluate
from app.checks.catalogue import HOST_CHECKS
from app.plans.plan import Plan, make_step
from app.plans.tuning import Tuning
from suites.base import Context, StepEvidence, complete_values
from suites.evidence import HostEvidence
from suites.facts import Absent, Facts, ProbeMeasurements
from suites.registry import suite
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server


def changed(group: str, **facts: object) -> Facts:
    """Return the facts of a quiet server with some of them changed."""
    quiet = server()
    return replace(quiet, **{group: replace(getattr(quiet, group), **facts)})


def step(suite_id: str) -> StepEvidence:
    found = suite(suite_id)
    return StepEvidence("step", found, complete_values(found, {}), Context(server()), "web-1")


def shown(
    facts: Facts | None, suite_id: str = "sysbench-memory", *, tuned: str = ""
) -> dict[str, Finding | SkippedCheck]:
    evidence = HostEvidence("web-1", facts, (step(suite_id),), frozenset({tuned} - {""}))
    return {word.id: word for word in evaluate(HOST_CHECKS, evidence)}


def finding(facts: Facts, check: str, suite_id: str = "sysbench-memory") -> Finding:
    found = shown(facts, suite_id)[check]
    assert isinstance(found, Finding), found
    assert (found.step, found.host) == (None, "web-1")
    return found


def test_a_quiet_server_draws_nothing() -> None:
    assert shown(server()) == {}


def test_nothing_is_told_of_a_host_that_was_not_read() -> None:
    found = shown(None)
    assert set(found) == {check.id for check in HOST_CHECKS}
    assert all(isinstance(word, SkippedCheck) and "not been read" in word.because for word in found.values())


@pytest.mark.parametrize(
    ("check", "facts", "words"),
    [
        ("governor-not-performance", changed("cpu", governor="powersave"), "The governor is powersave."),
        ("offline-cpus", changed("cpu", offline=2), "2 of 10 CPUs are offline."),
        ("burstable-cpu", changed("cloud", instance_type="t3.medium"), "The instance type is t3.medium (CPU credits)"),
        ("burstable-cpu", changed("cloud", instance_type="e2-micro"), "The instance type is e2-micro (shared cores)."),
        ("burstable-cpu", changed("cloud", instance_type="Standard_B2ms"), "Standard_B2ms"),
        ("host-busy", changed("measured", foreign_cpu=0.2), "20 % CPU in use before the test"),
        ("clock-off", changed("system", clock_offset=-3.0), "The host clock is 3.0 s behind this computer's."),
        ("slow-clock", changed("system", clock_source="hpet"), "The kernel's clock source is hpet."),
        ("old-kernel", changed("system", kernel="3.10.0-1160.el7"), "The kernel is 3.10.0-1160.el7."),
        ("swap-in-use", changed("memory", swap_used=2**30, available=2**30), "1 GiB of swap is in use; 1 GiB"),
    ],
)
def test_a_host_that_is_not_quiet_is_warned_of(check: str, facts: Facts, words: str) -> None:
    found = finding(facts, check)
    assert found.severity is Severity.WARNING
    assert words in found.measured
    assert set(shown(facts)) == {check}


@pytest.mark.parametrize(
    ("check", "facts"),
    [
        ("energy-preference", changed("cpu", energy_preference="balance_power")),
        ("boost-off", changed("cpu", boost=False)),
        ("hyperthreading-off", changed("cpu", hyperthreading="off", offline=8)),
        ("numa-nodes", changed("cpu", numa_nodes=2, numa_balancing=False)),
        ("swap-in-use", changed("memory", swap_used=2**20)),
        ("slow-clock", changed("system", clock_source="xen")),
        ("host-busy", changed("system", load_1_minute=6.0)),  # what went before: the processors are idle now
    ],
)
def test_what_only_belongs_beside_the_figure_is_a_note(check: str, facts: Facts) -> None:
    assert finding(facts, check).severity is Severity.INFO
    assert set(shown(facts)) == {check}


@pytest.mark.parametrize(
    "facts",
    [
        changed("cpu", governor="powersave"),
        changed("cpu", offline=2),
        changed("cloud", instance_type="t3.medium"),
    ],
)
def test_what_slows_the_processor_is_a_note_where_it_is_not_in_question(facts: Facts) -> None:
    (found,) = shown(facts, "fio").values()
    assert isinstance(found, Finding)
    assert found.severity is Severity.INFO


def test_a_load_alone_tells_where_nothing_else_does() -> None:
    facts = changed("measured", foreign_cpu=Absent("no /proc/stat"))
    assert shown(facts) == {}
    loaded = replace(facts, system=replace(facts.system, load_1_minute=6.0))
    assert finding(loaded, "host-busy").severity is Severity.WARNING


@pytest.mark.parametrize(
    ("group", "facts", "check"),
    [
        ("cpu", {"governor": Absent("no cpufreq in /sys")}, "governor-not-performance"),
        ("system", {"clock_offset": Absent("date tells whole seconds")}, "clock-off"),
        ("system", {"clock_source": Absent("there is none")}, "slow-clock"),
        ("system", {"kernel": Absent("there is no uname")}, "old-kernel"),
    ],
)
def test_without_evidence_a_check_says_so(group: str, facts: dict[str, object], check: str) -> None:
    (found,) = shown(changed(group, **facts)).values()
    assert isinstance(found, SkippedCheck)
    assert found.id == check


def test_how_busy_a_host_is_cannot_be_told_without_both_figures() -> None:
    facts = changed("measured", foreign_cpu=Absent("?"))
    assert isinstance(shown(replace(facts, cpu=replace(facts.cpu, threads=Absent("?"))))["host-busy"], SkippedCheck)


@pytest.mark.parametrize("kind", ["m7i.large", "c7i.metal", "n2-standard-4", "Standard_D2s_v5"])
def test_types_of_fixed_performance_are_not_burstable(kind: str) -> None:
    assert "burstable-cpu" not in shown(changed("cloud", instance_type=kind))


def test_a_governor_that_the_plan_sets_itself_is_no_finding() -> None:
    plan = Plan("p", ("web-1",), (make_step("sysbench-cpu", {"threads": 8}),), tuning=Tuning(governor="performance"))
    facts = {"web-1": changed("cpu", governor="powersave")}
    assert "governor-not-performance" not in {found.id for found in check_plan(plan, facts).findings}
    other = replace(plan, tuning=Tuning())
    assert "governor-not-performance" in {found.id for found in check_plan(other, facts).findings}


def test_a_host_is_spoken_of_once_however_many_steps_run_there() -> None:
    steps = tuple(make_step("sysbench-cpu", {}, name=name) for name in ("a", "b"))
    facts = {"web-1": changed("system", clock_offset=9.0)}
    report = check_plan(Plan("p", ("web-1",), steps), facts)
    assert [found.id for found in report.findings].count("clock-off") == 1


def test_an_other_end_that_is_busy_is_told_of_once() -> None:
    steps = tuple(make_step("iperf3", {}, name=name, peer="web-2") for name in ("a", "b"))
    facts = {"web-1": server(), "web-2": replace(server("web-2"), measured=ProbeMeasurements(foreign_cpu=0.5))}
    report = check_plan(Plan("p", ("web-1",), steps), facts)
    assert [found.host for found in report.findings if found.id == "host-busy"] == ["web-2"]
