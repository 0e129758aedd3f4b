"""The kernel keeps a step from writing to block devices, whatever its line does, and lets it run otherwise."""

import os
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from remote.target_guard import REFUSED, refusal
from tests.lab.device_cgroups import (
    CGROUPS,
    CONTENT,
    NONCE,
    Private,
    disks,
    groups,
    make_command,
    offers,
    step,
    version,
)
from tests.loop_devices import MIB, backing_file, loops, loops_to_itself

__all__ = ["disks", "step", "version"]

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="needs root")


# The third review of hostile lines, a to k: each of them changed the device when only its words were read.
LINES = r"""
zstd -q -f f -o x.zst; zstdcat -f x.zst -o {device}
sed 'w{folder}/l7' f
sed -n -e 'w{folder}/l7' f
D=$(head -1 t && date >&2); cp f $D
D=$(head -1 t; pwd >&2); cp f $D
dd if=f of=$(cat t || hostname)
X={device}; dd if=f of=$(expr $X)
X={device}; dd if=f of=$(date +$X)
date() {{ cat t; }}; cp f $(date)
printf '#!/bin/sh\ncat t\n' >date; chmod +x date; PATH=.:$PATH; cp f $(date)
find /dev -maxdepth 1 -name {name} -execdir dd if={folder}/f of={name} \;
find {folder} -name l7 -execdir dd if=f of=l7 \;
mkdir dev; cp f dev/{name}; cp --parents dev/{name} /
mkdir dev; cp f dev/{name}; cp -r --parents dev/{name} /
mkdir -p s/dev; cp f s/dev/{name}; cp -rT s /
bash -c "jobs -x dd if=f of={device}"
bash -c "mapfile -c1 -C 'dd if=f of={device} #' A <f"
bash -c 'test -v "a[$(dd if=f of={device})]"'
bash -O extglob -c 'cp f {folder}/@(l7)'
bash -O extglob -c 'echo x > {folder}/l+([0-9])'
bash -c 'shopt -s cdable_vars; D=/dev; cd D; dd if={folder}/f of={name}'
printf '\144\144 if=f of=\057dev\057{name}' | sh
base64 f | base64 -d >/dev/null; printf 'dd if=f of={device}' | base64 | base64 -d | sh
unshare -m sh -c 'mkdir m; mount -t devtmpfs none m; dd if=f of=m/{name}'
IFS=,; A=if=f,of={device},bs=512,count=1; dd $A
while read d; do dd if=f of=$d; done <t
xargs -I% dd if=f of=% <t
python3 -c 'import os; os.write(os.open(open("t").read().strip(), os.O_WRONLY), b"x" * 512)'
python3 -c 'import os, mmap; mmap.mmap(os.open("{device}", os.O_RDWR), 4096)[:4] = b"xxxx"'
mknod n b $(stat -L -c '0x%t 0x%T' {device}); dd if=f of=n
(setsid sh -c 'dd if=f of=$(cat t)' & wait)
env -i sh -c 'dd if=f of=$(cat t)'
blkdiscard -f $(cat t)
chroot / dd if={folder}/f of=$(cat t)
"""

# f1 to f4 of the same review: refused, although they write to no device.
FALSE_ALARMS = r"""
[[ $a > $b ]] && echo more
while read f; do ./bench "$f" > "$f.out"; done <t
while read f; do ./bench "$f" | tee "logs/$f.log"; done <t
for f in data/*.csv; do ./bench $f > "${{f%.*}}.out"; done
A=(1 2 3); for x in "${{A[@]}}"; do echo $x > out.$x; done
./bench > "results/$(git rev-parse --short HEAD).txt"
seq 4 | xargs -P4 -I% dd if=f of=f%
parallel 'dd if=f of=f{{}}' ::: 1 2
hyperfine 'dd if={device} of=/dev/null'
hyperfine 'sha256sum {device}'
perf stat dd if={device} of=/dev/null
flock L hdparm -t {device}
su -c 'hdparm -t {device}'
openssl dgst -sha256 {device}
xz -c {device} | wc -c
zstd -c {device} | wc -c
xxd -l 64 {device}
blktrace -d {device} -w 1
sg_readcap {device}
sdparm --all {device}
e2freefrag {device}
partclone.info {device}
fdisk -lu {device}
badblocks -sv -o bad.txt {device}
rsync -a a/ b/; ./bench >"$(cat n)"
"""

# These need to open a device for writing themselves, or have it opened: the line alone decides.
WITHOUT_A_GROUP = r"""
mkfs.ext4 -q -F disk.img && mkdir d && mount -o loop disk.img d && umount d
losetup --find disk.img
"""


def lines(table: str) -> list[str]:
    return [line for line in table.split("\n") if line]


