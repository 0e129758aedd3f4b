"""A host of the benchmarks' own: a real sshd on loopback, a home, a workstation."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from pathlib import Path

from app.services import Workstation
from tests.lab.guard import Guard, guarded_directory
from tests.lab.staging import CGROUPS, FIRST
from tests.lab_sshd import LabHost, LabKeys, make_key


@dataclass(frozen=True, slots=True)
class Lab:
    """The host, called “lab”, and a workstation that knows it. `folder` is both theirs."""

    folder: Path
    host: LabHost
    workstation: Workstation

    def by_hand(self, line: str) -> bytes:
        """Run `line` on the host as a person would, with the OpenSSH client; return what it printed."""
        words = ["ssh", "-F", str(self.folder / "ssh_config"), "lab", line]
        return subprocess.run(words, check=True, stdin=subprocess.DEVNULL, capture_output=True, timeout=120).stdout


@contextmanager
def lab(*, undisturbed: bool = False) -> Iterator[Lab]:
    """Start the host; end everything afterwards. $HOME is the benchmark's own.

    An `undisturbed` host goes before whatever else runs on this computer, as far as we may: so do all its processes.
    """
    with guarded_directory("benchwright-bench-") as folder, going_first() if undisturbed else nullcontext():
        move_home(folder / "home")
        host = LabHost(folder / "sshd", make_keys(folder))
        host.start()
        host.add_to_home()
        (folder / "ssh_config").write_text(host.config(more=f"  UserKnownHostsFile {host.known_hosts}\n"))
        workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
        try:
            yield Lab(folder, host, workstation)
        finally:
            workstation.close()
            host.stop()


@contextmanager
def going_first() -> Iterator[None]:
    """Go before whatever else runs on this computer, as far as we may: a busy one stamps late what it sees."""
    group = CGROUPS / "cpu" / f"benchwright-{os.getpid()}"
    if os.geteuid() != 0 or not (group.parent / "cgroup.procs").exists():
        yield
        return
    guard = Guard()  # not in the group
    guard.note("left-group", group)
    group.mkdir(exist_ok=True)
    (group / "cpu.shares").write_text(FIRST)
    (group / "cgroup.procs").write_text("0")
    try:
        yield
    finally:
        for pid in (group / "cgroup.procs").read_text().split():
            with suppress(OSError):  # it has ended
                (group.parent / "cgroup.procs").write_text(pid)
        guard.close()


def move_home(folder: Path) -> None:
    """Keep away from the user's own hosts, keys, settings and library."""
    folder.mkdir(parents=True)
    os.environ["HOME"] = str(folder)
    for part in ("CONFIG", "DATA", "STATE", "CACHE"):
        os.environ[f"XDG_{part}_HOME"] = str(folder / part.lower())
    os.environ.pop("SSH_AUTH_SOCK", None)


def make_keys(folder: Path) -> LabKeys:
    """Make the keys of a host and of whom it lets in."""
    client, host = make_key(folder / "client"), make_key(folder / "host")
    return LabKeys(client=client, encrypted=client, stranger=client, host=host, other_host=host)
