"""A device whose limits are below it, as a cloud's volume has them: ``python slow_disk.py FILE BYTES``.

Shows its memory as FILE by FUSE, for a loop device to be on. Each line on standard input is a JSON object of limits,
and is answered by "ready":

- `iops`, `rate` (B/s) of reads, and `write_iops`; `slice` (seconds): the I/Os of each slice of time pass at once, as
  those of a token bucket do;
- `burst`: the I/Os that a token bucket has above `iops`; it is full when the limits are set;
- `delay` (seconds of each I/O), `varies` (its share that is exponentially distributed, of that mean), and `at_once`:
  how many are served at a time, 0 is any number;
- `sync`: seconds of a flush.
"""

import contextlib
import ctypes
import errno
import heapq
import json
import os
import random
import select
import signal
import struct
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

INIT, GETATTR, SETATTR, OPEN, READ, WRITE, STATFS, RELEASE, FSYNC, FLUSH = 26, 3, 4, 14, 15, 16, 17, 18, 20, 25
FORGET, INTERRUPT, BATCH_FORGET = 2, 36, 42  # have no answer
ASYNC_READ, BIG_WRITES, ASYNC_DIO, MAX_PAGES = 1, 1 << 5, 1 << 15, 1 << 22
DIRECT_IO = 1
HEAD = struct.Struct("<IIQQIIII")
LARGEST = 1 << 20  # bytes of one I/O
BURST = 0.002  # seconds whose I/Os may come at once, as token buckets have it


@dataclass(frozen=True, slots=True)
class Limits:
    """What an I/O of this device has to wait for."""

    iops: float = 0
    write_iops: float = 0
    rate: float = 0
    delay: float = 0
    at_once: float = 0
    varies: float = 0
    sync: float = 0
    slice: float = 0
    burst: float = 0


class Queue:
    """When each I/O is done."""

    def __init__(self) -> None:
        self.limits = Limits()
        self._next = dict.fromkeys((READ, WRITE), 0.0)
        self._served: list[float] = []
        self._dice = random.Random(1)

    def set(self, given: dict[str, float]) -> None:
        """Change some limits."""
        self.limits = replace(self.limits, **given)
        self._next = dict.fromkeys(self._next, 0.0)
        self._served = []

    def due(self, kind: int, size: int, now: float) -> float:
        """Return when an I/O that arrives `now` is done."""
        limits = self.limits
        if kind in {FSYNC, FLUSH}:
            return now + limits.sync
        if kind not in self._next:
            return now
        per_second = limits.iops if kind == READ else limits.write_iops
        cost = max(1 / per_second if per_second else 0, size / limits.rate if limits.rate and kind == READ else 0)
        start = now
        if cost:
            self._next[kind] = max(self._next[kind], now - max(BURST, limits.burst * cost)) + cost
            begins = self._next[kind] // limits.slice * limits.slice if limits.slice else self._next[kind]
            start = max(now, begins)
        takes = limits.delay * (1 - limits.varies)
        if limits.delay and limits.varies:
            takes += self._dice.expovariate(1 / (limits.delay * limits.varies))
        if not limits.at_once:
            return start + takes
        if len(self._served) >= limits.at_once:
            start = max(start, heapq.heappop(self._served))
        heapq.heappush(self._served, start + takes)
        return start + takes


def attributes(size: int) -> bytes:
    """Return the answer to GETATTR."""
    times = (0, 0, 0, 0, 0, 0)
    return struct.pack(
        "<QII6Q10I", 3600, 0, 0, 1, size, size // 512, *times[:3], 0, 0, 0, 0o100600, 1, 0, 0, 0, 4096, 0
    )


def opened() -> bytes:
    """Return the answer to OPEN."""
    return struct.pack("<QII", 0, DIRECT_IO, 0)


def agreed(body: bytes) -> bytes:
    """Return the answer to INIT."""
    (_major, _minor, ahead, flags) = struct.unpack_from("<IIII", body)
    flags &= ASYNC_READ | BIG_WRITES | ASYNC_DIO | MAX_PAGES
    return struct.pack("<IIIIHHIIHHII6I", 7, 31, ahead, flags, 512, 512, LARGEST, 1, 256, 0, 0, 0, *(0,) * 6)


def answers(memory: int, size: int) -> dict[int, Callable[[bytes], bytes]]:
    """Return what answers each kind of request."""

    def read(body: bytes) -> bytes:
        _handle, offset, length = struct.unpack_from("<QQI", body)
        return os.pread(memory, length, offset)

    def write(body: bytes) -> bytes:
        _handle, offset, length = struct.unpack_from("<QQI", body)
        return struct.pack("<II", os.pwrite(memory, body[40 : 40 + length], offset), 0)

    return {
        INIT: agreed, GETATTR: lambda _body: attributes(size), SETATTR: lambda _body: attributes(size),
        OPEN: lambda _body: opened(), READ: read, WRITE: write, RELEASE: lambda _body: b"", FSYNC: lambda _body: b"",
        FLUSH: lambda _body: b"", STATFS: lambda _body: bytes(80),
    }  # fmt: skip


def serve(fuse: int, size: int) -> None:
    """Answer every request when it is due, until the file is unmounted."""
    memory = os.memfd_create("slow disk")
    os.ftruncate(memory, size)
    answer, queue, waiting = answers(memory, size), Queue(), list[tuple[float, int, bytes]]()
    watched = [fuse, sys.stdin.fileno()]
    while True:
        patience = max(0.0, waiting[0][0] - time.monotonic()) if waiting else None
        ready = select.select(watched, [], [], patience)[0]
        while waiting and waiting[0][0] <= time.monotonic():
            os.write(fuse, heapq.heappop(waiting)[2])
        if sys.stdin.fileno() in ready:
            line = sys.stdin.readline()
            if not line:  # nobody limits it any more: whoever unmounts it is served
                watched.remove(sys.stdin.fileno())
                queue.limits = Limits()
                continue
            queue.set(json.loads(line))
            sys.stdout.write("ready\n")
            sys.stdout.flush()
        if fuse in ready:
            try:
                request = os.read(fuse, LARGEST + 4096)
            except OSError as error:
                if error.errno == errno.ENODEV:  # unmounted
                    return
                continue
            _length, kind, number, *_rest = HEAD.unpack_from(request)
            if kind in {FORGET, INTERRUPT, BATCH_FORGET}:
                continue
            body = request[HEAD.size :]
            content = answer[kind](body) if kind in answer else None
            code = 0 if content is not None else -errno.ENOSYS
            reply = struct.pack("<IiQ", 16 + len(content or b""), code, number) + (content or b"")
            length = struct.unpack_from("<QQI", body)[2] if kind in {READ, WRITE} else 0
            heapq.heappush(waiting, (queue.due(kind, length, time.monotonic()), number, reply))


def main(file: str, size: int) -> None:
    """Mount the file and serve it."""
    fuse = os.open("/dev/fuse", os.O_RDWR | os.O_NONBLOCK)
    options = f"fd={fuse},rootmode=100600,user_id=0,group_id=0,allow_other,max_read={LARGEST}"
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"slow-disk", file.encode(), b"fuse", 0, options.encode()) != 0:
        sys.exit(f"mount: {os.strerror(ctypes.get_errno())}")
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    with contextlib.suppress(OSError):  # a device does not wait for a processor
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    serve(fuse, size)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
