"""Settings of a host are changed as root, noted down there first, and put back, whatever became of who changed them."""

import os
import shlex
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from remote.session import Session
from remote.tuning import AppliedSetting, Setting, SettingKind, apply, drop_caches, notes, restore_settings
from tests.host_shells import Prefixed, shell_path
from tests.loop_devices import MIB, MakeLoop, make_loop, partition_of
from tests.messages import messages

MESSAGES = messages("lab", "test_tune_hosts")

__all__ = ["make_loop"]

RUN, OTHER = "20261120-141530-aaaa", "20261120-151530-bbbb"
GOVERNOR = Setting(SettingKind.GOVERNOR, "performance")


@pytest.fixture(params=["dash", "bash", "busybox"])
def machine(request: pytest.FixtureRequest, tmp_path: Path, behind: Callable[..., Prefixed]) -> Session:
    """A host for each shell we support, with two CPU policies and a /run of its own; its disks are this computer's."""
    if os.geteuid() != 0 or shutil.which("unshare") is None:
        pytest.skip("needs root and unshare")
    for number, governor in enumerate(("powersave", "schedutil")):
        policy = tmp_path / "cpu" / "cpufreq" / f"policy{number}"
        policy.mkdir(parents=True)
        (policy / "scaling_governor").write_text(f"{governor}\n")
    for folder in ("run", "shell"):
        (tmp_path / folder).mkdir()
    path = shell_path(request.param, tmp_path / "shell")
    mounts = [f"mount --bind {tmp_path}/cpu /sys/devices/system/cpu", f"mount --bind {tmp_path}/run /run"]
    inside = "; ".join(["set -e", "mount --make-rprivate /", *mounts, f'exec env {shlex.quote(f"PATH={path}")} "$@"'])
    return behind("unshare", "-m", "sh", "-c", inside, "sh")


def governors(tmp_path: Path) -> list[str]:
    return [path.read_text().strip() for path in sorted(tmp_path.glob("cpu/cpufreq/*/scaling_governor"))]


def queue(device: str, name: str) -> Path:
    return Path("/sys/block") / Path(device).name / "queue" / name


def policy(number: int) -> str:
    return f"/sys/devices/system/cpu/cpufreq/policy{number}/scaling_governor"


def test_every_cpu_gets_the_governor_and_its_own_back(machine: Session, tmp_path: Path) -> None:
    applied, failed = apply(machine, RUN, [GOVERNOR])
    assert applied == (
        AppliedSetting(policy(0), "powersave", "performance"),
        AppliedSetting(policy(1), "schedutil", "performance"),
    )
    assert not failed
    assert governors(tmp_path) == ["performance", "performance"]
    assert {(back.path, back.run, back.problem) for back in restore_settings(machine, RUN)} == {
        (policy(0), RUN, ""),
        (policy(1), RUN, ""),
    }
    assert governors(tmp_path) == ["powersave", "schedutil"]
    assert notes(machine) == ()


def test_readahead_and_scheduler_of_a_real_device(machine: Session, make_loop: MakeLoop) -> None:
    device = make_loop()
    before = queue(device, "read_ahead_kb").read_text().strip()
    choices = queue(device, "scheduler").read_text().replace("[", "").replace("]", "").split()
    chosen = next(name for name in (*choices, "none") if f"[{name}]" not in queue(device, "scheduler").read_text())
    wanted = [
        Setting(SettingKind.READAHEAD, str(int(before) + 64), device),
        Setting(SettingKind.SCHEDULER, chosen, device),
    ]
    applied, failed = apply(machine, RUN, wanted)
    assert (len(applied), dict(failed)) == (2, {})
    assert queue(device, "read_ahead_kb").read_text().strip() == str(int(before) + 64)
    assert f"[{chosen}]" in queue(device, "scheduler").read_text() or choices == [chosen]
    restore_settings(machine)
    assert queue(device, "read_ahead_kb").read_text().strip() == before


def test_what_is_as_wanted_is_not_a_change(machine: Session, tmp_path: Path) -> None:
    for path in tmp_path.glob("cpu/cpufreq/*/scaling_governor"):
        path.write_text("performance\n")
    assert apply(machine, RUN, [GOVERNOR]) == ((), {})
    assert notes(machine) == ()


def test_the_first_value_is_the_one_that_is_put_back(machine: Session, tmp_path: Path) -> None:
    """A run that crashed left its value: the next run must not take that for the host's own."""
    apply(machine, RUN, [GOVERNOR])
    applied, _ = apply(machine, OTHER, [Setting(SettingKind.GOVERNOR, "ondemand")])
    assert [change.before for change in applied] == ["powersave", "schedutil"]
    assert restore_settings(machine, RUN) == ()  # by now it is the other run's
    restore_settings(machine, OTHER)
    assert governors(tmp_path) == ["powersave", "schedutil"]


