"""Studies whose hosts have several tool versions or results in doubt, and studies of different tests."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.fleet.changes import changes_lines, changes_since
from app.fleet.facts import differing_versions
from app.fleet.results import FleetResults, results_of
from app.fleet.study import FleetMetric, StepRecord
from app.fleet_study import FleetStudy, HostRunState, RunProgress
from app.margins import Margins
from app.plans.plan import Step, make_step
from suites.verdict import Trust
from tests.app.fleet.studies import CPU, fleet_plan, numbered
from tests.simulation.fleets import RATE, SimulatedFleet, fleet_of

HOSTS = [f"a{number}" for number in range(1, 9)]


def results(versions: Mapping[str, Sequence[str]], trusts: Mapping[str, Trust]) -> FleetResults:
    """Return the results of a study of eight hosts, a3 at half speed."""
    plan = fleet_plan(numbered(8))
    study = FleetStudy("f1", "short", plan, "2026-01-01T00:00:00+00:00")
    runs = [replace(one, state=HostRunState.DONE, run=f"run-{one.host}") for one in plan.host_runs()]
    progress = {
        f"run-{host}": RunProgress(
            figures={
                (CPU.name, RATE, ()): tuple((0.5 if host == "a3" else 1.0) * value for value in (999, 1000, 1001))
            },
            versions={CPU.name: frozenset(versions.get(host, ("1.0.20",)))},
            trusts={CPU.name: trusts.get(host, Trust.VALID)},
            finding="Host is busy" if host in trusts else "",
        )
        for host in HOSTS
    }
    return results_of(study, runs, progress, Margins(), [RATE.name])


def test_a_study_of_one_version_without_doubt_has_no_note() -> None:
    assert results({}, {}).notes == ()


def test_several_versions_in_a_group_are_a_note_and_a_fact_of_the_odd_host() -> None:
    found = results({"a3": ("1.0.11",)}, {})
    (note,) = found.notes
    assert note.startswith(f"{CPU.name}, a: ")
    assert "1.0.20 (7 instances) and 1.0.11 (1 instance)" in note
    (fact,) = differing_versions("a3", found.metrics)
    assert (fact.value, fact.others, fact.sharing) == ("1.0.11", "1.0.20", 0)
    assert differing_versions("a4", found.metrics) == []


def test_results_in_doubt_are_a_note_with_the_host_and_the_finding() -> None:
    found = results({}, {"a3": Trust.DOUBTFUL, "a5": Trust.CAVEATS})
    (note,) = found.notes
    assert f"a3 ({Trust.DOUBTFUL.value}: " in note
    assert "a5" not in note
    assert found.metrics[0].record.doubts.keys() == {"a3"}


def recorded(step: Step | None, version: str, factor: float) -> FleetMetric:
    """Return a study of eight hosts at `factor`, measured by a test and a version."""
    one = fleet_of(np.random.default_rng(1), SimulatedFleet(instances=8, sessions=4))
    groups = {
        group: {
            host: {name: [factor * value for value in own] for name, own in sessions.items()}
            for host, sessions in hosts.items()
        }
        for group, hosts in one.groups.items()
    }
    versions = {host: frozenset({version}) for host in groups["type-0"]}
    return replace(one, groups=groups, record=StepRecord(step, versions))


LARGER = make_step("fio", {"rw": "randread", "block_size": 65536}, name="cpu")
SMALL = make_step("fio", {"rw": "randread", "block_size": 4096}, name="cpu")


@pytest.mark.parametrize(("step", "version", "part"), [(LARGER, "fio-3.33", "64 KiB"), (SMALL, "fio-3.28", "3.28")])
def test_studies_of_other_parameters_or_versions_are_not_compared(step: Step, version: str, part: str) -> None:
    before, after = recorded(SMALL, "fio-3.33", 1.0), recorded(step, version, 0.5)
    found = changes_since([before], [after])
    assert found.changed == ()
    (line,) = changes_lines(found)
    assert "ot comparable" in line
    assert part in line


def test_lemons_of_other_tests_are_neither_new_nor_healed() -> None:
    before, after = recorded(SMALL, "fio-3.33", 1.0), recorded(LARGER, "fio-3.33", 1.0)
    hosts = dict(after.groups["type-0"])
    hosts["h0-2"] = {name: [0.4 * value for value in own] for name, own in hosts["h0-2"].items()}
    slow = replace(after, groups={"type-0": hosts})
    assert changes_since([before], [slow]).new_lemons == ()
    assert changes_since([slow], [before]).healed_lemons == ()
    assert len(changes_since([after], [slow]).new_lemons) == 1


def test_a_host_of_another_version_is_named_beside_its_group() -> None:
    before, after = recorded(SMALL, "fio-3.33", 1.0), recorded(SMALL, "fio-3.33", 0.5)
    versions = {**after.record.versions, "h0-2": frozenset({"fio-3.28"})}
    odd = replace(after, record=replace(after.record, versions=versions))
    found = changes_since([before], [odd])
    lines = [line for line in changes_lines(found) if "ot comparable" in line]
    assert [("type-0" in line, "h0-2" in line, "h0-3" in line) for line in lines] == [
        (True, False, False),
        (False, True, False),
    ]
    assert {one.host for one in found.changed} == {f"h0-{number}" for number in range(8) if number != 2}


def test_studies_of_one_test_or_of_unknown_ones_are_compared() -> None:
    for step in (SMALL, None):
        pair = [recorded(step, "fio-3.33", factor) for factor in (1.0, 0.5)]
        changed = changes_since(pair[:1], pair[1:]).changed
        assert {one.host for one in changed if one.host} == {f"h0-{number}" for number in range(8)}
