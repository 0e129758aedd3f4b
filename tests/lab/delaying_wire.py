"""A wire with a known delay between two interfaces: ``python delaying_wire.py ONE OTHER MILLISECONDS``.

Every frame that arrives at one interface leaves by the other so much later. "ready" is printed once it carries.
With one interface alone, its offloads are switched off: a wire must be given whole frames with their checksums.
"""

import array
import fcntl
import select
import socket
import struct
import sys
import time
from collections import deque

ALL_PROTOCOLS = 0x0003
LARGEST_FRAME = 65536
SIOCETHTOOL = 0x8946
OFFLOADS = (0x17, 0x1F, 0x24)  # ETHTOOL_STXCSUM, ETHTOOL_STSO, ETHTOOL_SGSO, as linux/ethtool.h has them
OUTGOING = 4  # PACKET_OUTGOING: what we sent ourselves


def opened(interface: str) -> socket.socket:
    """Return a socket that reads and writes whole frames of an interface."""
    wire = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(ALL_PROTOCOLS))
    wire.bind((interface, 0))
    return wire


def without_offloads(interface: str) -> None:
    """Let the kernel hand frames to an interface as they would be on a wire: no larger than the MTU, with checksums."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for offload in OFFLOADS:
            value = array.array("B", struct.pack("II", offload, 0))
            fcntl.ioctl(any_socket, SIOCETHTOOL, struct.pack("16sP", interface.encode(), value.buffer_info()[0]))


def carry(one: socket.socket, other: socket.socket, delay: float) -> None:
    """Carry frames both ways for ever, each `delay` seconds late."""
    beyond = {one: other, other: one}
    waiting: deque[tuple[float, socket.socket, bytes]] = deque()
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        for arrived in select.select([one, other], [], [], patience)[0]:
            frame, address = arrived.recvfrom(LARGEST_FRAME)
            if address[2] != OUTGOING:
                waiting.append((time.monotonic() + delay, beyond[arrived], frame))
        while waiting and waiting[0][0] <= time.monotonic():
            _moment, out, frame = waiting.popleft()
            out.send(frame)


if __name__ == "__main__":
    if len(sys.argv) == 2:
        without_offloads(sys.argv[1])
        sys.exit()
    ends = opened(sys.argv[1]), opened(sys.argv[2])
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    carry(*ends, float(sys.argv[3]) / 1000)