@pytest.mark.parametrize("line", lines(LINES))
def test_no_line_reaches_a_device(step: Private, line: str) -> None:
    before = step.contents()
    step.line(line, "v1", "v2")
    assert step.contents() == before


# Runs each line in a directory of its own, and prints the numbers of those that change what is behind the device.
EACH = """
for line do
    mkdir "d$((n += 1))" && cd "d$n" && ln -s "$DEVICE" l7 && cp ../f . && echo "$DEVICE" >t
    sh -c "$(printf %s "$line" | sed "s|@@|$PWD|g")" >/dev/null 2>&1
    cd .. && blockdev --flushbufs "$DEVICE"
    cmp -s "$FILE" whole || { echo "$n"; cat whole >"$FILE"; }
done
"""


def test_the_kernel_alone_keeps_every_line_from_the_device(
    step: Private, version: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    (step.folder / "whole").write_bytes(CONTENT)
    monkeypatch.setenv("DEVICE", step.device)
    monkeypatch.setenv("FILE", str(backing_file(step.device)))
    words = ["sh", "-c", EACH, "each", *(step.text(line, "@@") for line in lines(LINES))]
    done = step.run([], words, version, lead=["unshare", "-m"])
    assert (done.returncode, done.stdout) == (0, b"")


@pytest.mark.parametrize("line", lines(FALSE_ALARMS))
def test_what_only_the_kernel_can_tell_is_not_refused(step: Private, line: str) -> None:
    done = step.line(line, "v1", "v2", argv=["true"])
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.parametrize(
    "line",
    [
        "dd if=f of={device}",
        "cp f l7",
        "echo x > l7",
        "rsync -R dev/{name} /",
        "nvme format $(cat t)",
        "systemd-run dd if=f of=$(cat t)",
        "sh -c 'echo $$ >/sys/fs/cgroup/devices/cgroup.procs; dd if=f of=$(cat t)'",
        "cgexec -g devices:/ dd if=f of=$(cat t)",
        "scp f alias:{device}",
        "scp -F config f alias:l7/../{device}",
        "rsync --inplace --write-devices f alias:{device}",
        "sftp alias:{device}",
        "lftp -e 'put f -o {device}' alias",
        "echo 'put f {device}' | sftp alias",
        "docker-compose run -v {device}:/x image",
        "kubectl cp f pod:{device}",
        "gdbus call --system --dest a --object-path /a --method b {device}",
        "$(cat program) {device}",
    ],
)
def test_devices_that_the_kernel_does_not_guard_are_refused(step: Private, line: str) -> None:
    done = step.line(line, "v1", "v2", argv=["true"])
    assert refusal(done.returncode, done.stderr)


def test_reading_and_files_are_not_touched(step: Private, version: str) -> None:
    done = step.line(
        "dd if={device} of=copy bs=1M 2>/dev/null; echo x >>f; cat /dev/urandom | head -c 9 >/dev/null", version
    )
    assert (done.returncode, done.stderr) == (0, b"")
    assert (step.folder / "copy").read_bytes() == CONTENT


def test_the_confirmed_device_can_be_written_to_and_no_other(step: Private, version: str) -> None:
    line = f"dd if=f of={step.device} conv=fsync && dd if={step.device} of=/dev/null count=1 && dd if=f of={step.other}"
    before = step.contents()
    done = step.run([], ["sh", "-c", line], version, device=step.number())
    assert b"failed to open '" + step.other.encode() + b"': Operation not permitted" in done.stderr
    after = step.contents()
    assert after[0] != before[0]
    assert after[1] == before[1]


def test_each_of_two_confirmed_devices_can_be_written_to(step: Private, version: str) -> None:
    both = f"{step.number()} {Path(f'/sys/block/{Path(step.other).name}/dev').read_text().strip()}"
    with loops_to_itself(), loops(step.folder) as make:
        third = make("third.img")
        line = f"dd if=f of={step.device} conv=fsync && dd if=f of={step.other} conv=fsync && dd if=f of={third}"
        before = step.contents()
        done = step.run([], ["sh", "-c", line], version, device=both)
        assert b"failed to open '" + third.encode() + b"': Operation not permitted" in done.stderr
        assert not set(step.contents()) & set(before)


def test_the_other_control_groups_stay_as_they_are(step: Private, version: str) -> None:
    kind = ":devices:" if version == "v1" else "0::"
    own = Path("/proc/self/cgroup").read_text().splitlines()
    theirs = step.run([], ["cat", "/proc/self/cgroup"], version).stdout.decode().splitlines()
    for mine, its in zip(own, theirs, strict=True):
        assert its.startswith(mine.rstrip("/") + "/benchwright-" if kind in mine else mine)


@pytest.mark.parametrize("line", lines(WITHOUT_A_GROUP))
def test_lines_that_need_a_device_opened_go_on_working(step: Private, line: str) -> None:
    (step.folder / "disk.img").write_bytes(bytes(4 * MIB))
    with loops_to_itself():
        done = step.line(line, "v1", "v2")
        made = subprocess.run(
            ["losetup", "-nlOname", "-j", "disk.img"], check=True, cwd=step.folder, capture_output=True, text=True
        )
        for device in made.stdout.split():
            subprocess.run(["losetup", "-d", device], check=True)
    assert (done.returncode, done.stderr) == (0, b"")
    assert groups(NONCE) == []


def test_such_a_line_is_read_strictly(step: Private) -> None:
    done = step.line("losetup --find disk.img; dd if=f of=$(cat t)", "v1", "v2", argv=["true"])
    assert "only a shell can expand" in refusal(done.returncode, done.stderr)


READ_ONLY = (
    'for at in $(sed -n "s/^[^ ]* \\([^ ]*\\) cgroup.*/\\1/p" /proc/mounts); do mount -o remount,bind,ro "$at"; done'
)


@pytest.mark.parametrize(
    "lead",
    [
        ["unshare", "-m", "sh", "-c", f'{READ_ONLY}; exec "$@"', "sh"],
        ["unshare", "-m", "sh", "-c", 'umount -R /sys/fs/cgroup; exec "$@"', "sh"],
        ["unshare", "-m", "sh", "-c", 'umount -l /proc; exec "$@"', "sh"],
        ["setpriv", "--bounding-set=-sys_admin,-bpf", "--inh-caps=-sys_admin"],
        ["env", "-u", "BENCHWRIGHT_JOB"],
    ],
    ids=["read-only", "not mounted", "no proc", "no capability", "no job"],
)
def test_where_there_is_no_group_the_line_alone_decides(step: Private, lead: Sequence[str]) -> None:
    (targets,) = make_command("dd if=f of=$(cat t)")
    done = step.run(targets, ["true"], "v1", "v2", lead=lead)
    assert "only a shell can expand" in refusal(done.returncode, done.stderr)
    done = step.run([], ["sh", "-c", "echo ran"], "v1", "v2", lead=lead)
    assert (done.returncode, done.stdout, done.stderr) == (0, b"ran\n", b"")
    assert groups(NONCE) == []
    assert not list(step.folder.glob(".job-*/cgroup"))


def test_a_namespace_of_control_groups_is_no_way_out(step: Private, version: str) -> None:
    before = step.contents()
    (targets,) = make_command("dd if=f of=$(cat t)")
    done = step.run(targets, ["dd", "if=f", f"of={step.device}"], version, lead=["unshare", "-C"])
    assert done.returncode != 0
    assert step.contents() == before


def test_what_a_group_above_allows_is_not_widened(step: Private) -> None:
    """As in a container: everything is denied, with a list of what is allowed."""
    above = CGROUPS / "devices" / "benchwright-test-above"
    if not offers("v1"):
        pytest.skip("no devices controller")
    above.mkdir()
    try:
        (above / "devices.deny").write_text("a")
        for allowed in ("c *:* rwm", "b *:* m", f"b {step.number()} rw"):
            (above / "devices.allow").write_text(allowed)
        lead = ["sh", "-c", f'echo $$ >{above}/cgroup.procs; exec "$@"', "sh"]
        before = step.contents()
        done = step.run([], ["sh", "-c", f"cat {step.device} >/dev/null && dd if=f of={step.device}"], "v1", lead=lead)
        assert b"failed to open" in done.stderr
        assert step.contents() == before
        done = step.run([], ["sh", "-c", f"dd if=f of={step.device}"], "v1", lead=lead, device=step.number())
        assert done.returncode == 0
        assert step.contents()[0] != before[0]
    finally:
        for group in [*groups(NONCE), above]:
            group.rmdir()


def test_an_account_that_can_write_to_no_device_is_asked_nothing(step: Private) -> None:
    (targets,) = make_command("dd if=f of=$(cat t)")
    (with_sudo,) = make_command("sudo dd if=f of=$(cat t)")
    node = Path(step.device)
    mode = node.stat().st_mode & 0o777
    writable = [path for path in Path("/dev").rglob("*") if path.is_block_device() and path.stat().st_mode & 0o002]
    assert step.run(with_sudo, ["true"], "v1", "v2", user=65534).returncode == REFUSED
    assert step.run(targets, ["true"], "v1", "v2", user=65534).returncode == (REFUSED if writable else 0)
    try:
        node.chmod(0o666)
        assert step.run(targets, ["true"], "v1", "v2", user=65534).returncode == REFUSED
    finally:
        node.chmod(mode)
    assert groups(NONCE) == []
