"""A host behind a link that loses packets: a network namespace whose only way out is a pair of TUN devices of ours."""

import contextlib
import fcntl
import os
import random
import select
import struct
import subprocess
import threading
from collections.abc import Callable, Iterator

import pytest

from tests.lab_sshd import LabHost

SET_NAME, TUN_WITHOUT_HEADER = 0x400454CA, 0x1001
"""TUNSETIFF, and IFF_TUN | IFF_NO_PI. Source: linux/if_tun.h."""


class LossyLink:
    """Passes packets between two TUN devices, and loses each with the probability `loss`."""

    def __init__(self, names: tuple[str, str]) -> None:
        self.loss = 0.0
        self.lost = 0
        self.ends = [_tun(name) for name in names]
        self._wake, self._end = os.pipe()
        self._dice = random.Random(1)
        self._thread = threading.Thread(target=self._pass_on, name="lossy link")
        self._thread.start()

    def _pass_on(self) -> None:
        while True:
            ready, _, _ = select.select([*self.ends, self._wake], [], [])
            if self._wake in ready:
                return
            for end in ready:
                packet = os.read(end, 65536)
                if self._dice.random() < self.loss:
                    self.lost += 1
                    continue
                with contextlib.suppress(OSError):  # the other end is not up yet
                    os.write(self.ends[end == self.ends[0]], packet)

    def close(self) -> None:
        os.write(self._end, b"end")
        self._thread.join()
        for handle in (*self.ends, self._wake, self._end):
            os.close(handle)


def _tun(name: str) -> int:
    handle = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(handle, SET_NAME, struct.pack("16sH22s", name.encode(), TUN_WITHOUT_HEADER, b""))
    return handle


def _ip(*words: str) -> None:
    subprocess.run(["ip", *words], check=True, capture_output=True)


def _connect(space: str, near: str, far: str, subnet: str) -> None:
    """Give each device an address, the far one in the namespace `space`."""
    _ip("netns", "add", space)
    _ip("link", "set", far, "netns", space)
    _ip("addr", "add", f"{subnet}.1", "peer", f"{subnet}.2", "dev", near)
    _ip("link", "set", near, "up")
    _ip("-n", space, "addr", "add", f"{subnet}.2", "peer", f"{subnet}.1", "dev", far)
    _ip("-n", space, "link", "set", far, "up")


@pytest.fixture
def lossy(start_lab_host: Callable[..., LabHost]) -> Iterator[tuple[LabHost, LossyLink]]:
    """Return a running host, and the link to it; skip where that cannot be made."""
    if os.geteuid() != 0:
        pytest.skip("network namespaces need root")
    number = os.getpid() % 10000
    space, near, far, subnet = f"bwl{number}", f"bwn{number}", f"bwf{number}", f"10.214.{number % 250}"
    try:
        link = LossyLink((near, far))
    except OSError as error:
        pytest.skip(f"TUN devices cannot be made here: {error}")
    try:
        _connect(space, near, far, subnet)
        host = start_lab_host()
        host.stop()
        host.prefix, host.address = ["ip", "netns", "exec", space], f"{subnet}.2"
        host.start(ListenAddress=host.address)
        yield host, link
        host.stop()
    finally:
        link.close()  # first: a device cannot be read once its namespace is gone
        subprocess.run(["ip", "netns", "del", space], check=False, capture_output=True)
