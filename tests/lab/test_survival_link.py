"""A run survives its connection: cut, silent, unplugged, the server gone and back; and tells what it cannot survive."""

import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import (
    Event,
    FindingRaised,
    LinkChanged,
    Progress,
    SampleRead,
    State,
    TelemetryRead,
    TrialEnded,
    TrialStarted,
)
from app.hosts.leftovers import LeftoverOwner
from app.questions import RefusingAsker
from app.runs.control import Control
from app.runs.findings import CONNECTION_LOST
from app.services import Workstation
from remote.connection_state import LinkState, ReconnectPolicy
from tests.lab.counting import EVERY, counting_plan
from tests.lab.survival import (
    ALIVE,
    assert_no_leftovers,
    assert_whole,
    at_count,
    end,
    jobs_on,
    kill_jobs,
    leftovers_in,
    restart_host,
    run,
    states,
    trial_ends,
    watch,
)
from tests.lab_sshd import PASSPHRASE, AnsweringAsker, LabHost
from tests.messages import messages
from tests.processes import ends

MESSAGES = messages("lab", "test_survival_link")


def reported(events: list[Event]) -> list[str]:
    return [event.finding.id for event in events if isinstance(event, FindingRaised)]


def test_a_killed_connection_loses_nothing(workstation: Workstation, lab: LabHost) -> None:
    events = run(workstation, counting_plan(150), at_count(10, lab.cut))
    assert (end(events).state, end(events).reason) == (State.DONE, "")
    assert states(events) == [LinkState.LOST, LinkState.RECONNECTING, LinkState.BACK]
    record = assert_whole(workstation, 1, 150)
    assert CONNECTION_LOST in [finding.id for finding in record.findings]
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_the_gap_in_telemetry_is_a_gap(workstation: Workstation, lab: LabHost) -> None:
    events = run(workstation, counting_plan(220), at_count(110, lab.cut))
    (watched,) = {event.host for event in events if isinstance(event, TelemetryRead)}
    samples = workstation.telemetry("last")[watched]
    times = [sample.time for sample in samples if sample.metric.name == "cpu_idle"]
    assert times == sorted(set(times))
    # Rates are between two ticks of one connection: the first tick of the next has levels alone.
    levels = {sample.time for sample in samples if sample.metric.name == "load_1_minute"}
    assert len(levels - set(times)) >= 2


@pytest.mark.slow
def test_a_server_that_is_gone_for_a_while_is_found_again(workstation: Workstation, lab: LabHost) -> None:
    cut = at_count(10, lab.stop)

    def hand(event: Event, control: Control) -> None:
        cut(event, control)
        if isinstance(event, LinkChanged) and event.state is LinkState.RECONNECTING and event.attempt == 3:
            lab.start()

    events = run(workstation, counting_plan(300), hand)
    assert end(events).state is State.DONE
    attempts = [event.attempt for event in events if isinstance(event, LinkChanged) and event.attempt]
    assert attempts[:3] == [1, 2, 3]
    assert_whole(workstation, 1, 300)
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_trial_that_ended_meanwhile_is_read_to_its_end(workstation: Workstation, lab: LabHost) -> None:
    cut = at_count(10, lab.stop)

    def hand(event: Event, control: Control) -> None:
        cut(event, control)
        if isinstance(event, LinkChanged) and event.state is LinkState.LOST:
            assert all(map(ends, jobs_on(lab.home)))
            lab.start()

    events = run(workstation, counting_plan(30), hand)
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, 30)


@pytest.mark.slow
def test_an_outage_is_neither_the_length_of_a_trial_nor_of_a_gap(workstation: Workstation, lab: LabHost) -> None:
    outage = 6.0

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, TrialStarted) and event.trial.number == 1:  # all its samples arrive late
            lab.stop()
        if isinstance(event, LinkChanged) and event.state is LinkState.LOST:
            time.sleep(outage)
            lab.start()

    events = run(workstation, counting_plan(30, trials=2), hand)
    first = trial_ends(events)[0]
    assert first.origin is not None
    assert first.ended_clock is not None
    assert first.origin + first.parsed.samples[-1].time <= first.ended_clock
    left = [event.remaining for event in events if isinstance(event, Progress) and event.done == 1]
    assert left
    assert all(seconds is not None and seconds < outage for seconds in left)


@pytest.mark.slow
def test_a_stalled_link_is_reported_and_replaced(workstation: Workstation, lab: LabHost) -> None:
    cut_at: list[float] = []

    def fall_silent() -> None:
        lab.cut(signal.SIGSTOP)
        cut_at.append(time.monotonic())

    events = run(workstation, counting_plan(300), at_count(10, fall_silent))
    assert states(events) == [LinkState.STALLED, LinkState.LOST, LinkState.RECONNECTING, LinkState.BACK]
    stalled = next(event for event in events if isinstance(event, LinkChanged))
    assert abs(stalled.since - cut_at[0]) < 5.0
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, 300)


