"""Real block devices, and everything that can use one: each use is seen, whoever hides it from a list of mounts."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from remote.devices import CHANGED, device_guard, read_devices
from remote.local import LocalSession
from remote.session import Session
from suites.facts import Absent, RawDevice
from suites.raw_device import confirmation, needs_root_to_judge, objections
from tests.host_shells import Prefixed, behind, shell_path
from tests.loop_devices import MIB, MakeLoop, backing_file, make_loop, partition_of, run
from tests.messages import messages
from tests.sudo_host import StartSudoHost, start_sudo_host

MESSAGES = messages("lab", "test_raw_device_usage")

__all__ = ["behind", "make_loop", "start_sudo_host"]


@pytest.fixture
def session() -> Iterator[Session]:
    made = LocalSession()
    yield made
    made.close()


def look(session: Session, path: str) -> RawDevice:
    (device,) = read_devices(session, [path])
    return device


def needs(*tools: str) -> None:
    missing = [tool for tool in tools if shutil.which(tool, path=f"{os.environ['PATH']}:/usr/sbin:/sbin") is None]
    if missing:
        pytest.skip(f"needs {', '.join(missing)}")


@pytest.fixture
def mounted(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """Return a function that makes a file system on a loop device and mounts it; all are unmounted after the test."""
    needs("mkfs.ext4", "mount")
    places: list[Path] = []

    def mount(device: str) -> Path:
        run("mkfs.ext4", "-q", device)
        place = tmp_path / f"mounted-{len(places)}"
        place.mkdir()
        run("mount", device, place)
        places.append(place)
        return place

    yield mount
    for place in places:
        subprocess.run(["umount", str(place)], capture_output=True, check=False)


def test_a_free_disk_is_named_by_its_file_and_nothing_speaks_against_it(session: Session, make_loop: MakeLoop) -> None:
    device = look(session, make_loop("scratch disk.img"))
    assert (device.kind, device.size, device.read_only) == ("loop", 16 * MIB, False)
    assert (device.readable, device.writable, device.written, device.free) == (True, True, False, True)
    assert confirmation(device) == "scratch disk.img"
    assert objections(device) == ()


@pytest.mark.slow
@pytest.mark.parametrize("shell", ["dash", "bash", "busybox"])
def test_every_shell_tells_the_same(
    behind: Callable[..., Prefixed], session: Session, make_loop: MakeLoop, tmp_path: Path, shell: str
) -> None:
    path = make_loop()
    (tmp_path / "shell").mkdir()
    tools = f"{shell_path(shell, tmp_path / 'shell')}:/usr/sbin:/usr/bin"  # python3 and wipefs are no part of busybox
    assert look(behind("env", f"PATH={tools}"), path) == look(session, path)


def test_what_is_no_block_device_is_told_apart(session: Session) -> None:
    assert objections(look(session, "/dev/no-such-device")) == ("There is no such device.",)
    assert objections(look(session, "/dev/null")) == ("It is no block device.",)
    assert objections(look(session, "/etc/passwd")) == ("It is no block device.",)
    assert objections(look(session, "/dev/$(reboot)")) == ("There is no such device.",)


def test_a_mounted_device_is_in_use(session: Session, make_loop: MakeLoop, mounted: Callable[[str], Path]) -> None:
    path = make_loop()
    place = mounted(path)
    shown = objections(look(session, path))
    name = Path(path).name
    assert f"{name} is mounted on {place}." in shown
    assert f"{name} holds ext4: data or a member of a larger device." in shown
    assert len(shown) >= 3  # the kernel itself says so, too


@pytest.mark.slow
def test_a_mount_in_another_namespace_is_seen(session: Session, make_loop: MakeLoop, tmp_path: Path) -> None:
    needs("mkfs.ext4", "unshare")
    path = make_loop()
    run("mkfs.ext4", "-q", path)
    (tmp_path / "hidden").mkdir()
    script = f"mount --make-rprivate /; mount {path} {tmp_path}/hidden && echo mounted && read line"
    with subprocess.Popen(
        ["unshare", "-m", "sh", "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as elsewhere:
        assert elsewhere.stdout is not None
        assert elsewhere.stdin is not None
        assert elsewhere.stdout.readline() == b"mounted\n"
        assert str(tmp_path / "hidden") not in Path("/proc/self/mountinfo").read_text()
        shown = objections(look(session, path))
        elsewhere.stdin.close()
    assert f"{Path(path).name} is mounted on {tmp_path}/hidden." in shown


def test_a_disk_with_a_mounted_partition_is_in_use(
    session: Session, make_loop: MakeLoop, mounted: Callable[[str], Path]
) -> None:
    """The case that fio's own guard misses: it only looks for the name of the disk itself."""
    path = make_loop("disk.img", 64 * MIB, "--partscan")
    partition = partition_of(path)
    name = Path(partition).name
    assert f"It has the partition {name}." in objections(look(session, path))
    place = mounted(partition)
    device = look(session, path)
    assert f"{name} is mounted on {place}." in objections(device)
    assert device.free is not True
    assert MESSAGES["it_is_a_partition_only_whole"] in objections(look(session, partition))


