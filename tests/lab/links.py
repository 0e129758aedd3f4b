"""Hosts in network namespaces on one bridge, whose links have a rate, a queue and a loss that are known.

Ask for the fixture `linked_hosts`: `near, far = linked_hosts(2)`. Each is a running sshd in a namespace of its own,
with the alias it was given ("near", "far") in ~/.ssh/config, and one interface, eth0. Without root or tools such tests
are skipped.
"""

import contextlib
import itertools
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab.guard import Guard
from tests.lab_sshd import LabHost

ALIASES = ("near", "far", "third", "fourth")

TCP_SHARE = 1448 / 1514
"""The share of a link's rate that is TCP's data: 1448 of a frame's 1514 bytes (Ethernet 14, IP 20, TCP 32)."""

_NUMBERS = itertools.count()

LinkedHosts = Callable[[int], "list[LinkedHost]"]


@dataclass(frozen=True, slots=True)
class LinkedHost:
    """A host on a link of its own. Its sshd is reached from here; the hosts reach each other, too."""

    alias: str
    namespace: str
    address: str
    ssh: LabHost

    def words(self, *words: str) -> list[str]:
        """Return `words` as a command that runs on this host."""
        return ["ip", "netns", "exec", self.namespace, *words]

    def run(self, *words: str) -> str:
        """Run a command on this host and return what it printed; raise CalledProcessError where it fails."""
        return subprocess.run(self.words(*words), check=True, capture_output=True, text=True).stdout

    def shape(self, megabits: float, *, latency: float = 20) -> None:
        """Hold what this host sends to a rate; its queue holds what takes `latency` milliseconds to send."""
        self.run("tc", "qdisc", "replace", "dev", "eth0", "root", *_bucket(megabits, latency))

    def shape_arrivals(self, megabits: float, *, latency: float = 20) -> None:
        """Hold what this host receives to a rate, with a queue in the network, where no sender sees it."""
        port = self.namespace.replace("-", "")
        words = ["tc", "qdisc", "replace", "dev", port, "root", *_bucket(megabits, latency)]
        subprocess.run(words, check=True, capture_output=True)

    def lose(self, share: float, *, protocol: str = "udp") -> None:
        """Drop a share of the packets of a protocol that arrive at this host, at random; skip where that cannot be."""
        if shutil.which("iptables") is None:
            pytest.skip("iptables is not installed")
        words = ("-p", protocol, "-m", "statistic", "--mode", "random", "--probability", str(share), "-j", "DROP")
        self.run("iptables", "-A", "INPUT", *words)

    def dropped(self) -> int:
        """Return how many packets were dropped by what `lose` set up: the truth, where chance had its way."""
        lines = self.run("iptables", "-nvxL", "INPUT").splitlines()
        return sum(int(line.split()[0]) for line in lines if "statistic" in line)


@contextlib.contextmanager
def delayed(near: LinkedHost, far: LinkedHost, milliseconds: float) -> Iterator[str]:
    """Join two hosts by a second wire, eth1, that carries each frame so much later; yield far's address on it.

    Whoever sends over it hears an answer after twice the delay. It carries little: for round trips, not for rates.
    """
    wire_words = (sys.executable, str(Path(__file__).with_name("delaying_wire.py")))
    ports = [f"{host.namespace.replace('-', '')}w" for host in (near, far)]
    addresses = [f"10.217.{os.getpid() % 250}.{number}" for number in (1, 2)]
    for host, port, address in zip((near, far), ports, addresses, strict=True):
        _ip("link", "add", port, "type", "veth", "peer", "name", "eth1", "netns", host.namespace)
        _ip("link", "set", port, "up")
        _ip("-n", host.namespace, "addr", "add", f"{address}/24", "dev", "eth1")
        _ip("-n", host.namespace, "link", "set", "eth1", "up")
        host.run(*wire_words, "eth1")
    with subprocess.Popen([*wire_words, *ports, str(milliseconds)], stdout=subprocess.PIPE, text=True) as wire:
        assert wire.stdout is not None
        assert wire.stdout.readline() == "ready\n"
        try:
            yield addresses[1]
        finally:
            wire.kill()


def routed(near: LinkedHost, router: LinkedHost, far: LinkedHost, *, mtu: int = 1500) -> str:
    """Send what `near` has for `far` through `router`, whose way on carries packets of `mtu`; return far's address.

    Replies take the direct way.
    """
    for name in ("ip_forward=1", "conf.all.send_redirects=0", "conf.eth0.send_redirects=0"):
        router.run("sysctl", "-qw", f"net.ipv4.{name}")
    router.run("ip", "route", "add", far.address, "dev", "eth0", "mtu", "lock", str(mtu))
    near.run("ip", "route", "add", far.address, "via", router.address)
    return far.address


def _bucket(megabits: float, latency: float) -> tuple[str, ...]:
    burst = max(16_000, round(megabits * 320))
    return "tbf", "rate", f"{megabits}mbit", "burst", str(burst), "latency", f"{latency}ms"


@pytest.fixture
def linked_hosts(start_lab_host: Callable[..., LabHost]) -> Iterator[LinkedHosts]:
    """Return a function that makes so many hosts on one bridge; all are gone after the test."""
    with linking(start_lab_host) as make:
        yield make


@contextlib.contextmanager
def linking(start_lab_host: Callable[..., LabHost]) -> Iterator[LinkedHosts]:
    """Yield a function that makes so many hosts on one bridge; all are gone in the end."""
    if os.geteuid() != 0 or shutil.which("tc") is None:
        pytest.skip("links of a given rate need root and tc")
    # The kernel takes a deleted namespace apart when it gets round to it: the next test's names have to be others.
    stem, subnet = f"bl{os.getpid() % 100000}x{next(_NUMBERS)}", f"10.215.{os.getpid() % 250}"
    made: list[LinkedHost] = []
    guard = Guard()
    guard.note("network", stem)

    def make(count: int) -> list[LinkedHost]:
        _ip("link", "add", stem, "type", "bridge")
        _ip("addr", "add", f"{subnet}.1/24", "dev", stem)
        _ip("link", "set", stem, "up")
        for number in range(count):
            made.append(_linked(start_lab_host, stem, number, f"{subnet}.{number + 2}"))  # noqa: PERF401 (if one fails)
        return made

    try:
        yield make
    finally:
        for host in made:
            host.ssh.stop()
        guard.close()


def _linked(start_lab_host: Callable[..., LabHost], stem: str, number: int, address: str) -> LinkedHost:
    """Make a namespace with one end of a pair, the other end on the bridge, and start an sshd in it."""
    name = f"{stem}-{number}"
    _ip("netns", "add", name)
    _ip("link", "add", f"{stem}{number}", "type", "veth", "peer", "name", "eth0", "netns", name)
    _ip("link", "set", f"{stem}{number}", "master", stem, "up")
    _ip("-n", name, "link", "set", "lo", "up")
    _ip("-n", name, "addr", "add", f"{address}/24", "dev", "eth0")
    _ip("-n", name, "link", "set", "eth0", "up")
    host = start_lab_host()
    host.stop()
    host.prefix, host.address = ["ip", "netns", "exec", name], address
    host.start(ListenAddress=address)
    host.add_to_home(ALIASES[number])
    return LinkedHost(ALIASES[number], name, address, host)


def _ip(*words: str) -> None:
    done = subprocess.run(["ip", *words], capture_output=True, check=False, text=True)
    if done.returncode != 0:
        pytest.skip(f"network namespaces cannot be made here: {done.stderr.strip()}")
