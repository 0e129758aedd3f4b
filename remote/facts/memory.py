"""Memory, swap and huge pages, and what a group may use of them."""

import re

from remote.facts.items import Items
from remote.facts.values import fields, whole
from suites.facts import Absent, MemoryFacts

NO_LIMIT = 2**60
"""cgroup v1 writes "no limit" as the largest number of whole pages, about 2**63."""


def memory_facts(items: Items) -> MemoryFacts:
    """Return the facts."""
    described = fields(items.text("meminfo"))

    def size(name: str) -> int | Absent:
        """Return a line such as ``MemTotal: 16318480 kB`` in bytes; the kernel's kB are KiB."""
        found = whole(described.get(name, "").removesuffix(" kB"), high=2**50)
        return items.missing("meminfo", f"/proc/meminfo has no {name}") if found is None else found * 1024

    total, free = size("SwapTotal"), size("SwapFree")
    pages = whole(described.get("HugePages_Total"), high=2**40)
    absent = free if isinstance(free, Absent) else total
    used = total - free if isinstance(total, int) and isinstance(free, int) and total >= free else None
    return MemoryFacts(
        total=size("MemTotal"),
        available=size("MemAvailable"),
        swap_total=total,
        swap_used=used if used is not None else absent if isinstance(absent, Absent) else Absent("it exceeds the swap"),
        page_size=_page_size(items),
        huge_page_size=size("Hugepagesize"),
        huge_pages=items.missing("meminfo", "/proc/meminfo has no HugePages_Total") if pages is None else pages,
        transparent_huge_pages=_chosen(items),
        limit=_limit(items),
    )


def _page_size(items: Items) -> int | Absent:
    found = whole(items.text("page_size"), 1, 2**30)
    return items.missing("page_size", "the host's answer is no number of bytes") if found is None else found


def _chosen(items: Items) -> str | Absent:
    """Return the word in brackets in ``always [madvise] never``."""
    found = re.search(r"\[([a-z]{1,16})\]", items.text("huge_pages") or "")
    return found[1] if found else items.missing("huge_pages", "the kernel's answer names none")


def _limit(items: Items) -> int | Absent:
    texts = (*items.all("cgroup.memory.max"), *items.all("cgroup.memory.limit_in_bytes"))
    limits = [limit for text in texts if (limit := whole(text, 1, NO_LIMIT)) is not None]
    return min(limits) if limits else Absent("no group limits the memory")
