"""A real sshd that asks PAM, with a password of the test's own, in a file system view that nobody else sees."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.lab_sshd import LabHost, LabKeys

PASSWORD = "pl4nted-c4nary"

_PAM = """auth optional pam_echo.so Welcome to the lab
auth required pam_unix.so nodelay
account required pam_permit.so
session required pam_permit.so
"""

_OWN_ETC = 'mount --bind "$1" /etc/pam.d/sshd && mount --bind "$2" /etc/shadow && shift 2 && exec "$@"'

StartPam = Callable[..., LabHost]


@pytest.fixture
def start_pam_host(tmp_path_factory: pytest.TempPathFactory, lab_keys: LabKeys) -> Iterator[StartPam]:
    """Return a function that starts such an sshd with the given options; skip where the system does not let us."""
    if os.geteuid() != 0 or not Path("/etc/pam.d/sshd").exists() or shutil.which("openssl") is None:
        pytest.skip("needs root, an sshd with PAM and openssl")
    if subprocess.run(["unshare", "-m", "true"], check=False).returncode != 0:
        pytest.skip("the kernel lets nobody have mounts of their own")
    hosts: list[LabHost] = []

    def start(**options: str) -> LabHost:
        folder = tmp_path_factory.mktemp("pam")
        host = LabHost(folder, lab_keys, {"UsePAM": "yes", "AuthenticationMethods": "any", **options})
        words = ["openssl", "passwd", "-6", PASSWORD]
        hashed = subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()
        (folder / "pam").write_text(_PAM)
        (folder / "shadow").write_text(f"{host.user}:{hashed}:19000:0:99999:7:::\n")
        host.prefix = ["unshare", "-m", "sh", "-c", _OWN_ETC, "sh", str(folder / "pam"), str(folder / "shadow")]
        hosts.append(host)
        host.start()
        return host

    yield start
    for host in hosts:
        host.stop()
