"""Tools are looked for without being set to work."""

from pathlib import Path

from remote.probe import read_facts
from suites.facts import Absent
from tests.host_shells import Prefixed


def test_hpcc_is_found_and_not_run(tmp_path: Path) -> None:
    program = tmp_path / "hpcc"
    program.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n")
    program.chmod(0o755)
    session = Prefixed(["env", f"PATH={tmp_path}:/usr/bin:/bin"])
    tool = read_facts(session).tool("hpcc")
    session.close()
    assert tool.path == str(program)
    assert isinstance(tool.version, Absent)
    assert not (tmp_path / "ran").exists()
