"""A worker as it is installed: without the window's packages it carries a host-run; what it lacks it names."""

from pathlib import Path

import pytest

from app.fleet_study import FleetHost, FleetPlan, HostRunState
from app.library_location import ServerUrl
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from tests.app.stores import postgresql, url
from tests.lab.test_installed import WINDOW, installed, ran, wheel
from tests.lab_sshd import AnsweringAsker, LabHost

__all__ = ["postgresql", "url", "wheel"]  # fixtures

pytestmark = pytest.mark.slow


def test_a_worker_needs_no_window(wheel: Path, tmp_path: Path, url: ServerUrl, lab_host: LabHost) -> None:
    lab_host.add_to_home()
    call = installed(wheel, tmp_path / "worker", WINDOW)
    words = ("--store", url.url, "worker")
    refused = ran(call, *words, "--once")
    assert refused.returncode == 2
    assert "worker --prepare" in refused.stderr
    assert ran(call, *words, "--prepare").returncode == 0
    workstation = Workstation(url, tmp_path / "hosts.toml")
    plan = Plan("short", (), (make_step("sysbench-cpu", {"time": 1, "threads": 1}),), repetition=Repetition(trials=1))
    workstation.begin_fleet_study(FleetPlan(plan, (FleetHost("lab", "g"),)), AnsweringAsker(), by_workers=True)
    done = ran(call, *words, "--once")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert workstation.fleet_study("last").counts == {HostRunState.DONE: 1}
    workstation.close()


@pytest.mark.parametrize(
    ("missing", "extra"), [("procrastinate", "worker"), ("psycopg_pool", "worker"), ("psycopg", "postgresql")]
)
def test_a_missing_package_is_named_with_its_command(
    wheel: Path, tmp_path: Path, url: ServerUrl, missing: str, extra: str
) -> None:
    call = installed(wheel, tmp_path / "worker", (*WINDOW, missing))
    done = ran(call, "--store", url.url, "worker", "--once")
    assert (done.returncode, done.stdout) == (2, "")
    command = f"pip install 'benchwright[{extra}]'"
    assert f"package {missing} is missing. Install it with: {command}" in done.stderr
    assert len(done.stderr.splitlines()) == 1
