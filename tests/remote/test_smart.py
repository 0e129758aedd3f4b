"""A drive's own word on its wear: from smartctl's JSON, bounded, and absent with the reason."""

import json
from pathlib import Path

import pytest

from remote.devices import read_devices, wear_of
from remote.local import LocalSession
from suites.facts import Absent
from tests.host_shells import Prefixed
from tests.loop_devices import MakeLoop, make_loop

__all__ = ["make_loop"]

NVME = json.dumps(
    {
        "smartctl": {"version": [7, 3], "exit_status": 0},
        "nvme_smart_health_information_log": {"percentage_used": 4, "data_units_written": 31_250_000},
    }
)


def test_an_nvme_drive_tells_its_share_and_its_bytes() -> None:
    assert wear_of(NVME) == (4.0, 16_000_000_000_000)


def test_an_ata_drive_may_tell_its_share_alone() -> None:
    used, written = wear_of('{"endurance_used": {"current_percent": 12}}')
    assert used == 12.0
    assert written == Absent("SMART reports no bytes written")


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", "7", '{"nvme_smart_health_information_log": []}', '{"endurance_used": {"current_percent": "x"}}',
     '{"endurance_used": {"current_percent": -1}}', '{"endurance_used": {"current_percent": 1e30}}',
     '{"nvme_smart_health_information_log": {"percentage_used": true, "data_units_written": 1e300}}'],
)  # fmt: skip
def test_what_is_no_such_answer_is_missing_with_the_reason(text: str) -> None:
    assert wear_of(text) == (Absent("SMART reports no endurance used"), Absent("SMART reports no bytes written"))


def test_who_may_not_ask_and_what_is_not_there_are_told_apart() -> None:
    assert wear_of(None)[0] == Absent("SMART needs root")
    assert wear_of("missing\n")[0] == Absent("smartctl is not installed")


def test_a_host_with_smartctl_is_asked_and_one_without_says_so(make_loop: MakeLoop, tmp_path: Path) -> None:
    device = make_loop()
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "smartctl").write_text(f"#!/bin/sh\n[ \"$*\" = '-n standby -j -a -- {device}' ] && echo '{NVME}'\n")
    (folder / "smartctl").chmod(0o755)
    session = Prefixed(["env", f"PATH={folder}:/usr/bin:/bin"])
    try:
        (found,) = read_devices(session, [device])
    finally:
        session.close()
    assert (found.endurance_used, found.lifetime_written) == (4.0, 16_000_000_000_000)
    if not any(Path(place, "smartctl").exists() for place in ("/usr/sbin", "/sbin", "/usr/bin", "/usr/local/sbin")):
        plain = LocalSession("testhost")
        (found,) = read_devices(plain, [device])
        plain.close()
        assert found.endurance_used == Absent("smartctl is not installed")
