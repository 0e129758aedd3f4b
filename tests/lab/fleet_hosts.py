"""Many hosts at once, each a machine of its own to Benchwright, some slowed by a quota or with other tools.

``with fleet(folder, keys, names_of(50)) as hosts`` starts them, adds them to ~/.ssh/config, and stops them.
"""

import contextlib
import os
import subprocess
import sys
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tests.lab.guard import Guard
from tests.lab.machines import OWN_BOOT
from tests.lab_sshd import LabHost, LabKeys

CPU_GROUPS = Path("/sys/fs/cgroup/cpu")
PROGRAMS = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
"""The search path of a host."""

PERIOD = 100_000
"""Microseconds of a scheduling period of a quota."""


def names_of(count: int) -> list[str]:
    """Return the names of so many hosts."""
    return [f"h{number:03}" for number in range(1, count + 1)]


@contextlib.contextmanager
def network(count: int, delays: Mapping[int, float] | None = None) -> Iterator[list[tuple[str, str]]]:
    """Yield namespaces on one bridge with this computer, each with its address; this computer has that ending in 1.

    `delays` are milliseconds by which a wire delays each frame of a namespace, in both directions, by its number.
    """
    stem, subnet = f"bf{os.getpid() % 10000}", f"10.216.{os.getpid() % 250}"
    guard = Guard()
    guard.note("network", stem)
    with contextlib.ExitStack() as wires:
        wires.callback(guard.close)
        _ip("link", "add", stem, "type", "bridge")
        _ip("addr", "add", f"{subnet}.1/24", "dev", stem)
        _ip("link", "set", stem, "up")
        made = []
        for number in range(count):
            made.append(_namespace(stem, number, f"{subnet}.{number + 2}"))
            if delays and number in delays:
                wires.enter_context(_delayed(stem, number, made[-1][0], delays[number]))
            else:
                _ip("link", "set", f"{stem}{number}", "master", stem, "up")
        yield made


def _namespace(stem: str, number: int, address: str) -> tuple[str, str]:
    name = f"{stem}-{number}"
    _ip("netns", "add", name)
    _ip("link", "add", f"{stem}{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
    for words in ("link set lo up", f"addr add {address}/24 dev eth0", "link set eth0 up"):
        _ip("-n", name, *words.split())
    return name, address


@contextlib.contextmanager
def _delayed(stem: str, number: int, namespace: str, milliseconds: float) -> Iterator[None]:
    """Join a namespace to the bridge by a wire that carries each frame so much later."""
    words = [sys.executable, str(Path(__file__).with_name("delaying_wire.py"))]
    port, inner, outer = f"{stem}{number}", f"{stem}-w", f"{stem}-v"
    _ip("link", "add", inner, "type", "veth", "peer", "name", outer)
    for name in (port, inner):
        _ip("link", "set", name, "up")
    _ip("link", "set", outer, "master", stem, "up")
    subprocess.run(["ip", "netns", "exec", namespace, *words, "eth0"], check=True)
    for name in (port, inner, outer, stem):
        subprocess.run([*words, name], check=False, stderr=subprocess.DEVNULL)
    with subprocess.Popen([*words, port, inner, str(milliseconds)], stdout=subprocess.PIPE, text=True) as wire:
        assert wire.stdout is not None
        assert wire.stdout.readline() == "ready\n"
        try:
            yield
        finally:
            wire.kill()


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


@contextlib.contextmanager
def fleet(
    folder: Path,
    keys: LabKeys,
    names: Sequence[str],
    *,
    quotas: Mapping[str, float] | None = None,
    environment: Mapping[str, Mapping[str, str]] | None = None,
    namespaces: Sequence[tuple[str, str]] = (),
) -> Iterator[dict[str, LabHost]]:
    """Yield running hosts by name.

    `quotas` are shares of one CPU, `environment` variables of every command, by host; `namespaces` those of network().
    """
    stem = f"benchwright-lab-{uuid.uuid4().hex[:8]}"
    hosts = {name: _made(folder / name, keys) for name in names}
    for index, (name, host) in enumerate(hosts.items()):
        host.prefix = [*OWN_BOOT, str(folder / name)]
        if namespaces:
            namespace, host.address = namespaces[index]
            host.options["ListenAddress"] = host.address
            host.prefix = ["nsenter", f"--net=/run/netns/{namespace}", *host.prefix]  # ip would hide /sys/fs/cgroup
        if quotas and name in quotas:
            host.prefix = [*_with_quota(f"{stem}-{name}", quotas[name]), *host.prefix]
        if environment and name in environment:
            host.options["SetEnv"] = " ".join(f"{key}={value}" for key, value in environment[name].items())
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