@pytest.mark.slow
def test_a_link_that_only_pauses_is_kept(workstation: Workstation, lab: LabHost) -> None:
    silent = at_count(10, lambda: lab.cut(signal.SIGSTOP))

    def hand(event: Event, control: Control) -> None:
        silent(event, control)
        if isinstance(event, LinkChanged) and event.state is LinkState.STALLED:
            lab.cut(signal.SIGCONT)

    events = run(workstation, counting_plan(180), hand)
    assert states(events) == [LinkState.STALLED, LinkState.BACK]
    assert CONNECTION_LOST not in reported(events)
    assert_whole(workstation, 1, 180)


def test_a_changed_host_key_blocks_and_the_job_is_known(workstation: Workstation, lab: LabHost) -> None:
    events = run(workstation, counting_plan(3000), at_count(10, lambda: lab.restart(host_key=lab.keys.other_host)))
    assert states(events)[-1] is LinkState.GIVEN_UP
    assert end(events).state is State.PARTIAL
    assert MESSAGES["the_key_of_lab_has_changed"] in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    assert jobs_on(lab.home)
    lab.restart(host_key=lab.keys.host)
    (left,) = leftovers_in(lab.home, workstation.leftovers("lab", RefusingAsker()))
    assert (left.owner, left.processes > 0) == (LeftoverOwner.ENDED_RUN, True)
    assert leftovers_in(lab.home, workstation.remove_leftovers("lab", RefusingAsker(), [left.nonce])) == []
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_jump_host_that_dies_is_gone_around_when_it_is_back(
    workstation: Workstation, start_lab_host: Callable[..., LabHost]
) -> None:
    jump, host = start_lab_host(), start_lab_host()
    jump.add_to_home("jump")
    host.add_to_home("lab", more=f"{ALIVE}  ProxyJump jump\n")
    cut = at_count(10, jump.stop)
    named: list[str] = []

    def hand(event: Event, control: Control) -> None:
        cut(event, control)
        if isinstance(event, LinkChanged) and event.attempt == 2 and not named:
            named.append(event.detail)
            jump.start()

    assert end(run(workstation, counting_plan(300), hand)).state is State.DONE
    assert MESSAGES["its_jump_host_jump_failed"] in named[0]
    assert_whole(workstation, 1, 300)
    assert_no_leftovers(host.home)


@pytest.mark.slow
def test_a_passphrase_is_asked_for_once(workstation: Workstation, lab_host: LabHost) -> None:
    folder = Path.home() / ".ssh"
    folder.mkdir(mode=0o700)
    (folder / "config").write_text(lab_host.config(key=lab_host.keys.encrypted))
    (folder / "known_hosts").write_text(lab_host.known_hosts_line)
    asker = AnsweringAsker(secrets=[PASSPHRASE])
    cut, control = at_count(10, lab_host.cut), Control()
    events = watch(workstation.run(counting_plan(300), asker, control), control, cut)
    assert end(events).state is State.DONE
    assert LinkState.BACK in states(events)
    assert len(asker.secret_questions) == 1
    assert_whole(workstation, 1, 300)


@pytest.mark.slow
def test_stopping_a_run_whose_host_is_away_does_not_wait_for_it(workstation: Workstation, lab: LabHost) -> None:
    lose = at_count(10, lab.stop)

    def hand(event: Event, control: Control) -> None:
        lose(event, control)
        if isinstance(event, LinkChanged) and event.state is LinkState.RECONNECTING:
            control.stop()

    began = time.monotonic()
    events = run(workstation, counting_plan(3000), hand)
    assert time.monotonic() - began < 20.0
    assert end(events).state is State.PARTIAL
    assert MESSAGES["the_connection_to_lab_was"] in end(events).reason
    assert workstation.samples("last")[1][-1].value >= 10
    lab.start()
    nonces = [left.nonce for left in workstation.leftovers("lab", RefusingAsker())]
    assert leftovers_in(lab.home, workstation.remove_leftovers("lab", RefusingAsker(), nonces)) == []
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_patience_ends(workstation: Workstation, lab: LabHost) -> None:
    workstation._patience = ReconnectPolicy(first=0.1, longest=0.2, total=0.5)
    events = run(workstation, counting_plan(3000), at_count(10, lab.stop))
    assert end(events).state is State.PARTIAL
    assert "reconnecting failed" in end(events).reason
    assert states(events)[-1] is LinkState.GIVEN_UP
    kill_jobs(lab.home)


# A restart of the host


