"""What comes true while a trial runs, staged with the real kernel: told before it ends, each with its clean twin."""

import contextlib
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from app.events import Event, FindingRaised, SampleRead, TrialEnded, TrialStarted
from app.plans.plan import LOCAL, Plan, Repetition, Step, make_step
from app.questions import RefusingAsker
from app.records import RunRecord
from app.runs.control import Control
from app.services import Workstation
from app.verdict.listing import listed
from suites.verdict import Limiter, Verdict
from suites.vocab import Finding
from tests.lab.links import LinkedHosts
from tests.lab.probe_runs import workstation
from tests.lab_sshd import LabHost

__all__ = ["workstation"]

pytestmark = pytest.mark.alone

MIB = 2**20
GROUPS = Path("/sys/fs/cgroup")
"""Where the controllers of the first version are mounted."""

needs_sysbench = pytest.mark.skipif(shutil.which("sysbench") is None, reason="sysbench is not installed")
needs_fio = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")
needs_iperf3 = pytest.mark.skipif(shutil.which("iperf3") is None, reason="iperf3 is not installed")


@pytest.fixture
def grouped(lab_host: LabHost) -> Iterator[Callable[..., Path]]:
    """Return what puts the lab host, and all that will run on it, into a control group with some settings."""
    made: list[Path] = []

    def group(controller: str, **settings: str) -> Path:
        parent = GROUPS / controller
        if os.geteuid() != 0 or not (parent / "cgroup.procs").exists():
            pytest.skip(f"needs root and {controller} groups of the first version")
        path = parent / f"benchwright-during-{os.getpid()}-{lab_host.port}"
        path.mkdir()
        made.append(path)
        for name, value in settings.items():
            (path / f"{controller}.{name}").write_text(value)
        (path / "cgroup.procs").write_text(str(lab_host.pid))
        return path

    lab_host.add_to_home()
    yield group
    lab_host.stop()
    for path in made:
        for line in (path / "cgroup.procs").read_text().split():
            with contextlib.suppress(ProcessLookupError):
                (path.parent / "cgroup.procs").write_text(line)
        path.rmdir()


Happened = Callable[[Event], None]


def measured(
    workstation: Workstation, step: Step, host: str = LOCAL, happened: Happened = lambda _event: None
) -> tuple[dict[str, Finding], Verdict, RunRecord]:
    """Run one trial; return what was told last while it ran by its id, the verdict, and what is stored."""
    plan = Plan("during", (host,), (step,), repetition=Repetition(1))
    reported: dict[str, Finding] = {}
    under_way = False
    workstation.consents.remember_made(plan)
    for event in workstation.run(plan, RefusingAsker(), Control()):
        happened(event)
        if isinstance(event, TrialStarted | TrialEnded):
            under_way = isinstance(event, TrialStarted)
        elif isinstance(event, FindingRaised) and under_way:
            assert event.trial == 1
            reported[event.finding.id] = event.finding
    record = workstation.load("last")
    verdict = record.verdict_on(step.name, host)
    assert verdict is not None, record.reason
    return reported, verdict, record


@pytest.fixture
def swap() -> Iterator[None]:
    """Give this computer 512 MiB of swap in a file on a disk, for as long as the test runs."""
    if os.geteuid() != 0 or shutil.which("mkswap") is None or shutil.which("swapon") is None:
        pytest.skip("needs root, mkswap and swapon")
    file = Path(f"/var/tmp/benchwright-swap-{os.getpid()}")
    try:
        file.touch(mode=0o600)
        subprocess.run(["dd", "if=/dev/zero", f"of={file}", "bs=1M", "count=512"], check=True, capture_output=True)
        subprocess.run(["mkswap", str(file)], check=True, capture_output=True)
        if subprocess.run(["swapon", str(file)], check=False, capture_output=True).returncode:
            pytest.skip("this kernel takes no swap file here")
        yield
    finally:
        subprocess.run(["swapoff", str(file)], check=False, capture_output=True)
        file.unlink(missing_ok=True)


def ids(verdict: Verdict) -> set[str]:
    return {finding.id for finding in verdict.findings}


@contextlib.contextmanager
def neighbour(folder: Path) -> Iterator[None]:
    """Keep one processor busy as somebody else would, under a name that is told from all others."""
    shell = shutil.which("sh")
    assert shell is not None
    (folder / "bw-neighbour").symlink_to(shell)
    (folder / "spin.sh").write_text("while :; do :; done\n")
    with subprocess.Popen([folder / "bw-neighbour", folder / "spin.sh"], start_new_session=True) as spinning:
        try:
            yield
        finally:
            spinning.kill()


@pytest.mark.slow
@needs_sysbench
def test_another_process_is_named_while_the_trial_runs_and_counts_in_the_verdict(
    workstation: Workstation, tmp_path: Path
) -> None:
    step = make_step("sysbench-cpu", {"time": 13, "threads": 1})
    with neighbour(tmp_path):
        reported, verdict, record = measured(workstation, step)
    assert "bw-neighbour " in reported["other-process"].measured
    assert "sysbench" not in reported["other-process"].measured
    stored = [finding for finding in record.findings if finding.id == "other-process"]
    assert reported["other-process"] in stored
    assert len([finding for finding in listed(record) if finding.id == "other-process"]) == 1
    (found,) = (finding for finding in verdict.findings if finding.id == "other-process")
    assert "bw-neighbour" in found.measured


@pytest.mark.slow
@needs_sysbench
def test_neither_the_test_nor_its_workstation_is_another_process(workstation: Workstation) -> None:
    reported, verdict, _ = measured(workstation, make_step("sysbench-cpu", {"time": 13, "threads": 2}))
    shown = [finding.measured for finding in (*reported.values(), *verdict.findings) if finding.id == "other-process"]
    assert not [words for words in shown if "sysbench" in words]