def test_swap_is_use(session: Session, make_loop: MakeLoop) -> None:
    needs("mkswap", "swapon")
    path = make_loop()
    run("mkswap", path)
    assert f"{Path(path).name} holds swap: data or a member of a larger device." in objections(look(session, path))
    if subprocess.run(["swapon", path], capture_output=True, check=False).returncode != 0:
        pytest.skip("this kernel does not swap to a loop device")
    try:
        assert f"{Path(path).name} is used as swap." in objections(look(session, path))
    finally:
        run("swapoff", path)


def test_a_signature_alone_is_enough(session: Session, make_loop: MakeLoop) -> None:
    needs("mkfs.ext4", "wipefs")
    path = make_loop()
    run("mkfs.ext4", "-q", path)
    assert objections(look(session, path)) == (f"{Path(path).name} holds ext4: data or a member of a larger device.",)
    run("wipefs", "-q", "-a", path)
    assert objections(look(session, path)) == ()


def test_bytes_without_a_signature_are_told_and_no_objection(session: Session, make_loop: MakeLoop) -> None:
    """A device that was written to raw holds no signature; otherwise no second trial could run on it."""
    path = make_loop()
    with backing_file(path).open("r+b") as content:
        content.seek(16 * MIB - 1)
        content.write(b"x")
    device = look(session, path)
    assert (device.written, objections(device)) == (True, ())


def test_another_loop_device_over_it_is_use(session: Session, make_loop: MakeLoop) -> None:
    path = make_loop()
    over = run("losetup", "--find", "--show", path)
    try:
        assert f"{Path(path).name} is behind {Path(over).name}." in objections(look(session, path))
    finally:
        run("losetup", "--detach", over)


def test_a_process_that_has_it_open_is_use(session: Session, make_loop: MakeLoop) -> None:
    """As a virtual machine or a database has that was given the whole disk: neither mounts nor claims it."""
    path = make_loop()
    with Path(path).open("rb"):
        (shown,) = objections(look(session, path))
    assert shown.startswith(f"A process has {Path(path).name} open: {os.getpid()} (")


@pytest.mark.slow
def test_a_read_only_device_is_told(session: Session, make_loop: MakeLoop) -> None:
    assert "It is read-only." in objections(look(session, make_loop("disk.img", 16 * MIB, "--read-only")))


@pytest.mark.parametrize(
    ("uuid", "words"), [("LVM-abc", "is part of dm-7 (LVM-abc)."), ("", "is part of dm-7.")], ids=["lvm", "raid"]
)
def test_what_is_built_on_it_is_use(
    behind: Callable[..., Prefixed], make_loop: MakeLoop, tmp_path: Path, uuid: str, words: str
) -> None:
    """LVM, RAID and encryption, as the kernel lists them: this one's own list, replaced in a namespace."""
    path = make_loop()
    holder = tmp_path / "holders" / "dm-7"
    (holder / "dm").mkdir(parents=True)
    (holder / "dm" / "uuid").write_text(f"{uuid}\n")
    inside = f'mount --bind {tmp_path}/holders /sys/block/{Path(path).name}/holders; exec "$@"'
    host = behind("unshare", "-m", "sh", "-c", inside, "sh")
    assert objections(look(host, path)) == (f"{Path(path).name} {words}",)


def test_a_link_leads_to_the_device_and_its_names_are_found(
    behind: Callable[..., Prefixed], make_loop: MakeLoop
) -> None:
    path = make_loop()
    name = Path(path).name
    number = name.removeprefix("loop")
    inside = f"""mount -t tmpfs dev /dev
    mknod /dev/null c 1 3; mknod /dev/{name} b 7 {number}; mkdir -p /dev/disk/by-id
    ln -s ../../{name} /dev/disk/by-id/virtio-scratch-1; ln -s ../../{name} /dev/disk/by-id/wwn-0x5002538d40
    exec "$@" """
    host = behind("unshare", "-m", "sh", "-c", inside, "sh")
    by_link = look(host, "/dev/disk/by-id/virtio-scratch-1")
    assert (by_link.node, by_link.by_id) == (path, ("virtio-scratch-1", "wwn-0x5002538d40"))
    assert by_link.state == look(host, path).state


def test_who_is_not_root_is_told_what_could_not_be_seen(start_sudo_host: StartSudoHost, make_loop: MakeLoop) -> None:
    path = make_loop()
    session = start_sudo_host().connect()
    device = look(session, path)
    session.close()
    assert (device.readable, device.writable, device.written) == (False, False, Absent("not read"))
    assert needs_root_to_judge(device)
    assert objections(device) == (MESSAGES["what_is_on_it_could_not_be"],)


# The guard, right before a test


def guard(session: Session, device: RawDevice, *argv: str) -> tuple[int | None, bytes, bytes]:
    done = session.run(device_guard([device], argv))
    return done.exit_status, done.stdout, done.stderr


