"""Hosts that are machines of their own to Benchwright: an sshd with another boot id and leases of its own."""

import subprocess
import uuid
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.lab_sshd import LabHost

SCRIPT = """
mount --bind "$0/boot" /proc/sys/kernel/random/boot_id && mount --bind "$0/leases" "$BENCHWRIGHT_LEASES" && exec "$@"
"""
OWN_BOOT = ["unshare", "--mount", "sh", "-c", SCRIPT]
"""Words before an sshd that has a boot id and leases of its own, both in a folder: as on another machine."""

StartMachine = Callable[..., LabHost]


@pytest.fixture
def start_machine(tmp_path: Path, start_lab_host: Callable[..., LabHost]) -> StartMachine:
    """Return a function that starts a machine named `alias`; with `like`, a container on the machine of that host."""
    if subprocess.run(["unshare", "--mount", "true"], capture_output=True, check=False).returncode:
        pytest.skip("mount namespaces need root")

    def start(alias: str, like: str = "") -> LabHost:
        folder = tmp_path / alias
        (folder / "leases").mkdir(parents=True)
        boot = (tmp_path / like / "boot").read_text() if like else f"{uuid.uuid4()}\n"
        (folder / "boot").write_text(boot)
        host = start_lab_host()
        host.prefix = [*OWN_BOOT, str(folder)]
        host.restart()
        host.add_to_home(alias)
        return host

    return start
