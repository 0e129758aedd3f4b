"""Every way in which people are known to have been fooled leads to a check, or to a reason why it needs none.

The rows are those of practitioners' accounts, of the catalogue of measurement science, and of what other tools look
at. A row whose right side is text is no check's: the text says what stands in its place.
"""

from collections.abc import Mapping
from types import MappingProxyType

import pytest

from app.checks.catalogue import catalogue

Row = tuple[str, ...] | str

STORIES: Mapping[str, Row] = MappingProxyType(
    {
        "1 cp twice": ("source-in-memory", "not-from-the-device"),
        "2 copy of a copy": ("source-in-memory", "read-after-write"),
        "3 dd from zero, unflushed": ("unflushed-write", "short-runtime"),
        "4 dd from urandom": ("random-source", "generator-bound"),
        "5 sysbench CPU with defaults": ("sysbench-cpu-defaults", "too-brief"),
        "6 sysbench memory with defaults": ("sysbench-memory-block", "sysbench-memory-total"),
        "7 file set below the memory": ("page-cache", "not-from-the-device"),
        "8 second run with invalidate=0": ("cache-kept", "page-cache", "not-from-the-device"),
        "9 readahead merges": ("readahead-merges", "merged-on-the-way"),
        "10 a file of 1 MB": ("short-runtime", "page-cache", "too-brief"),
        "11 depth 1 against depth 2": ("one-io-in-flight", "queue-half-empty"),
        "12 averages only": ("few-requests", "outliers", "thin-tail"),
        "13 IOPS with 16 KiB blocks": ("throughput-ceiling", "limited-by"),
        "14 fresh volume": ("device-never-written", "snapshot-volume", "thin-volume"),
        "15 fresh drive": ("fresh-device", "not-steady"),
        "16 zero-filled buffers": ("zero-source", "repeated-data", "compressing-file-system"),
        "17 old kernel in an image": ("old-kernel", "hosts-differ"),
        "18 UDP sender's figure": ("datagrams-lost", "udp-default-rate"),
        "19 burstable instance or volume": ("burstable-cpu", "network-burst", "volume-burst", "token-bucket"),
        "20 more threads, more variance": ("more-threads-than-cpus", "trials-disagree"),
        "21 raw device named wrongly": (
            "device-in-use", "destroys-data", "device-unusable", "job-file-writes-device", "command-writes-device",
        ),
        "22 the micro-benchmark is not the application": ("goal",),
        "23 ephemeral drive for repeatability": ("ephemeral-disk", "trials-disagree"),
        "24 compared without price": ("goal",),
        "25 single results compared": ("few-trials", "few-trials-done"),
    }
)  # fmt: skip

SCIENCE: Mapping[str, Row] = MappingProxyType(
    {
        "M01 other fingerprint": "The comparison's gate refuses what is not comparable, and so does a plan that waits "
        "for a verdict against such a baseline.",
        "M02 busy host": ("host-busy",),
        "M03 T-family": ("burstable-cpu",),
        "M04 “up to” network": ("network-burst",),
        "M05 gp2 below 1 TiB": ("volume-burst",),
        "M06 file below twice the memory": ("page-cache",),
        "M07 virgin or thin volume": ("device-never-written", "fresh-device", "thin-volume"),
        "M08 clock and governor": ("clock-off", "governor-not-performance"),
        "M09 stolen": ("cpu-stolen",),
        "M10 allowances": ("allowance-exceeded",),
        "M11 volume limit": ("volume-limit-reached",),
        "M12 token bucket": ("token-bucket",),
        "M13 no steady state": ("changed-late", "still-on-its-way"),
        "M14 standard unmet": ("not-steady",),
        "M15 a start that differs": ("unsteady-start",),
        "M16 noisy": ("trials-disagree",),
        "M17 correlated": ("trials-correlated",),
        "M18 fewer than six": ("few-trials", "few-trials-done"),
        "M19 undecided at the cap": ("not-settled",),
        "M20 another instance": "A comparison says it: it knows how many instances each side has.",
        "M21 instances dominate": "A comparison says it: it takes instances apart from trials.",
        "M22 one block after the other": ("one-host-after-another",),
        "M23 several metrics": "A comparison says how it allows for several.",
        "M24 Little's law": ("more-in-flight-than-asked", "queue-half-empty"),
        "M25 I/Os times block": ("rate-against-block",),
        "M26 above the ceiling": ("over-link", "over-volume-link", "not-from-the-device"),
        "M27 thin tails": ("thin-tail", "few-requests"),
        "M28 two levels": ("two-levels",),
        "M29 a peak outside": "The study of scaling says it: it knows what was swept.",
        "M30 the level changed": "The history says it: it knows the runs of before.",
    }
)

