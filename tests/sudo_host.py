"""A real sshd with a real sudo for an account of its own, in a mount namespace: nothing of this computer changes.

The account, its password and sudoers are files that are mounted over those in /etc, for this sshd alone; /run, with
what sudo and Benchwright note down there, is memory of its own, which a restart forgets as a reboot would.
"""

import os
import shlex
import shutil
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import pytest

from tests import lab_sshd
from tests.lab_sshd import LabHost, LabKeys

USER, UID = "benchlab", 64321
PASSWORD = "planted-canary-93b1"  # appears nowhere else: whatever holds it has kept a secret it should not have
_HASH = "$6$benchwright$mKrLEVkOttbiD4q82PVTpGLfaLaG1F/8BBuKIVZiHO6804qVUmbpc0A3UFP.moLx.wochi/Q1cxNpDE/KwImV1"

WITH_PASSWORD = f"{USER} ALL=(ALL) ALL\n"
WITHOUT_PASSWORD = f"{USER} ALL=(ALL) NOPASSWD: ALL\n"
NOBODY = "root ALL=(ALL) ALL\n"

StartSudoHost = Callable[..., LabHost]


def _write_accounts(folder: Path, sudoers: str) -> dict[Path, str]:
    """Write the files that stand in for those of /etc, and return where each goes."""
    lines = {
        "passwd": f"{USER}:x:{UID}:{UID}::{folder / 'home'}:/bin/sh\n",
        "group": f"{USER}:x:{UID}:\n",
        "shadow": f"{USER}:{_HASH}:19000:0:99999:7:::\n",
    }
    files = {}
    for name, line in lines.items():
        (folder / name).write_text(Path("/etc", name).read_text() + line)
        files[folder / name] = f"/etc/{name}"
    (folder / "sudoers").write_text(sudoers)
    (folder / "sudoers").chmod(0o440)
    files[folder / "sudoers"] = "/etc/sudoers"
    return files


def _write_wrapper(folder: Path, binds: Mapping[Path, str], prepare: str) -> Path:
    """Write a program that becomes sshd in a mount namespace in which `binds` are mounted."""
    mounts = "".join(f"mount --bind {shlex.quote(str(source))} {shlex.quote(to)}\n" for source, to in binds.items())
    inside = f"mount --make-rprivate /\n{mounts}mount -t tmpfs run /run\nmkdir /run/sshd\n{prepare}\n"
    wrapper = folder / "sshd"
    script = f'set -e\n{inside}exec {shlex.quote(str(lab_sshd.SSHD))} "$@"'
    wrapper.write_text(f'#!/bin/sh\nexec unshare -m sh -c {shlex.quote(script)} sshd "$@"\n')
    wrapper.chmod(0o755)
    return wrapper


@pytest.fixture
def start_sudo_host(lab_keys: LabKeys, monkeypatch: pytest.MonkeyPatch) -> Iterator[StartSudoHost]:
    """Return a function that starts a host whose user, USER, is not root and may use sudo as `sudoers` says.

    `binds` are mounted for this host alone; `prepare` is a script run as root in its namespace before sshd starts.
    """
    if os.geteuid() != 0 or shutil.which("sudo") is None or shutil.which("unshare") is None:
        pytest.skip("needs root, sudo and unshare")
    real = lab_sshd.SSHD
    hosts: list[LabHost] = []

    def start(sudoers: str = WITH_PASSWORD, binds: Mapping[Path, str] | None = None, prepare: str = "") -> LabHost:
        folder = Path(tempfile.mkdtemp(prefix="sudo-host-"))  # where the account may go, as pytest's folders are not
        folder.chmod(0o755)
        host = LabHost(folder / "host", lab_keys)
        host.user = USER
        hosts.append(host)
        (folder / "home").mkdir()
        for directory in (folder / "home", host.home):
            os.chown(directory, UID, UID)
        files = _write_accounts(folder, sudoers)
        wrapper = _write_wrapper(folder, {**files, **(binds or {})}, prepare)
        monkeypatch.setattr(lab_sshd, "SSHD", str(wrapper))
        try:
            host.start()
        finally:
            monkeypatch.setattr(lab_sshd, "SSHD", real)
        return host

    yield start
    for host in hosts:
        host.stop()
        shutil.rmtree(host.directory.parent)


def words_of_processes() -> Iterator[bytes]:
    """Yield the command line and environment of every process, as `ps` of root shows them."""
    for path in Path("/proc").glob("[0-9]*"):
        for name in ("cmdline", "environ"):
            try:
                yield (path / name).read_bytes()
            except OSError:
                continue  # it ended meanwhile


def files_with(secret: str, folders: Sequence[Path]) -> list[Path]:
    """Return the files below `folders` that hold `secret`."""
    files = (path for folder in folders for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return [path for path in files if secret.encode() in path.read_bytes()]