def test_asking_twice_changes_nothing_more(machine: Session, tmp_path: Path) -> None:
    """An answer that was lost with its connection is asked for again."""
    first = apply(machine, RUN, [GOVERNOR])
    assert apply(machine, RUN, [GOVERNOR]) == first
    restore_settings(machine, RUN)
    assert restore_settings(machine, RUN) == ()
    assert governors(tmp_path) == ["powersave", "schedutil"]


def test_anybody_may_see_what_is_noted_down(machine: Session, tmp_path: Path) -> None:
    apply(machine, RUN, [GOVERNOR])
    found = notes(machine)
    assert [(note.path, note.before, note.during, note.run) for note in found] == [
        (policy(0), "powersave", "performance", RUN),
        (policy(1), "schedutil", "performance", RUN),
    ]
    assert all(note.age is not None and note.age < 60 for note in found)
    folder = tmp_path / "run" / "benchwright-changes"
    assert folder.stat().st_mode & 0o777 == 0o755
    assert all(path.stat().st_mode & 0o777 == 0o644 for path in folder.iterdir())


def test_what_somebody_else_set_meanwhile_is_left_alone(machine: Session, tmp_path: Path) -> None:
    apply(machine, RUN, [GOVERNOR])
    (tmp_path / "cpu/cpufreq/policy1/scaling_governor").write_text("conservative\n")
    back = {each.path: each.problem for each in restore_settings(machine, RUN)}
    assert back[policy(0)] == ""
    assert MESSAGES["it_was_changed_to"] in back[policy(1)]
    assert governors(tmp_path) == ["powersave", "conservative"]
    assert notes(machine) == ()


def test_a_device_that_is_gone_is_told(machine: Session, tmp_path: Path) -> None:
    apply(machine, RUN, [GOVERNOR])
    (tmp_path / "cpu/cpufreq/policy0/scaling_governor").unlink()
    assert restore_settings(machine, RUN)[0].problem == "the device is gone"
    assert notes(machine) == ()


def test_a_value_the_kernel_rounds_is_refused_and_undone(machine: Session, make_loop: MakeLoop) -> None:
    device = make_loop()
    before = queue(device, "read_ahead_kb").read_text()
    wanted = Setting(SettingKind.READAHEAD, "131", device)
    applied, failed = apply(machine, RUN, [wanted])
    assert applied == ()
    assert "it became 128" in failed[wanted]
    assert queue(device, "read_ahead_kb").read_text() == before
    assert notes(machine) == ()


@pytest.mark.parametrize(
    ("device", "kind", "value"),
    [
        ("/dev/null", SettingKind.SCHEDULER, "none"),
        ("/dev/no-such-device", SettingKind.READAHEAD, "128"),
        ("/etc/passwd", SettingKind.READAHEAD, "128"),
        ("$(touch /tmp/pwned)", SettingKind.SCHEDULER, "none"),
    ],
)
def test_what_is_no_block_device_has_no_settings(machine: Session, device: str, kind: SettingKind, value: str) -> None:
    wanted = Setting(kind, value, device)
    assert apply(machine, RUN, [wanted]) == ((), {wanted: "this host has none"})


def test_a_scheduler_that_is_not_there_is_refused(machine: Session, make_loop: MakeLoop) -> None:
    device = make_loop()
    before = queue(device, "scheduler").read_text()
    wanted = Setting(SettingKind.SCHEDULER, "no-such-one", device)
    applied, failed = apply(machine, RUN, [wanted, GOVERNOR])
    assert failed[wanted].startswith((MESSAGES["the_kernel_does_not_take_no"], "it became "))
    assert [change.path for change in applied] == [policy(0), policy(1)]  # the others are changed all the same
    assert queue(device, "scheduler").read_text() == before


def test_a_partitions_settings_are_those_of_its_disk(machine: Session, make_loop: MakeLoop) -> None:
    device = make_loop("disk-1.img", 64 * MIB, "--partscan")
    partition = partition_of(device)
    applied, failed = apply(machine, RUN, [Setting(SettingKind.READAHEAD, "64", partition)])
    assert [change.path for change in applied] == [str(queue(device, "read_ahead_kb"))], failed
    restore_settings(machine, RUN)


@pytest.mark.alone  # the page cache is that of the whole computer
def test_the_page_cache_is_dropped(machine: Session, tmp_path: Path) -> None:
    def cached() -> int:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(int(line.split()[1]) for line in lines if line.startswith("Cached:"))

    file = tmp_path / "cached"
    file.write_bytes(b"x" * (64 * MIB))
    before = cached()
    drop_caches(machine)
    assert cached() < before - 48 * 1024