@pytest.mark.slow
@needs_sysbench
def test_a_quota_is_told_while_it_bites(workstation: Workstation, grouped: Callable[..., Path]) -> None:
    grouped("cpu", cfs_quota_us="10000")  # a tenth of a processor: less than others leave it
    step = make_step("sysbench-cpu", {"time": 12, "threads": 2})
    reported, verdict, _ = measured(workstation, step, "lab")
    assert "quota was exhausted in " in reported["quota-throttled"].measured
    assert verdict.limited_by is Limiter.QUOTA, verdict.summary


@pytest.mark.slow
@needs_sysbench
def test_a_group_without_a_quota_is_none(workstation: Workstation, grouped: Callable[..., Path]) -> None:
    grouped("cpu")
    reported, verdict, _ = measured(workstation, make_step("sysbench-cpu", {"time": 12, "threads": 1}), "lab")
    assert "quota-throttled" not in {*reported} | ids(verdict)
    assert verdict.limited_by is not Limiter.QUOTA


@pytest.mark.slow
@needs_sysbench
@pytest.mark.usefixtures("swap")
@pytest.mark.parametrize("short", [True, False])
def test_a_working_set_that_is_swapped_is_told(
    workstation: Workstation,
    grouped: Callable[..., Path],
    short: bool,  # noqa: FBT001 (a case)
) -> None:
    grouped("memory", limit_in_bytes=str((128 if short else 1024) * MIB))
    given = {"block_size": 256 * MIB, "threads": 1, "total_size": 2**50, "time": 12}
    reported, verdict, record = measured(workstation, make_step("sysbench-memory", given), "lab")
    assert ("swapped" in {*reported} & ids(verdict)) is short, record.reason or verdict.summary


def _disk_of(workstation: Workstation) -> tuple[str, str]:
    """Return a directory on a disk whose I/Os the kernel counts, and the disk's numbers."""
    for found in workstation.facts(LOCAL, RefusingAsker()).directories:
        if isinstance(found.device, str) and found.direct is True:
            return found.path, (Path("/sys/class/block") / found.device / "dev").read_text().strip()
    pytest.skip("no directory here is on a disk that the kernel counts")


BURST = 15.0
"""Seconds into the trial at which the limit falls, as where a token bucket runs empty."""


@pytest.mark.slow
@needs_fio
@pytest.mark.parametrize("empties", [True, False])
def test_a_burst_that_ends_is_told_with_both_rates_and_when(
    workstation: Workstation,
    grouped: Callable[..., Path],
    empties: bool,  # noqa: FBT001 (a case)
) -> None:
    directory, disk = _disk_of(workstation)
    limit = grouped("blkio", **{"throttle.read_iops_device": f"{disk} 2000"}) / "blkio.throttle.read_iops_device"

    def fall(event: Event) -> None:
        if isinstance(event, SampleRead) and event.sample.time >= BURST and empties:
            limit.write_text(f"{disk} 800")

    given = {"directory": directory, "rw": "randread", "size": 256 * MIB, "block_size": 4096, "direct": True}
    step = make_step("fio", {**given, "ioengine": "libaio", "iodepth": 16, "runtime": 45})
    reported, verdict, record = measured(workstation, step, "lab", fall)
    assert ("token-bucket" in reported) is empties, record.reason
    assert ("token-bucket" in ids(verdict)) is empties
    if empties:
        high, low = (float(words) for words in _rates(reported["token-bucket"].measured))
        assert high == pytest.approx(2000, rel=0.05)
        assert low == pytest.approx(800, rel=0.15)  # the last seconds of the burst are in it


def _rates(words: str) -> tuple[str, str]:
    """Return the two rates of ``2,000 /s until 15 s, then 800 /s.``, without their units."""
    first, _, rest = words.partition(" until ")
    _, _, second = rest.partition(", then ")
    return _number(first), _number(second.partition(". ")[0])


def _number(text: str) -> str:
    number, _, unit = text.replace(",", "").partition(" ")
    return str(float(number) * (1000 if unit.startswith("k") else 1))


@pytest.mark.slow
@needs_iperf3
@pytest.mark.parametrize("lossy", [True, False])
def test_segments_that_are_lost_are_counted_by_the_host_that_sends_them_again(
    workstation: Workstation,
    linked_hosts: LinkedHosts,
    lossy: bool,  # noqa: FBT001 (a case)
) -> None:
    near, far = linked_hosts(2)
    near.shape(50, latency=200)
    if lossy:
        far.lose(0.02, protocol="tcp")
    step = make_step("iperf3", {"time": 12, "omit": 1, "address": far.address}, peer=far.alias)
    reported, verdict, _ = measured(workstation, step, near.alias)
    assert ("segments-sent-again" in {*reported} & ids(verdict)) is lossy, verdict.summary


@pytest.mark.slow
@needs_iperf3
@pytest.mark.parametrize(("bitrate", "dropped"), [(20_000.0, True), (20.0, False)])
def test_datagrams_that_come_faster_than_they_are_fetched_are_no_loss_of_the_link(
    workstation: Workstation,
    bitrate: float,
    dropped: bool,  # noqa: FBT001 (a case)
) -> None:
    step = make_step("iperf3", {"time": 12, "omit": 0, "protocol": "udp", "bitrate": bitrate}, peer=LOCAL)
    reported, verdict, _ = measured(workstation, step)
    assert ("packets-dropped" in {*reported} & ids(verdict)) is dropped, verdict.summary