def test_a_restart_of_the_host_is_recognised(workstation: Workstation, lab: LabHost, other_boot: list[str]) -> None:
    plan = counting_plan(3000, trials=3)
    events = run(workstation, plan, at_count(10, lambda: restart_host(lab, other_boot)))
    assert end(events).state is State.PARTIAL
    assert "lab restarted at" in end(events).reason
    assert [event.state for event in trial_ends(events)] == [State.PARTIAL]
    back = next(event for event in events if isinstance(event, LinkChanged) and event.state is LinkState.BACK)
    assert back.restarted
    assert CONNECTION_LOST not in reported(events)
    values = [sample.value for sample in workstation.samples("last")[1]]
    assert values == [float(number) for number in range(1, len(values) + 1)]
    assert len(values) >= 10
    assert workstation.output("last", 1)["stdout"].startswith(b"n 1\nn 2\n")
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_a_restart_between_trials_leaves_a_run_that_is_not_whole(
    workstation: Workstation, lab: LabHost, other_boot: list[str]
) -> None:
    restarted: list[bool] = []

    def hand(event: Event, _control: Control) -> None:
        if isinstance(event, TrialEnded) and not restarted:
            restarted.append(True)
            restart_host(lab, other_boot)

    events = run(workstation, counting_plan(40, trials=3), hand)
    assert end(events).state is State.PARTIAL
    assert CONNECTION_LOST not in reported(events)
    (incomplete,) = [one for one in workstation.load("last").findings if one.id == "trials-failed"]
    assert incomplete.measured.startswith("1 of 3 ")


# A network of its own


@pytest.fixture
def unplugged(start_lab_host: Callable[..., LabHost]) -> Iterator[tuple[LabHost, Callable[[str], None]]]:
    """A host in a network namespace, and a function that sets its link up or down."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    name = f"bw{os.getpid() % 10000}"
    subnet = f"10.213.{os.getpid() % 250}"

    def ip(*words: str) -> None:
        subprocess.run(["ip", *words], check=True, capture_output=True)

    try:
        ip("netns", "add", name)
        ip("link", "add", name, "type", "veth", "peer", "name", "eth0", "netns", name)
        ip("addr", "add", f"{subnet}.1/24", "dev", name)
        ip("link", "set", name, "up")
        for words in (("addr", "add", f"{subnet}.2/24", "dev", "eth0"), ("link", "set", "eth0", "up")):
            ip("-n", name, *words)
    except (OSError, subprocess.CalledProcessError) as error:
        subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)
        pytest.skip(f"network namespaces cannot be made here: {error}")
    host = start_lab_host()
    host.stop()
    host.prefix, host.address = ["ip", "netns", "exec", name], f"{subnet}.2"
    host.start(ListenAddress=host.address)
    host.add_to_home(more=ALIVE + "  ConnectTimeout 2\n")
    yield host, lambda state: ip("link", "set", name, state)
    host.stop()
    subprocess.run(["ip", "netns", "del", name], check=True, capture_output=True)


@pytest.mark.slow
def test_an_unplugged_host_goes_on_and_is_found_again(
    workstation: Workstation, unplugged: tuple[LabHost, Callable[[str], None]]
) -> None:
    host, link = unplugged
    cut = at_count(10, lambda: link("down"))

    def hand(event: Event, control: Control) -> None:
        cut(event, control)
        if isinstance(event, LinkChanged) and event.state is LinkState.RECONNECTING:
            link("up")

    events = run(workstation, counting_plan(300), hand)
    assert [state for state in states(events) if state is not LinkState.STALLED][:2] == [
        LinkState.LOST,
        LinkState.RECONNECTING,
    ]
    assert end(events).state is State.DONE
    assert_whole(workstation, 1, 300)
    assert_no_leftovers(host.home)


# Stopping


@pytest.mark.slow
@pytest.mark.alone
@pytest.mark.parametrize("deaf", [pytest.param(False, marks=pytest.mark.slow), True])
def test_a_stop_ends_everything_within_five_seconds(workstation: Workstation, lab: LabHost, *, deaf: bool) -> None:
    stopped: list[float] = []

    def hand(event: Event, control: Control) -> None:
        if isinstance(event, SampleRead) and event.sample.value == 10:
            stopped.append(time.monotonic())
            control.stop()

    events: list[Event] = []

    def dead(event: Event, control: Control) -> None:
        hand(event, control)
        events.append(event)
        if len(stopped) == 1 and not jobs_on(lab.home):
            stopped.append(time.monotonic())

    run(workstation, counting_plan(3000, deaf=deaf), dead)
    assert end(events).state is State.PARTIAL
    assert stopped[1] - stopped[0] < 5.0
    assert_no_leftovers(lab.home)


@pytest.mark.slow
def test_time_of_a_lost_link_does_not_make_a_trial_late(workstation: Workstation, lab: LabHost) -> None:
    """The clock of a trial that is still measuring does not run out while nobody sees it."""
    events = run(workstation, counting_plan(40), at_count(5, lab.cut))
    (started,) = [event for event in events if isinstance(event, TrialStarted)]
    assert started.expected == 40 * EVERY
    assert end(events).state is State.DONE
