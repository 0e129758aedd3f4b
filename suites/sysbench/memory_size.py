"""How large sysbench's memory blocks should be, and how much memory they take."""

from suites.facts import Facts, known
from suites.parameters import Values

LARGEST_BLOCK = 2**40

AMPLE_TOTAL = 100 * 2**40
"""More than any host moves in the run time that is tuned: 3.4 TiB/s for 30 s."""

CACHE_FACTOR = 4
"""STREAM's rule (its source, 5.10): at least four times the last-level cache, or the cache is measured."""

UNKNOWN_CACHE_BLOCK = 256 * 2**20

COMFORTABLE_MEMORY = 8 * 2**30
"""Blocks of more than this in all take sysbench many seconds to fill before it starts."""

FILL_RATE = 2.0**30
"""Bytes a second at which sysbench fills its blocks before it starts, one after the other.

Measured with sysbench 1.0.20 on a virtual machine: 0.8 GiB/s (2 x 128 MiB) to 1.7 GiB/s (2 x 4 GiB).
"""


def available_memory(facts: Facts) -> int | None:
    """Return the bytes that blocks can take: available memory, less where a cgroup's limit is lower."""
    given = [size for size in (known(facts.memory.available), known(facts.memory.limit)) if size is not None]
    return min(given) if given else None


def footprint(values: Values) -> int:
    """Return the bytes of all blocks: one shared by all threads, or one for each."""
    blocks = int(values["threads"]) if values["scope"] == "local" else 1
    return int(values["block_size"]) * blocks


def tuned_block(cache: int, threads: int, available: int | None) -> int:
    """Return the block size, a power of two, that is measured in memory rather than in `cache` bytes of cache.

    Four times the cache, unless the blocks of all `threads` would then take more than half the available memory or
    longer to fill than they are worth. What is left is still four times the cache in all, where memory allows.
    """
    wanted = power_at_least(CACHE_FACTOR * cache)
    room = max(COMFORTABLE_MEMORY, 2 * wanted)
    if available is not None:
        room = min(room, available // 2)
    return min(wanted, power_at_most(max(room // threads, 64 * 1024)))


def power_at_least(size: int) -> int:
    """Return the smallest power of two that is at least `size`."""
    return 1 << max(size - 1, 0).bit_length()


def power_at_most(size: int) -> int:
    """Return the largest power of two that is at most `size` (which is at least 1)."""
    return 1 << (size.bit_length() - 1)
