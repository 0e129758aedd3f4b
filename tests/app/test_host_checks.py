"""The checks of a host as it is: its processors, what else it does, and what its cloud lends it."""

import re
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from app.checks.before import SkippedCheck, check_plan, evaluate
from app.checks.catalogue import HOST_CHECKS
from app.checks.cpu import burstable_types
from app.plans.plan import Plan, make_step
from app.plans.tuning import Tuning
from suites.base import Context, StepEvidence, complete_values
from suites.evidence import HostEvidence
from suites.facts import Absent, DiskLoad, Facts, ProbeMeasurements, ProcessLoad
from suites.registry import suite
from suites.vocab import Finding, Severity
from tests.app.test_false_warnings import server
from tests.disk_host import DATA, HOME


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
        ("offline-cpus", changed("cpu", offline=2), "Offline: 2 of 10 CPUs."),
        (
            "burstable-cpu",
            changed("cloud", provider="AWS", instance_type="t3.medium"),
            "The instance type is t3.medium (CPU credits)",
        ),
        (
            "burstable-cpu",
            changed("cloud", provider="GCP", instance_type="e2-micro"),
            "The instance type is e2-micro (shared cores).",
        ),
        ("burstable-cpu", changed("cloud", provider="Azure", instance_type="Standard_B2ms"), "Standard_B2ms"),
        (
            "burstable-cpu",
            changed("cloud", provider="Oracle Cloud", instance_type="VM.Standard.E4.Flex", baseline="BASELINE_1_8"),
            "VM.Standard.E4.Flex with BASELINE_1_8",
        ),
        ("emulated-cpu", changed("cpu", emulated=True, model="QEMU TCG CPU version 2.5+"), "QEMU TCG CPU version 2.5+"),
        ("just-booted", changed("system", uptime=75.0), "The host booted 1 min 15 s before its facts were read."),
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
        changed("cloud", provider="AWS", instance_type="t3.medium"),
        changed("cpu", emulated=True),
    ],
)
def test_what_slows_the_processor_is_a_note_where_it_is_not_in_question(facts: Facts) -> None:
    (found,) = shown(facts, "fio").values()
    assert isinstance(found, Finding)
    assert found.severity is Severity.INFO


def test_a_load_average_is_no_evidence_of_load() -> None:
    loaded = changed("system", load_1_minute=6.0)  # an earlier run, or tasks that wait for a disk
    assert shown(loaded) == {}
    unread = replace(loaded, measured=replace(loaded.measured, foreign_cpu=Absent("no /proc/stat")))
    assert isinstance(shown(unread)["host-busy"], SkippedCheck)


def test_background_load_names_its_processes_its_time_and_its_age() -> None:
    loads = tuple(ProcessLoad(name=name, cpus=cpus) for name, cpus in (("stress-ng", 1.98), ("java", 0.31)))
    facts = changed("measured", foreign_cpu=0.29, watched=3.05, foreign_processes=loads)
    now = datetime.now(UTC)
    fresh = finding(replace(facts, read_at=now.isoformat()), "host-busy")
    assert fresh.measured.startswith("29 % CPU in use ")
    assert fresh.measured.endswith(", over 3 s: stress-ng 198 %, java 31 % of a CPU.")
    old = finding(replace(facts, read_at=(now - timedelta(minutes=12)).isoformat()), "host-busy")
    assert "over 3 s, 12 min ago: " in old.measured
    idle = changed("measured", foreign_cpu=0.049, watched=3.05, foreign_processes=loads)
    assert shown(idle) == {}


def disk_use(suite_id: str = "fio", directory: str = "/srv", **rates: float) -> dict[str, Finding | SkippedCheck]:
    load = DiskLoad(name="nvme0n1", **{"read": 0.0, "written": 0.0, "requests": 0.0, **rates})
    facts = changed("measured", foreign_disks=(load,), watched=3.0)
    found = suite(suite_id)
    given = {"directory": directory} if found.directory_parameter else {}
    values = complete_values(found, given)
    used = StepEvidence("step", found, values, Context(replace(facts, directories=(DATA, HOME))), "web-1")
    return {word.id: word for word in evaluate(HOST_CHECKS, HostEvidence("web-1", facts, (used,)))}