OTHER_TOOLS: Mapping[str, Row] = MappingProxyType(
    {
        "1 load": ("host-busy",),
        "2 offline CPUs, old kernel, little memory": ("offline-cpus", "old-kernel", "geekbench-little-memory"),
        "3 governors of single boards": ("governor-not-performance",),
        "4 worn drives": ("device-worn",),
        "4 swap": ("swap-in-use",),
        "5 governor, boost, BFQ": ("governor-not-performance", "boost-off", "bfq-low-latency"),
        "6 turbo, governor": ("governor-not-performance", "boost-off"),
        "6 ASLR, isolated CPUs, sample rate": "They matter to differences of a percent between versions of one "
        "program, not to what a host delivers.",
        "7 hyper-threading, preference, NUMA, discard": (
            "hyperthreading-off", "energy-preference", "numa-nodes", "discard-mount",
        ),
        "7 memory channels and rated speed": "Read from DMI as root only, and hidden in virtual machines.",
        "8 unwritable directory": ("directory-not-writable",),
        "9 mounted device": ("device-in-use",),
        "10 depth with a synchronous engine": ("depth-without-async-engine",),
        "10 time_based without runtime": ("time-based-without-runtime",),
        "10 block larger than range": ("block-over-file",),
        "10 verify": ("verified-writes",),
        "10 rate_min": "fio itself stops where it is not met, and says so: the trial has failed.",
        "10 O_DIRECT refused": ("direct-refused",),
        "11 sparse files": ("file-backed-disk", "thin-volume"),
        "11 block not x512": ("unaligned-direct",),
        "11 nonexistent device": ("device-unusable",),
        "11 duplicate hosts": "A plan that names a host twice is refused when it is read.",
        "12 NOCOW, encryption": ("copy-on-write", "encrypted-disk"),
        "12 symlinks and /dev": ("device-unusable", "device-in-use"),
        "13 free space, ZFS": ("no-space", "low-space", "zfs-cache"),
        "14 file without size": ("job-file-without-size",),
        "14 destructive": ("destroys-data", "job-file-writes-device", "command-writes-device"),
        "15 frozen and 4Kn drives": ("unaligned-direct",),
        "16 job file overrides": "Job files are run unchanged, and judged by their own options.",
        "17 no end": ("command-endless",),
        "17 stress-ng without end": ("stress-ng-endless",),
        "18 arrays and caches": ("stream-array-in-cache",),
        "19 shared caches": "Facts count each shared cache once.",
        "20 UDP blocks": ("udp-fragments", "iperf3-length-refused"),
        "20 client and server on one host": ("same-host-peer",),
        "21 clocks": ("clock-off",),
        "22 clocks, throttling, fewer processors": ("clock-fell", "cpu-too-hot", "offline-cpus"),
        "23 throttle counts and swap": ("cpu-too-hot", "swapped"),
        "24 swap, memory that ran out": ("swapped", "killed-for-memory", "memory-short"),
        "25 others at work": ("other-process",),
        "26 no throttling, no other load": ("cpu-too-hot", "other-process", "cpu-stolen"),
        "27 heat, far too long": ("near-heat-limit", "took-too-long"),
        "28 ten times as long, files of other tests": ("took-too-long",),
        "29 too fast to be, failed": ("too-brief", "trials-failed"),
        "30 spread and how many more": ("trials-disagree", "outliers"),
        "31 warm-up": ("unsteady-start", "drifted"),
        "32 shortest time, slow first, outliers": ("too-brief", "drifted", "outliers"),
        "33 spread, then more": ("trials-disagree", "not-settled"),
        "34 six for an interval": ("few-trials", "few-trials-done"),
        "35 a test of ranks": "Comparisons rest on intervals of the medians, and say when there are too few trials.",
        "36 five rounds": ("not-steady", "standard-window-alone"),
        "37 steady state": ("not-steady", "still-on-its-way"),
        "38 silent trimming": ("outliers",),
    }
)  # fmt: skip

PLAN_AND_FACTS: Mapping[str, Row] = MappingProxyType(
    {
        "small file on a large disk": ("small-working-set",),
        "fsync that never comes": ("unflushed-write", "page-cache"),
        "verify": ("verified-writes",),
        "CPU quota of any suite": ("cpu-quota", "quota-bound"),
        "zram, brd, null_blk, bcache, dm-cache, VDO": ("substitute-device",),
        "FUSE": ("not-a-disk",),
        "loop device over tmpfs": ("file-backed-disk",),
        "sync, nobarrier, data=journal": ("mount-options",),
        "no huge pages": ("huge-pages-off",),
        "emulation": ("emulated-cpu",),
        "several jobs on one file": ("shared-file",),
        "zipf and pareto": ("skewed-offsets",),
        "data that repeats": ("repeated-data",),
        "thinktime": ("thinktime-pauses",),
        "trim of a file": ("trim-on-file",),
        "closed loop at a rate": ("coordinated-omission",),
        "adaptive depth": ("depth-adapts",),
        "shorter than a checkpoint": ("no-checkpoint",),
        "depth beyond the queue": ("depth-beyond-queue",),
        "hdparm": ("command-hdparm",),
        "dd of what was just written": ("command-reads-cached",),
        "goals in absurd units": ("goal-units",),
    }
)
"""What plan and facts show before a run."""

EVERY = {**STORIES, **SCIENCE, **OTHER_TOOLS, **PLAN_AND_FACTS}
KNOWN = {entry.id for entry in catalogue()}


@pytest.mark.parametrize("row", EVERY)
def test_every_row_leads_to_checks_there_are_or_to_a_reason(row: str) -> None:
    leads = EVERY[row]
    if isinstance(leads, str):
        assert leads.endswith(".")
    else:
        assert leads
        assert set(leads) <= KNOWN


def test_no_story_is_left_out() -> None:
    assert [int(row.split()[0]) for row in STORIES] == list(range(1, 26))
    assert [row.split()[0] for row in SCIENCE] == [f"M{number:02}" for number in range(1, 31)]
    assert {int(row.split()[0]) for row in OTHER_TOOLS} == set(range(1, 39))


def test_every_story_is_told_by_a_check() -> None:
    assert not any(isinstance(leads, str) for leads in STORIES.values())


def test_every_check_says_what_it_needs_and_where_it_comes_from() -> None:
    for entry in catalogue():
        for wording in entry.variants:
            check = wording.check
            assert all((check.title, check.why, check.remedy, check.needs, check.source)), entry.id
            assert "!" not in check.title + check.why + check.remedy
