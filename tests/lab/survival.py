"""What the tests of survival share: a workstation with little patience, runs with a hand on them, and what is left."""

import contextlib
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import Event, LinkChanged, RunEnded, SampleRead, State, TrialEnded
from app.hosts.leftovers import Leftover, LeftoverOwner
from app.plans.plan import Plan
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from app.services import Workstation
from remote.connection_state import LinkState, ReconnectPolicy
from suites import registry
from tests.lab.counting import Counting, output
from tests.lab_sshd import LabHost
from tests.processes import processes_with

QUICK = ReconnectPolicy(first=0.2, longest=0.4, total=60.0)
"""Enough for a server to start again on a busy machine."""

ALIVE = "  ServerAliveInterval 1\n  ServerAliveCountMax 3\n"
"""A link that is silent for 3 s is broken."""


@pytest.fixture
def workstation(tmp_path: Path, few_programs: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[Workstation]:
    """Return a workstation whose plans can count, and that seeks a lost host often, and not for long."""
    monkeypatch.setattr(registry, "SUITES", (*registry.SUITES, Counting()))
    opened = Workstation(tmp_path / "runs.sqlite3", tmp_path / "hosts.toml", patience=QUICK)
    yield opened
    opened.close()


@pytest.fixture
def lab(lab_host: LabHost) -> LabHost:
    """Return a running host, the alias "lab", whose silence is noticed soon."""
    lab_host.add_to_home(more=ALIVE)
    return lab_host


@pytest.fixture
def other_boot(tmp_path: Path) -> list[str]:
    """Words behind which a process sees another boot id; skip where that is not possible."""
    boot = tmp_path / "boot_id"
    boot.write_text("11111111-2222-3333-4444-555555555555\n")
    path = "/proc/sys/kernel/random/boot_id"
    words = ["unshare", "-m", "sh", "-c", f'mount --bind "$0" {path} && exec "$@"', str(boot)]
    if subprocess.run([*words, "grep", "-q", "11111111", path], capture_output=True, check=False).returncode:
        pytest.skip("another boot id needs root and mount namespaces")
    return words


def restart_host(lab: LabHost, other_boot: list[str]) -> None:
    """Let the host restart: everything on it ends at once, and it comes back with another boot id."""
    lab.stop()
    kill_jobs(lab.home)
    lab.prefix = other_boot
    lab.start()


Hand = Callable[[Event, Control], None]


def run(workstation: Workstation, plan: Plan, hand: Hand | None = None, control: Control | None = None) -> list[Event]:
    """Run `plan`, made here; `hand` sees every event as it happens."""
    workstation.consents.remember_made(plan)
    return watch(workstation.run(plan, RefusingAsker(), control := control or Control()), control, hand)


def attach(
    workstation: Workstation, hand: Hand | None = None, control: Control | None = None, run_id: str = "last"
) -> list[Event]:
    """Go on with the run that is detached."""
    return watch(workstation.attach(run_id, RefusingAsker(), control := control or Control()), control, hand)


def watch(events: Iterator[Event], control: Control, hand: Hand | None) -> list[Event]:
    seen: list[Event] = []
    for event in events:
        seen.append(event)
        if hand is not None:
            hand(event, control)
    return seen


def at_count(number: int, act: Callable[[], None]) -> Hand:
    """Return a hand that acts once, when the trial has counted to `number`."""
    done: list[bool] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value >= number and not done:
            done.append(True)
            act()

    return hand


def states(events: list[Event]) -> list[LinkState]:
    """Return how the link stood, in order, each change once."""
    found = [event.state for event in events if isinstance(event, LinkChanged)]
    return [state for index, state in enumerate(found) if not index or found[index - 1] is not state]


def end(events: list[Event]) -> RunEnded:
    assert isinstance(events[-1], RunEnded)
    return events[-1]


def trial_ends(events: list[Event]) -> list[TrialEnded]:
    return [event for event in events if isinstance(event, TrialEnded)]


def assert_whole(workstation: Workstation, trial: int, count: int, run_id: str = "last") -> RunRecord:
    """Assert that every byte and every sample of a trial is stored, once."""
    record = workstation.load(run_id)
    assert record.trials[trial - 1].state is State.DONE
    assert workstation.output(record.summary.id, trial) == output(count)
    stored = [sample.value for sample in workstation.samples(record.summary.id)[trial]]
    assert stored == [float(number) for number in range(1, count + 1)]
    return record


def jobs_on(home: Path) -> list[int]:
    """Return the processes of jobs of the host whose home that is."""
    ours = set(processes_with(f"HOME={home}\0"))
    return sorted(ours & set(processes_with("BENCHWRIGHT_JOB=")))


def signal_jobs(home: Path, number: signal.Signals) -> None:
    """Signal every process of jobs there; one that ends meanwhile (a `sleep` between two lines) is passed over."""
    for pid in jobs_on(home):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)


def kill_jobs(home: Path) -> None:
    """End every job there, as a restart of the host would."""
    signal_jobs(home, signal.SIGKILL)


def workspaces_on(home: Path) -> list[Path]:
    """Return the private directories that are on the host whose home that is."""
    return list(home.glob("benchwright-*"))


def leftovers_in(home: Path, found: list[Leftover]) -> list[Leftover]:
    """Return those that this test left: others may work on this computer, too."""
    return [leftover for leftover in found if Path(leftover.path).parent == home]


def own_leftovers(found: list[Leftover]) -> list[Leftover]:
    """Return those that the test's own library knows: others may work on this computer, too."""
    return [leftover for leftover in found if leftover.owner is not LeftoverOwner.OTHERS]


def assert_no_leftovers(home: Path) -> None:
    assert jobs_on(home) == []
    assert workspaces_on(home) == []
    assert list(Path(os.environ["BENCHWRIGHT_LEASES"]).iterdir()) == []
