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


def test_tools_that_no_package_brings_are_found_where_they_lie(tmp_path: Path) -> None:
    for path in ("byte unixbench/UnixBench/Run", "Geekbench-6.3.0-Linux/geekbench6", "cpu2017/shrc"):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text("")
    session = Prefixed(["env", f"HOME={tmp_path}"])
    facts = read_facts(session)
    session.close()
    assert facts.tool("unixbench").path == f"{tmp_path}/byte unixbench/UnixBench"
    assert facts.tool("geekbench").path == f"{tmp_path}/Geekbench-6.3.0-Linux"
    assert facts.tool("speccpu").path == f"{tmp_path}/cpu2017"


def test_tools_that_lie_nowhere_are_absent(tmp_path: Path) -> None:
    session = Prefixed(["env", f"HOME={tmp_path}"])
    found = read_facts(session).tool("speccpu").path
    session.close()
    assert found == Absent("not installed")
