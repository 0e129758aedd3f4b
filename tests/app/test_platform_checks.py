"""What the plan and the host's facts show of the platform: CPU quota, huge pages; each with its twin."""

from dataclasses import replace

import pytest

from app.checks.before import check_plan
from app.plans.plan import Plan, make_step
from suites.facts import Facts
from tests.app.test_false_warnings import PEERS, server

BOTH = "[global]\ndirect=1\nsize=4g\nrw=randread\nruntime=60\ntime_based\nnumjobs=2\n[a]\n[b]\n"


def ids(facts: Facts, suite: str, **given: object) -> set[str]:
    peer = "web-2" if suite == "iperf3" else None
    plan = Plan("p", ("web-1",), (make_step(suite, given, peer=peer),))
    return {each.id for each in check_plan(plan, {"web-1": facts, "web-2": server("web-2")}, PEERS).findings}


def quota(cpus: float) -> Facts:
    return replace(server(), cpu=replace(server().cpu, quota=cpus))


@pytest.mark.parametrize(
    ("suite", "given", "threads"),
    [
        ("fio", {"numjobs": 4}, 4),
        ("fio", {"numjobs": 1}, 1),
        ("fio-sweep", {"job_counts": "1, 4"}, 4),
        ("fio-job", {"job": BOTH}, 4),
        ("fio-job", {"job": BOTH.replace("[b]", "[b]\nstonewall")}, 2),
        ("iperf3", {"streams": 4}, 4),
        ("pgbench", {"clients": 8}, 8),
        ("sysbench-oltp", {"threads": 8}, 8),
        ("sysbench-cpu", {"threads": 3}, 3),
        ("stream", {"threads": 8}, 8),
        ("dd", {}, 1),
        ("command", {"command": "sysbench cpu --threads=4 run"}, 4),
    ],
)
def test_a_cpu_quota_below_the_threads_of_any_suite(suite: str, given: dict[str, object], threads: int) -> None:
    assert "cpu-quota" in ids(quota(threads - 0.5), suite, **given)
    assert "cpu-quota" not in ids(quota(threads), suite, **given)
    assert "cpu-quota" not in ids(server(), suite, **given)


@pytest.mark.parametrize("suite", ["stream", "memory-blocks", "linpack"])
def test_memory_without_huge_pages(suite: str) -> None:
    for mode, flagged in (("never", True), ("madvise", False), ("always", False)):
        facts = replace(server(), memory=replace(server().memory, transparent_huge_pages=mode))
        assert ("huge-pages-off" in ids(facts, suite)) is flagged
        assert "huge-pages-off" not in ids(facts, "sysbench-cpu")
