"""A study of real hosts whose program prints values with known variance components: the results contain them."""

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from app.comparison.variance import GROUP, HOST, RUN, TRIAL
from app.fleet.levels import FleetLevels
from app.fleet.study import FleetMetric
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostRunState
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from tests.lab.fleet_hosts import fleet, names_of
from tests.lab_sshd import AnsweringAsker, LabKeys
from tests.simulation.fleets import SimulatedFleet, fleet_of

TRUTH = {TRIAL: 0.01, RUN: 0.02, HOST: 0.03, GROUP: 0.1}
"""Standard deviations of logarithms by level."""

DESIGN = SimulatedFleet(4, 10, 3, 3, trial=TRUTH[TRIAL], session=TRUTH[RUN], instance=TRUTH[HOST], type=TRUTH[GROUP])

NEXT_VALUE = "sh -c 'n=$(cat $VALUES.next); echo $((n + 1)) > $VALUES.next; sed -n ${n}p $VALUES'"
"""A program that prints the next line of the file in $VALUES."""


def written(folder: Path, values: list[float]) -> dict[str, str]:
    """Write the values of a host; return the environment of NEXT_VALUE there."""
    folder.mkdir(parents=True)
    table = folder / "values"
    table.write_text("".join(f"{value:.6f}\n" for value in values))
    table.with_name("values.next").write_text("1\n")
    return {"VALUES": str(table)}


def is_inside(levels: FleetLevels, name: str) -> bool:
    """Return whether the known component of a level is within its interval."""
    level = levels.level(name)
    assert level.low is not None
    assert level.high is not None
    return level.low < TRUTH[name] < level.high


@pytest.mark.slow
def test_a_staged_study_recovers_its_components(
    tmp_path: Path, lab_keys: LabKeys, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("app.plans.validation.LEAST_EVERY", 0.5)
    staged = fleet_of(np.random.default_rng(16), DESIGN)
    names = names_of(DESIGN.types * DESIGN.instances)
    drawn = [(group, sessions) for group, hosts in staged.groups.items() for sessions in hosts.values()]
    environment = {
        name: written(tmp_path / "values" / name, list(chain.from_iterable(sessions.values())))
        for name, (_, sessions) in zip(names, drawn, strict=True)
    }
    step = make_step("command", {"command": NEXT_VALUE, "figure": "pattern", "pattern": "([0-9.]+)"}, name="staged")
    repetition = Repetition(trials=DESIGN.trials, sessions=DESIGN.sessions, every=1.0)
    hosts = tuple(FleetHost(name, group) for name, (group, _) in zip(names, drawn, strict=True))
    plan = FleetPlan(Plan("staged", (), (step,), repetition=repetition), hosts, limits=FleetLimits(8))
    workstation = Workstation(tmp_path / "library.db", tmp_path / "hosts.toml")
    with fleet(tmp_path / "fleet", lab_keys, names, environment=environment):
        study = workstation.begin_fleet_study(plan, AnsweringAsker())
        ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    assert ended.counts == {HostRunState.DONE: len(names) * DESIGN.sessions}
    found = workstation.fleet_results(study.id)
    (one,), (levels,) = found.metrics, found.levels
    assert not found.search.lemons
    assert values_by_host(one) == {
        name: pytest.approx(list(chain.from_iterable(sessions.values())), abs=1e-5)
        for name, (_, sessions) in zip(names, drawn, strict=True)
    }
    assert levels is not None
    assert [name for name in TRUTH if not is_inside(levels, name)] == []


def values_by_host(one: FleetMetric) -> dict[str, list[float]]:
    """Return the trials of each host, by session."""
    return {
        host: list(chain.from_iterable(sessions[key] for key in sorted(sessions)))
        for hosts in one.groups.values()
        for host, sessions in hosts.items()
    }
