"""Tools are looked for without being set to work."""

import os
import shutil
from pathlib import Path

import pytest

from remote.probe import read_facts
from suites.facts import Absent
from suites.oltp import server
from suites.programs import MARIADB_SERVER, POSTGRESQL_SERVER
from tests.host_shells import Prefixed

HIDDEN = """
mount --make-rprivate /
for folder in /usr/local/bin /usr/local/sbin /usr/lib/postgresql /usr/sbin; do
    [ ! -d "$folder" ] || mount -t tmpfs none "$folder"
done
put() { # path: a program that prints its own path as a version
    mkdir -p "${1%/*}"
    printf '#!/bin/sh\\necho "$0 1.0"\\n' >"$1"
    chmod 755 "$1"
}
for each in $PUT; do put "$each"; done
exec "$@"
"""
"""Programs put where distributions have them, with nothing of this computer's own in the way."""


def behind_sbin(*programs: str) -> Prefixed:
    """Return a session in a mount namespace that has `programs`; skip where there can be none."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or not Path("/usr/lib/postgresql").is_dir():
        pytest.skip("needs root, unshare and /usr/lib/postgresql")
    variables = [f"PUT={' '.join(programs)}", "PATH=/usr/bin:/bin"]
    return Prefixed(["env", *variables, "unshare", "-m", "sh", "-c", HIDDEN, "sh"])


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


def test_database_servers_are_found_beyond_the_path_of_a_user() -> None:
    folders = [f"/usr/lib/postgresql/{version}/bin" for version in (9, 15, 16)]
    programs = [f"{folder}/{program}" for folder in folders[:2] for program in ("initdb", "postgres")]
    session = behind_sbin(*programs, f"{folders[2]}/postgres", "/usr/sbin/mariadbd")
    facts = read_facts(session)
    session.close()
    assert facts.tool("postgres").path == f"{folders[1]}/postgres"  # the newest that can make a cluster
    assert facts.tool("postgres").version == f"{folders[1]}/postgres 1.0"
    assert facts.tool("mariadbd").path == "/usr/sbin/mariadbd"


def test_servers_that_are_not_there_are_absent() -> None:
    session = behind_sbin()
    facts = read_facts(session)
    session.close()
    for name in ("postgres", "mariadbd"):
        assert facts.tool(name).path == Absent("not installed")


def test_servers_are_looked_for_where_a_step_looks_for_them() -> None:
    """The script that starts a step's own server looks in the directories where the facts of a host do."""
    patterns, *directories = POSTGRESQL_SERVER.search
    assert f"ls -d {patterns} " in server.FILE.text
    assert f"PATH=${':'.join(directories)}\n" in server.FILE.text
    assert MARIADB_SERVER.search == tuple(directories)