def test_the_guard_becomes_the_command_while_nothing_has_changed(session: Session, make_loop: MakeLoop) -> None:
    device = look(session, make_loop())
    assert guard(session, device, "sh", "-c", 'echo "$1"; exit 3', "sh", "a b") == (3, b"a b\n", b"")
    assert guard(session, device, "no-such-tool")[0] == 127


def test_another_disk_behind_the_same_name_is_refused(session: Session, make_loop: MakeLoop, tmp_path: Path) -> None:
    path = make_loop()
    device = look(session, path)
    run("losetup", "--detach", path)
    (tmp_path / "other.img").write_bytes(bytes(16 * MIB))
    run("losetup", path, tmp_path / "other.img")
    status, out, err = guard(session, device, "echo", "written")
    assert (status, out) == (CHANGED, b"")
    assert b"it is not as it was when its loss was confirmed" in err
    assert b"now: backing " + str(tmp_path).encode() in err


def test_every_device_has_to_be_as_it_was_and_free(session: Session, make_loop: MakeLoop) -> None:
    one, two = (look(session, make_loop(name)) for name in ("one.img", "two.img"))
    hold = "import os, sys; [os.open(p, os.O_RDONLY | os.O_EXCL) for p in sys.argv[1:]]"
    argv = ["python3", "-c", hold, one.path, two.path]
    assert session.run(device_guard([one, two], ["echo", "a b"])).stdout == b"a b\n"
    assert b"busy" in session.run(device_guard([one, two], argv)).stderr  # held for the command
    changed = replace(two, state=f"{two.state}\nswap {two.node}")
    for devices in ([one, changed], [changed, one], [one, one], [one, replace(two, state="")]):
        done = session.run(device_guard(devices, ["echo", "written"]))
        assert (done.exit_status != 0, done.stdout) == (True, b"")


def test_the_same_disk_taken_away_and_put_back_is_refused(session: Session, make_loop: MakeLoop) -> None:
    """It may have been elsewhere meanwhile: the kernel counts disks as they appear."""
    if not Path("/sys/block/loop0/diskseq").exists():
        pytest.skip("this kernel does not count disks")
    path = make_loop()
    device, file = look(session, path), backing_file(path)
    run("losetup", "--detach", path)
    run("losetup", path, file)
    assert guard(session, device, "echo", "written")[:2] == (CHANGED, b"")


def test_a_mount_since_the_confirmation_is_refused(
    session: Session, make_loop: MakeLoop, mounted: Callable[[str], Path]
) -> None:
    path = make_loop()
    device = look(session, path)
    place = mounted(path)
    status, out, err = guard(session, device, "echo", "written")
    assert (status, out) == (CHANGED, b"")
    assert f"now: mount {Path(path).name} {place}".encode() in err


def test_a_signature_since_the_confirmation_is_refused(session: Session, make_loop: MakeLoop) -> None:
    needs("mkfs.ext4")
    path = make_loop()
    device = look(session, path)
    run("mkfs.ext4", "-q", path)
    assert guard(session, device, "echo", "written")[:2] == (CHANGED, b"")


def test_a_device_that_is_gone_is_refused(session: Session, make_loop: MakeLoop) -> None:
    path = make_loop()
    device = look(session, path)
    run("losetup", "--detach", path)
    assert guard(session, device, "echo", "written")[:2] == (CHANGED, b"")


def test_nobody_can_claim_the_device_while_the_command_runs(
    session: Session, make_loop: MakeLoop, tmp_path: Path
) -> None:
    needs("python3", "mkfs.ext4")
    path = make_loop()
    device = look(session, path)
    (tmp_path / "place").mkdir()
    script = f"mkfs.ext4 -q -F {path} && mount {path} {tmp_path}/place"
    try:
        status, _, err = guard(session, device, "sh", "-c", script)
    finally:  # where the guard is broken, the mount must not outlive the test
        subprocess.run(["umount", str(tmp_path / "place")], capture_output=True, check=False)
    assert status not in {0, CHANGED}
    assert b"busy" in err or b"already mounted" in err or b"in use" in err
    assert str(tmp_path / "place") not in Path("/proc/self/mountinfo").read_text()


def test_without_python_the_guard_still_compares(
    behind: Callable[..., Prefixed], make_loop: MakeLoop, tmp_path: Path
) -> None:
    needs("wipefs")
    (tmp_path / "bin").mkdir()
    path = f"PATH={shell_path('busybox', tmp_path / 'bin')}"
    for tool in ("wipefs", "unshare"):
        target = tmp_path / "bin" / tool
        target.unlink(missing_ok=True)
        target.symlink_to(str(shutil.which(tool, path="/usr/sbin:/usr/bin:/sbin:/bin")))
    host = behind("env", path)
    loop = make_loop()
    device = look(host, loop)
    assert (device.free, objections(device)) == (True, ())
    assert guard(host, device, "echo", "runs")[:2] == (0, b"runs\n")
    with Path(loop).open("wb") as content:
        content.write(b"bytes alone are no objection")
    assert guard(host, device, "echo", "runs")[0] == 0
    run("mkfs.ext4", "-q", loop)
    assert guard(host, device, "echo", "runs")[0] == CHANGED
