"""What confirms the loss of a device, and what speaks against writing to it, from what hosts have been seen to say."""

import pytest

from remote.devices import _device
from remote.facts.items import parse_items
from suites.facts import Absent, RawDevice
from suites.raw_device import confirmation, described, needs_root_to_judge, objections
from tests.messages import messages

MESSAGES = messages("suites", "test_raw_device")

MARK = "0123456789abcdef"


def device(state: str, path: str = "/dev/sdb") -> RawDevice:
    """Return what device.sh's answer `state` means, read by root."""
    frames = {"device.0.state": state.strip(), "device.0.access": "rw.", "device.0.written": "0", "end": "."}
    output = "".join(f"@@{MARK} {name} {len(text.encode())}\n{text}\n" for name, text in frames.items())
    return _device(parse_items(output.encode(), MARK), "device.0", path)


FREE = """
node /dev/sdb
number 8:16
diskseq 12
size 1000204886016
read-only 0
kind disk
model Samsung_SSD_870
serial S6P1NS0T123456
by-id ata-Samsung_SSD_870_S6P1NS0T123456
by-id wwn-0x5002538f4321
exclusive free
"""
NAMELESS = FREE.replace("serial S6P1NS0T123456\n", "").replace("ata-Samsung_SSD_870_S6P1NS0T123456", "virtio-data-1")

USES = {
    "part sdb1": "It has the partition sdb1.",
    "holder sdb1 dm-0 LVM-xyzVG": "sdb1 is part of dm-0 (LVM-xyzVG).",
    "holder sdb1 dm-1 CRYPT-LUKS2-abc-home": "sdb1 is part of dm-1 (CRYPT-LUKS2-abc-home).",
    "holder sdb md127": "sdb is part of md127.",
    "holder sdb bcache0": "sdb is part of bcache0.",
    "mount sdb1 /srv/my\\040data": "sdb1 is mounted on /srv/my\\040data.",
    "swap sdb2": "sdb2 is used as swap.",
    "loop sdb loop3": "sdb is behind loop3.",
    "open sdb 812 qemu-system-x86": "A process has sdb open: 812 (qemu-system-x86).",
    "signature sdb gpt": "sdb holds gpt: a partition table.",
    "signature sdb1 LVM2_member": "sdb1 holds LVM2_member: data or a member of a larger device.",
    "signature sdb linux_raid_member": "sdb holds linux_raid_member: data or a member of a larger device.",
    "signature sdb zfs_member": "sdb holds zfs_member: data or a member of a larger device.",
    "signature sdb1 crypto_LUKS": "sdb1 holds crypto_LUKS: data or a member of a larger device.",
}


def test_a_free_disk_is_confirmed_by_its_serial_number() -> None:
    found = device(FREE)
    assert objections(found) == ()
    assert confirmation(found) == "S6P1NS0T123456"
    assert described(found) == (
        "/dev/sdb: Samsung_SSD_870, serial S6P1NS0T123456, ata-Samsung_SSD_870_S6P1NS0T123456, 932 GiB"
    )


def test_a_virtual_disk_without_one_is_confirmed_by_a_name_that_people_can_tell_apart() -> None:
    assert confirmation(device(NAMELESS)) == "virtio-data-1"


def test_a_disk_that_nothing_tells_from_another_cannot_be_given_up() -> None:
    nameless = device(NAMELESS.replace("by-id virtio-data-1\n", ""))
    assert isinstance(confirmation(nameless), Absent)
    assert objections(nameless) == (MESSAGES["it_has_neither_a_serial"],)


@pytest.mark.parametrize("use", sorted(USES))
def test_every_use_speaks_against_it(use: str) -> None:
    assert objections(device(f"{FREE.strip()}\n{use}")) == (USES[use],)


@pytest.mark.parametrize("kind", ["part", "dm", "md", "memory", "network", "removable"])
def test_only_whole_disks_can_be_given_up(kind: str) -> None:
    assert len(objections(device(FREE.replace("kind disk", f"kind {kind}")))) == 1


def test_what_the_kernel_says_counts_alone() -> None:
    """A member of a btrfs or ZFS pool is in no list: only the claim tells."""
    busy = device(FREE.replace("exclusive free", "exclusive busy"))
    assert objections(busy) == (MESSAGES["the_kernel_says_that_it_is"],)


@pytest.mark.parametrize(
    ("state", "shown"),
    [
        (FREE.replace("exclusive free", "exclusive unknown Operation not permitted"), "Operation not permitted"),
        (FREE.replace("exclusive free\n", ""), "not tested"),
        (FREE + "unread only root may read it\n", "only root may read it"),
    ],
)
def test_what_could_not_be_looked_at_speaks_against_it(state: str, shown: str) -> None:
    found = device(state)
    assert shown in objections(found)[0]
    assert needs_root_to_judge(found)


def test_root_is_not_asked_about_what_is_in_use_anyway() -> None:
    assert not needs_root_to_judge(device(FREE + MESSAGES["unread_only_root_may_read_it"]))
    assert not needs_root_to_judge(device(FREE))


@pytest.mark.parametrize(
    "state",
    ["", "missing there is no such device", "node", "garbage\x00\x1b[31m", "node \u202e\nkind disk", "x" * 70_000],
)
def test_an_answer_that_makes_no_sense_is_no_device(state: str) -> None:
    assert objections(device(state)) != ()


def test_hostile_words_are_shown_as_words() -> None:
    found = device(FREE.replace("Samsung_SSD_870\n", "<img src=file:///x>\x1b[2J\u202e\n", 1))
    assert "\x1b" not in described(found)
    assert "\u202e" not in described(found)