@pytest.mark.parametrize("rates", [{"read": 174e6}, {"written": 5e6}, {"requests": 120.0}])
def test_a_disk_that_others_use_is_warned_of(rates: dict[str, Any]) -> None:
    found = disk_use(**rates)
    assert set(found) == {"disk-in-use"}
    (finding,) = found.values()
    assert isinstance(finding, Finding)
    assert finding.measured.startswith("nvme0n1: ")


@pytest.mark.parametrize(
    ("requests", "own", "shown"),
    [(40.0, 0.0, ", 40 IOPS "), (0.0, 90.0, " written before "), (300.0, 90.0, ", at least 300 IOPS ")],
)
def test_requests_that_may_be_benchwright_s_are_not_shown_as_those_of_others(
    requests: float, own: float, shown: str
) -> None:
    (found,) = disk_use(read=13e6, written=814e3, requests=requests, own_requests=own).values()
    assert isinstance(found, Finding)
    assert shown in found.measured


def test_use_of_a_disk_is_of_no_concern_below_a_journal_s_or_elsewhere() -> None:
    assert disk_use(read=1e6, written=2e6, requests=80.0) == {}
    assert disk_use(directory="/home/ann", written=174e6) == {}
    assert disk_use("sysbench-cpu", written=174e6) == {}


def test_a_host_that_booted_long_ago_or_a_new_container_is_no_finding() -> None:
    assert shown(changed("system", uptime=181.0)) == {}
    assert shown(changed("system", uptime=20.0, container="docker")) == {}


def test_a_virtual_machine_is_not_told_that_it_has_no_governor() -> None:
    facts = changed("cpu", governor=Absent("no cpufreq in /sys (virtual machine)"))
    assert shown(replace(facts, system=replace(facts.system, virtualisation="kvm"))) == {}


def test_a_clock_offset_within_its_uncertainty_is_no_finding() -> None:
    assert shown(changed("system", clock_offset=1.4, clock_offset_uncertainty=0.6)) == {}
    found = finding(changed("system", clock_offset=9.0, clock_offset_uncertainty=0.6), "clock-off")
    assert "9.0 s (to within 600 ms) ahead" in found.measured


def test_the_table_of_burstable_types_has_a_source_and_a_date_for_each_entry() -> None:
    for entry in burstable_types().values():
        assert entry["source"].startswith("https://")
        assert entry["read"].year >= 2026
        assert re.compile(entry.get("types", entry.get("baselines"))).fullmatch("m7i.large") is None


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


FIXED = [
    ("AWS", "m7i.large"), ("AWS", "c7i.metal"), ("AWS", "trn1.2xlarge"), ("GCP", "n2-standard-4"),
    ("GCP", "e2-standard-2"), ("Azure", "Standard_D2s_v5"), ("Azure", "Standard_NB2"),
    ("Alibaba Cloud", "ecs.g7.large"), ("Alibaba Cloud", "ecs.tx.large"), ("Oracle Cloud", "VM.Standard.E4.Flex"),
    ("", "t3.micro"),
]  # fmt: skip
BURSTABLE = [
    ("AWS", "t2.micro"), ("AWS", "t3a.2xlarge"), ("AWS", "t4g.nano"), ("GCP", "f1-micro"), ("GCP", "g1-small"),
    ("GCP", "e2-custom-medium-4096"), ("Azure", "Standard_B2s"), ("Azure", "Standard_B4as_v2"),
    ("Azure", "Standard_B2ps_v2"), ("Azure", "Standard_B1ls"), ("Alibaba Cloud", "ecs.t5-lc1m1.small"),
    ("Alibaba Cloud", "ecs.t6-c1m2.large"),
]  # fmt: skip


@pytest.mark.parametrize(("provider", "kind"), FIXED)
def test_types_of_fixed_performance_are_not_burstable(provider: str, kind: str) -> None:
    facts = changed("cloud", provider=provider, instance_type=kind, baseline="BASELINE_1_1")
    assert "burstable-cpu" not in shown(facts)


@pytest.mark.parametrize(("provider", "kind"), BURSTABLE)
def test_every_family_of_the_clouds_is_burstable(provider: str, kind: str) -> None:
    assert kind in finding(changed("cloud", provider=provider, instance_type=kind), "burstable-cpu").measured


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
