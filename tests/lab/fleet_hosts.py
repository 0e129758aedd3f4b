"""Many hosts at once, each a machine of its own to Benchwright, some slowed by a quota or with other tools.

``with fleet(folder, keys, 50) as hosts`` starts them, adds them to ~/.ssh/config as h001, h002, … and stops them.
"""

import contextlib
import subprocess
import uuid
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.machines import OWN_BOOT
from tests.lab_sshd import LabHost, LabKeys

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
PERIOD = 100_000
"""Microseconds of a scheduling period of a quota."""


def names_of(count: int) -> list[str]:
    """Return the names of so many hosts."""
    return [f"h{number:03}" for number in range(1, count + 1)]


@contextlib.contextmanager
def fleet(
    folder: Path,
    keys: LabKeys,
    count: int,
    quotas: Mapping[str, float] | None = None,
    path: Mapping[str, str] | None = None,
) -> Iterator[dict[str, LabHost]]:
    """Yield running hosts by name. `quotas` are shares of one CPU, `path` folders with other tools, by host."""
    stem = f"benchwright-lab-{uuid.uuid4().hex[:8]}"
    hosts = {name: _made(folder / name, keys) for name in names_of(count)}
    for name, host in hosts.items():
        host.prefix = [*OWN_BOOT, str(folder / name)]
        if quotas and name in quotas:
            host.prefix = [*_with_quota(f"{stem}-{name}", quotas[name]), *host.prefix]
        if path and name in path:
            host.options["SetEnv"] = f"PATH={path[name]}:/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
    try:
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(LabHost.start, hosts.values()))
        for name, host in hosts.items():
            host.add_to_home(name)
        yield hosts
    finally:
        for host in hosts.values():
            host.stop()
        for group in CPU_GROUPS.glob(f"{stem}-*"):
            with contextlib.suppress(OSError):
                group.rmdir()


def _made(folder: Path, keys: LabKeys) -> LabHost:
    (folder / "leases").mkdir(parents=True)
    (folder / "boot").write_text(f"{uuid.uuid4()}\n")
    return LabHost(folder / "sshd", keys)


def _with_quota(group: str, share: float) -> list[str]:
    """Return words before a command that holds it and its children to a share of one CPU."""
    directory = CPU_GROUPS / group
    directory.mkdir()
    (directory / "cpu.cfs_period_us").write_text(str(PERIOD))
    (directory / "cpu.cfs_quota_us").write_text(str(int(share * PERIOD)))
    return ["sh", "-c", f'echo $$ > {directory}/cgroup.procs && exec "$@"', "sh"]


def kill_all(hosts: Mapping[str, LabHost]) -> None:
    """Stop every host at once, as a power failure would."""
    for host in hosts.values():
        subprocess.run(["kill", "-9", str(host.pid)], check=False)
