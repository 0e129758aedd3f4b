"""What changed since the last study."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest

from app.fleet.changes import NOT_COMMON, ONE_SESSION, changes_lines, changes_since
from app.fleet.study import FleetMetric
from tests.simulation.experiments import generators, share
from tests.simulation.fleets import SimulatedFleet, fleet_of

PLAN = SimulatedFleet(types=2, instances=8, sessions=4, trials=3, session=0.005)


def study(noise: int, groups: dict[str, float] | None = None, hosts: dict[str, float] | None = None) -> FleetMetric:
    """Return a study of the same hosts with noise of its own, groups and hosts changed by factors."""
    one = fleet_of(np.random.default_rng(1), PLAN)
    rng = np.random.default_rng([2, noise])

    def again(value: float, group: str, host: str) -> float:
        factor = (groups or {}).get(group, 1.0) * (hosts or {}).get(host, 1.0)
        return float(value * factor * (1 + 0.005 * rng.normal()))

    changed = {
        group: {
            host: {name: [again(value, group, host) for value in trials] for name, trials in sessions.items()}
            for host, sessions in own.items()
        }
        for group, own in one.groups.items()
    }
    return replace(one, groups=changed)


def test_a_group_and_a_host_beyond_the_margin_changed_and_nothing_else() -> None:
    found = changes_since([study(1)], [study(2, groups={"type-1": 0.85}, hosts={"h0-3": 1.2})])
    groups = [(one.group, one.paired) for one in found.changed if not one.host]
    assert groups == [("type-1", True)]
    assert {one.host for one in found.changed if one.host} == {"h0-3", *(f"h1-{number}" for number in range(8))}
    assert found.changed[0].host == "h0-3"  # the largest
    (group,) = [one for one in found.changed if not one.host]
    assert group.ratio.value == pytest.approx(0.85, rel=0.01)
    assert (found.new_hosts, found.gone_hosts) == ((), ())


def test_equal_studies_and_changes_within_the_margin_are_no_changes() -> None:
    for factor in (1.0, 0.97):
        assert changes_since([study(1)], [study(2, groups={"type-0": factor})]).changed == ()


def moved(one: FleetMetric, moments: Sequence[float]) -> FleetMetric:
    """Return a study whose sessions are changed by factors on all hosts; one session for each factor."""
    groups = {
        group: {
            host: {name: [factor * value for value in own[name]] for name, factor in zip(own, moments, strict=False)}
            for host, own in hosts.items()
        }
        for group, hosts in one.groups.items()
    }
    return replace(one, groups=groups)


def test_moments_that_all_hosts_share_are_in_the_error_of_a_group() -> None:
    before, after = moved(study(1), (1.0, 1.06, 0.95, 1.03)), moved(study(2), (0.9, 1.02, 0.86, 0.93))
    groups = [one for one in changes_since([before], [after]).every if not one.host]
    assert [one.changed for one in groups] == [False, False]
    assert all(one.ratio.low is not None and one.ratio.low < 0.9 for one in groups)
    assert not any(one.one_session for one in groups)


def test_a_single_session_has_the_error_of_the_sessions_of_the_other_study() -> None:
    before = moved(study(1), (1.0, 1.06, 0.95, 1.03))
    groups = [one for one in changes_since([before], [moved(study(2), (0.92,))]).every if not one.host]
    assert [(one.changed, one.one_session) for one in groups] == [(False, False)] * 2


def test_a_change_of_single_sessions_is_one_of_two_moments() -> None:
    found = changes_since([moved(study(1), (1.0,))], [moved(study(2), (0.8,))])
    assert [(one.one_session, one.changed) for one in found.every if not one.host] == [(True, True)] * 2
    lines = changes_lines(found)
    assert "sessions not repeated" in lines[0]
    assert ONE_SESSION in lines
    assert ONE_SESSION not in changes_lines(changes_since([study(1)], [study(2, groups={"type-1": 0.8})]))


@pytest.mark.slow
@pytest.mark.parametrize("sessions", [2, 3])
def test_the_interval_of_an_unchanged_group_contains_1_whatever_moments_hosts_share(sessions: int) -> None:
    def held(rng: np.random.Generator) -> bool:
        moments = [np.exp(0.05 * rng.normal(size=sessions)) for _ in range(2)]
        sides = [moved(study(int(rng.integers(2**31))), tuple(map(float, own))) for own in moments]
        group = next(one for one in changes_since([sides[0]], [sides[1]]).every if not one.host)
        return group.ratio.low is not None and group.ratio.low <= 1 <= (group.ratio.high or 0)

    low, high = share(map(held, generators(200, 5))).interval
    assert low <= 0.97
    assert high >= 0.95


def test_replaced_hosts_are_new_and_gone_and_their_groups_are_compared_without_pairs() -> None:
    one = study(2)
    renamed = {group: {f"new-{host}": own for host, own in hosts.items()} for group, hosts in one.groups.items()}
    found = changes_since([study(1)], [replace(one, groups=renamed)])
    assert len(found.new_hosts) == len(found.gone_hosts) == 16
    assert [(each.host, each.paired, each.changed) for each in found.every] == [("", False, False)] * 2


def test_a_host_in_another_group_than_before_is_neither_new_nor_gone() -> None:
    one = study(2)
    groups = {name: dict(hosts) for name, hosts in one.groups.items()}
    groups["type-1"]["h0-3"] = groups["type-0"].pop("h0-3")
    found = changes_since([study(1)], [replace(one, groups=groups)])
    assert (found.new_hosts, found.gone_hosts) == ((), ())
    assert found.moved_hosts == (("h0-3", "type-0", "type-1"),)
    assert any("h0-3 (type-0, now type-1)" in line for line in changes_lines(found))


def test_few_sessions_and_few_hosts_are_not_tested() -> None:
    def cut(one: FleetMetric) -> FleetMetric:
        groups = {"type-0": {host: dict(list(own.items())[:2]) for host, own in [*one.groups["type-0"].items()][:2]}}
        return replace(one, groups=groups)

    found = changes_since([cut(study(1))], [cut(study(2, groups={"type-0": 0.5}))])
    assert found.changed == ()
    assert [each.reason.partition(",")[0] for each in found.every] == ["2 hosts", "2 sessions", "2 sessions"]


def test_lemons_are_new_healed_or_gone() -> None:
    slow = study(1, hosts={"h0-1": 0.5, "h0-2": 0.5})
    later = study(2, hosts={"h0-2": 0.5, "h1-4": 0.4})
    found = changes_since([slow], [later])
    assert [one.host for one in found.new_lemons] == ["h1-4"]
    assert [one.host for one in found.healed_lemons] == ["h0-1"]
    hosts = {host: own for host, own in later.groups["type-0"].items() if host != "h0-1"}
    found = changes_since([slow], [replace(later, groups={**later.groups, "type-0": hosts})])
    assert (found.healed_lemons, found.gone_hosts) == ((), ("h0-1",))


def test_metrics_of_one_study_only_are_left_out() -> None:
    assert changes_since([study(1)], [replace(study(2), step="disk")]).every == ()


def test_changes_are_lines_with_groups_first() -> None:
    found = changes_since([study(1)], [study(2, groups={"type-1": 0.85}, hosts={"h0-3": 1.2, "h0-4": 0.4})])
    lines = changes_lines(found)
    assert lines[0].startswith("type-1, ")
    assert "in pairs: " in lines[0]
    assert "(95 % CI " in lines[0]
    assert any(line.startswith("type-0, h0-3: ") for line in lines)
    assert lines[-1] == "New lemons: h0-4"


def test_without_changes_a_line_reports_what_was_tested() -> None:
    (line,) = changes_lines(changes_since([study(1)], [study(2)]))
    assert "18 groups and hosts" in line
    assert changes_lines(changes_since([], [study(2)])) == [NOT_COMMON]


def test_changes_that_were_not_tested_are_counted() -> None:
    one = study(2)
    renamed = {group: {f"new-{host}": own for host, own in hosts.items()} for group, hosts in one.groups.items()}
    lines = changes_lines(changes_since([study(1)], [replace(one, groups={"type-0": renamed["type-0"]})]))
    assert ": 1 of 1, " not in lines[0]  # groups are compared without pairs
    assert [" h0-0, " in line for line in lines] == [False, False, True]
