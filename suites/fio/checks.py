"""Checks of a fio step."""

import math

from suites.base import StepEvidence
from suites.checks import Check, CheckOutcome, NotChecked
from suites.disk import (
    CACHE_FACTOR,
    DIRECT_TOTAL,
    MIB,
    accepts_direct,
    cache_for,
    direct_refused,
    disk_under,
    free_bytes,
    page_cache,
    plausible_rate,
    roughly,
    short_runtime,
    unflushed_write,
)
from suites.facts import known
from suites.fio.engine_checks import ENGINE_MISSING
from suites.fio.parameters import (
    IODEPTH,
    NONE,
    ONE_AT_A_TIME,
    flush_interval,
    flushes,
    in_flight,
    iops_limit,
    is_random,
    is_stated,
    job_option,
    largest_block,
    mixes,
    one_in_flight,
    past_memory,
    pause_limit,
    total_size,
    trims,
    writes,
    writes_per_sync,
)
from suites.fio.pattern_checks import FIO_PATTERN_CHECKS
from suites.fio.tuning import SCSI, queue_of_a_job
from suites.parameters import Value, Values
from suites.quantities import count_text, duration_text, quantity
from suites.runtime_checks import is_short, samples_text
from suites.units import Unit
from suites.vocab import Severity

SHORTEST = 10.0
"""Seconds: ten one-second samples, of which a cache or a burst may affect the first few."""

TRUSTED = 30.0
"""Seconds set by the remedy, as the tuned runtime."""

SMALL, SMALL_SHARE = 2**29, 0.01
"""Bytes, and share of the disk, below which a file may fit into the cache of a drive, controller or hypervisor."""

MOST_DEPTH = int(IODEPTH.maximum or 1)


def _page_cache(evidence: StepEvidence) -> CheckOutcome | NotChecked | None:
    values = evidence.values
    if past_memory(values) or (writes(values) and not mixes(values) and flushes(values)):
        return None
    if not is_stated(values, "size"):
        return NotChecked("The output does not state the size of the files.")
    total = total_size(values)
    cache = cache_for(evidence, total)
    if cache is None or isinstance(cache, NotChecked):
        return cache
    return CheckOutcome(
        measured=f"{quantity(total)} of files {_caching_text(values)}; {quantity(cache)} of memory can hold them"
        + (" in part." if total > cache else "."),
        changes=_past_the_cache(evidence, cache),
    )


def _past_the_cache(evidence: StepEvidence, cache: int) -> dict[str, Value]:
    if accepts_direct(evidence):
        return {"direct": True} if evidence.values["ioengine"] != "mmap" else {"direct": True, "ioengine": "libaio"}
    jobs = int(evidence.values["numjobs"])
    size = -(-CACHE_FACTOR * cache // jobs // MIB) * MIB
    room = free_bytes(evidence)
    return {"size": size} if room is not None and size * jobs < room else {}


def _caching_text(values: Values) -> str:
    if values["ioengine"] == "mmap":
        return "through mmap"
    return "without direct I/O" if is_stated(values, "direct") else "through the page cache unless direct=1"


def _unflushed_write(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not writes(values) or past_memory(values) or flushes(values) or trims(values):
        return None
    late = "; end_fsync runs only after the runtime" if values["end_fsync"] else ""
    every = flush_interval(values)
    flushed = f"with fsync only every {quantity(every)}" if every else "without fsync"
    changes: dict[str, Value] = {"direct": True}
    if values["ioengine"] == "mmap":
        changes["ioengine"] = "libaio"
    if not accepts_direct(evidence):
        changes = {"end_fsync": True, "runtime": 0.0, "ramp_time": 0.0}
    pattern = values["rw"] if is_stated(values, "rw") else "Writes"
    how = f"{_caching_text(values)} and {flushed}{late}"
    if not is_stated(values, "direct"):
        how = "with neither direct=1 nor fsync stated"
    return CheckOutcome(measured=f"{pattern} {how}.", changes=changes)


def _few(evidence: StepEvidence) -> CheckOutcome | None:
    if writes_per_sync(evidence.values) == 1 and not is_random(evidence.values):
        return None  # a log is small
    """Report files that are a tiny share of the disk and worked on again and again."""
    values = evidence.values
    reaches_disk = past_memory(values) or (writes(values) and not mixes(values) and flushes(values))
    again = bool(values["runtime"]) or int(values["loops"]) > 1
    total, disk = total_size(values), _disk_size(evidence)
    if not is_stated(values, "size") or not reaches_disk or not again:
        return None
    if disk is None or total >= min(SMALL, SMALL_SHARE * disk[0]):
        return None
    jobs, room = int(values["numjobs"]), free_bytes(evidence)
    size = -(-DIRECT_TOTAL // jobs // MIB) * MIB
    fits = room is None or room > 2 * size * jobs
    what = "of the device" if values.get("device") else "of files"
    return CheckOutcome(
        f"{quantity(total)} {what}, used again and again; {disk[1]} has {quantity(disk[0])}.",
        changes={"size": size} if fits else {},
        severity=None if fits else Severity.INFO,
    )


def _disk_size(evidence: StepEvidence) -> tuple[int, str] | None:
    """Return the bytes of the step's disk, else of its file system, and its name; None if not known."""
    disk = disk_under(evidence)
    size = None if disk is None else known(disk.size)
    if disk is not None and size is not None:
        return size, disk.name
    room = free_bytes(evidence)
    return None if room is None else (room, "the file system")


def _beyond_queue(evidence: StepEvidence) -> CheckOutcome | None:
    values, disk = evidence.values, disk_under(evidence)
    queue = None if disk is None else known(disk.queue_depth)
    if disk is None or queue is None or not past_memory(values):
        return None
    jobs, depth = int(values["numjobs"]), in_flight(values)
    if depth // jobs <= queue_of_a_job(disk, jobs, depth):
        return None
    several = " per job" if jobs > 1 and not disk.name.startswith(SCSI) else ""
    return CheckOutcome(
        f"{count_text(depth, 'I/O')} in flight; the queue of {disk.name} takes {queue}{several}.",
        changes={"iodepth": queue_of_a_job(disk, jobs, depth)},
    )


def _shared_file(evidence: StepEvidence) -> CheckOutcome | None:
    values, how = evidence.values, str(job_option(evidence.values, "shared_file"))
    if not how:
        return None
    if not is_random(values):
        remedy = "Set offset_increment to the size of a job's part of the device." if values.get("device") else None
        return CheckOutcome(f"{how} in sequence from the same offset.", remedy=remedy)
    if writes(values) and not past_memory(values) and not values.get("device"):
        why = "A buffered write locks the whole file: the jobs wait for each other, and more jobs add nothing."
        return CheckOutcome(f"{how} and write through the page cache.", why=why, remedy="Give each job a file.")
    return None


def _skewed(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    distribution = str(job_option(values, "random_distribution"))
    if not is_random(values) or distribution == "random":
        return None
    if past_memory(values):
        return CheckOutcome(f"random_distribution={distribution}.", severity=Severity.INFO)
    return CheckOutcome(f"random_distribution={distribution} {_caching_text(values)}.")


def _repeated(evidence: StepEvidence) -> CheckOutcome | None:
    how, share = str(job_option(evidence.values, "repeated_data")), int(evidence.values["buffer_compress_percentage"])
    if not writes(evidence.values) or not (how or share):
        return None
    if how:
        return CheckOutcome(f"{how}.")
    changes: dict[str, Value] = {"buffer_compress_percentage": 0}
    return CheckOutcome(f"buffer_compress_percentage is {share} %.", changes=changes, severity=Severity.INFO)


def _verified(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    verify = str(values.get("verify", NONE))
    if verify == NONE or not writes(values):
        return None
    several = " by several writers of one file" if job_option(values, "shared_file") else ""
    return CheckOutcome(f"verify={verify}{several}.", changes={"verify": NONE})


def _paused(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    pause, blocks = float(job_option(values, "pause")), int(job_option(values, "pause_blocks"))
    most = pause_limit(values)
    if not pause:
        return None
    return CheckOutcome(
        f"thinktime of {quantity(pause, Unit.SECOND)} after every {count_text(blocks, 'block')}: at most "
        f"{most:,.0f} IOPS."
    )


STALL = 0.1
"""Seconds of a stall that the latency percentiles of a test at a fixed rate should show in full."""


DEEP = 16
"""I/Os in flight per job from which a rate limit is the cap of a throughput test, not the load of a latency test."""


def _closed_loop(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    rate, depth = iops_limit(values), in_flight(values) // int(values["numjobs"])
    needed = math.ceil(rate * STALL)
    if depth >= min(needed, DEEP) or job_option(values, "offload"):  # submits on time, whatever waits
        return None
    late = math.floor(rate * STALL) - depth
    changes: dict[str, Value] = {"iodepth": min(MOST_DEPTH, needed)}
    if one_in_flight(values):
        changes |= {"ioengine": "libaio", "direct": True}
    return CheckOutcome(
        f"{rate:,.0f} IOPS per job with {depth} in flight: a stall of {STALL:g} s delays "
        f"{count_text(max(1, late), 'I/O')} before they are timed.",
        changes=changes if needed <= MOST_DEPTH and accepts_direct(evidence) else {},
        severity=Severity.INFO if depth >= rate * STALL / 10 else None,
    )


def _adapts(evidence: StepEvidence) -> CheckOutcome | None:
    target = float(job_option(evidence.values, "latency_target"))
    return CheckOutcome(f"latency_target is {quantity(target, Unit.SECOND)}.") if target else None


def _trims(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    return CheckOutcome(f"rw={values['rw']} on a file.") if trims(values) and not values.get("device") else None


def _short_runtime(evidence: StepEvidence) -> CheckOutcome | None:
    seconds = float(evidence.values["runtime"])
    if seconds:
        if not is_short(seconds, evidence):
            return None
        return CheckOutcome(f"runtime is {seconds:g} s: {samples_text(seconds)}.", changes=_longer(evidence))
    if (ran := evidence.measured_seconds) is not None:
        text = f"fio ran for {duration_text(ran)}: {samples_text(ran)}."
        return CheckOutcome(text, changes=_longer(evidence)) if is_short(ran, evidence) else None
    if writes_per_sync(evidence.values) == 1 or not is_stated(evidence.values, "size"):
        return None  # each write takes as long as a flush, whatever its size
    total = total_size(evidence.values) * int(evidence.values["loops"])
    rate, words = plausible_rate(evidence)
    if total / rate >= SHORTEST:
        return None
    return CheckOutcome(
        f"Without runtime, fio ends after {quantity(total)}: {roughly(total / rate)} s {words}.",
        changes=_longer(evidence),
    )


def _longer(evidence: StepEvidence) -> dict[str, Value]:
    return {"runtime": max(TRUSTED, 2 * float(evidence.values["ramp_time"]))}


def _runtime_under_ramp(evidence: StepEvidence) -> CheckOutcome | None:
    runtime, ramp = float(evidence.values["runtime"]), float(evidence.values["ramp_time"])
    if not ramp or runtime:  # with time_based, fio counts for the whole runtime after ramp_time
        return None
    return CheckOutcome(f"ramp_time is {ramp:g} s, no runtime is set.", changes=_longer(evidence))


def _depth_without_engine(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    depth, engine = int(values["iodepth"]), values["ioengine"]
    if depth == 1 or not one_in_flight(values):
        return None
    if engine not in ONE_AT_A_TIME and not is_stated(values, "direct"):
        return None
    if not accepts_direct(evidence):
        return CheckOutcome(f"iodepth {depth} with {engine}; no direct I/O here.", changes={"iodepth": 1})
    wanted: dict[str, Value] = {"ioengine": "libaio", "direct": True}
    return CheckOutcome(
        f"iodepth {depth} with {engine}{'' if engine in ONE_AT_A_TIME else ' without direct I/O'}.",
        changes={name: value for name, value in wanted.items() if values[name] != value},
    )


def _block_over_file(evidence: StepEvidence) -> CheckOutcome | None:
    block, size = largest_block(evidence.values), int(evidence.values["size"])
    if block <= size or not is_stated(evidence.values, "size"):
        return None
    return CheckOutcome(
        f"bs is {quantity(block)}, size is {quantity(size)}.", changes={"size": -(-64 * block // MIB) * MIB}
    )


def _ends_early(evidence: StepEvidence) -> CheckOutcome | None:
    values = evidence.values
    if not is_stated(values, "rw") or not values["block_sizes"] or values["runtime"] or not is_random(values):
        return None
    return CheckOutcome(
        f"{values['rw']} with block sizes {values['block_sizes']} and no runtime.", changes=_longer(evidence)
    )


FIO_CHECKS = (
    ENGINE_MISSING,
    direct_refused(lambda values: bool(values["direct"]) and not values.get("device"), {"direct": False}),
    page_cache(_page_cache),
    unflushed_write(_unflushed_write),
    short_runtime(_short_runtime, f"Set runtime to {TRUSTED:g} s."),
    Check(
        id="runtime-under-ramp",
        severity=Severity.WARNING,
        title="ramp_time without runtime",
        why="fio counts only I/Os after ramp_time. Without runtime, a job that ends within it has no figure.",
        remedy="Set runtime; fio counts for that time after ramp_time.",
        source="fio manual, ramp_time; fio 3.33 ended within its ramp with 0 I/Os counted.",
        needs="ramp_time and runtime.",
        evaluate=_runtime_under_ramp,
    ),
    Check(
        id="block-over-file",
        severity=Severity.ERROR,
        blocks=True,
        title="Block larger than the file",
        why="fio exits at once with “size too small” and measures nothing.",
        remedy="Set size to at least 64 blocks.",
        source="fio 3.33: “size too small, must not be less than minimum block size”.",
        needs="Block sizes and file size.",
        evaluate=_block_over_file,
    ),
    Check(
        id="depth-without-async-engine",
        severity=Severity.WARNING,
        title="iodepth has no effect",
        why="Synchronous engines such as psync do one I/O at a time, and libaio without direct I/O blocks: the "
        "effective depth is 1.",
        remedy="Use libaio with direct I/O, or more jobs of depth 1.",
        source="fio manual, iodepth; fio's own note “queue depth will be capped at 1”.",
        needs="iodepth, ioengine, direct I/O.",
        evaluate=_depth_without_engine,
    ),
    Check(
        id="ends-before-its-size",
        severity=Severity.WARNING,
        title="Job may end early",
        why="fio visits no block twice in a random pass. With mixed block sizes it soon finds no free range of "
        "the next size and ends: with 4 KiB reads and 64 KiB writes after 1.5 MiB of 8.",
        remedy="Set runtime.",
        source="fio manual, norandommap; counted with fio 3.33.",
        needs="Pattern, block sizes, runtime.",
        evaluate=_ends_early,
    ),
    Check(
        id="small-working-set",
        severity=Severity.WARNING,
        title="File is small for the disk",
        why="A small file fits into the cache of the drive, the controller or the hypervisor, and its seeks are short: "
        "the figure is not the volume's.",
        remedy=f"Use files of at least {quantity(DIRECT_TOTAL)}, better 10 % of the disk.",
        source="SNIA Solid State Storage Performance Test Specification, active range; fio manual, size.",
        needs="File size, runtime; the size of the disk.",
        evaluate=_few,
    ),
    Check(
        id="depth-beyond-queue",
        severity=Severity.WARNING,
        title="Queue depth exceeds the device's queue",
        why="Further I/Os wait in the kernel: latency grows with the depth, throughput does not.",
        remedy="Set iodepth so that all jobs together fit into the queue.",
        source="Linux documentation, block: nr_requests; SCSI queue_depth.",
        needs="iodepth, numjobs; queue_depth or nr_requests of the disk.",
        evaluate=_beyond_queue,
    ),
    Check(
        id="shared-file",
        severity=Severity.WARNING,
        title="Jobs share one file",
        why="The first job to read a block fills the caches, which serve it to the others: the sum counts each block "
        "several times.",
        remedy="Give each job a file, or set offset_increment to the size of its part.",
        source="fio manual, filename and offset_increment.",
        needs="Files, offsets and pattern of the jobs.",
        evaluate=_shared_file,
    ),
    Check(
        id="skewed-offsets",
        severity=Severity.WARNING,
        title="Random offsets are not uniform",
        why="A few hot blocks get most I/Os, and caches serve them: the page cache without direct I/O, those of the "
        "drive and the controller with it.",
        remedy="Remove random_distribution to measure the disk; keep it to model an application.",
        source="fio manual, random_distribution.",
        needs="random_distribution, pattern, direct I/O.",
        evaluate=_skewed,
    ),
    Check(
        id="repeated-data",
        severity=Severity.WARNING,
        title="Written data is compressible or duplicated",
        why="A device or file system that compresses or deduplicates stores less than fio writes, and looks faster for "
        "it.",
        remedy="Remove these options: fio then writes random data. Keep them where the application’s data compresses "
        "as well.",
        source="fio manual, zero_buffers, buffer_pattern, dedupe_percentage, scramble_buffers and "
        "buffer_compress_percentage; zfs and btrfs manuals, compression.",
        needs="The options of the written data.",
        evaluate=_repeated,
    ),
    Check(
        id="verified-writes",
        severity=Severity.WARNING,
        title="verify is part of the figure",
        why="Checksums are computed while the clock runs, and everything is read again after; several writers of "
        "one file cause false errors.",
        remedy="Verify in a separate run; measure without verify.",
        source="fio manual, verify; fio's own warning about several writers.",
        needs="verify and pattern.",
        evaluate=_verified,
    ),
    Check(
        id="thinktime-pauses",
        severity=Severity.WARNING,
        title="thinktime limits the rate",
        why="The job sleeps between I/Os: IOPS and bandwidth are those of the pauses, and the device idles in between.",
        remedy="Remove thinktime to measure the device; keep it to model an application, and read the latency.",
        source="fio manual, thinktime and thinktime_blocks.",
        needs="thinktime and thinktime_blocks.",
        evaluate=_paused,
    ),
    Check(
        id="coordinated-omission",
        severity=Severity.WARNING,
        title="Coordinated omission in the latency",
        why="fio waits for free depth before it submits the next I/O and does not count that wait: percentiles at a "
        "fixed rate look better than a client would see.",
        remedy=f"Set iodepth to at least {STALL:g} s of the rate, with an asynchronous ioengine and direct I/O.",
        source="Gil Tene, How NOT to Measure Latency; fio manual, rate_iops, rate_process and io_submit_mode.",
        needs="rate_iops or rate, iodepth, ioengine.",
        evaluate=_closed_loop,
    ),
    Check(
        id="depth-adapts",
        severity=Severity.WARNING,
        title="fio changes the queue depth",
        why="With latency_target fio searches for the depth that meets it: the figures mix all depths it tried.",
        remedy="Remove latency_target, or sweep iodepth with the suite fio-sweep.",
        source="fio manual, latency_target.",
        needs="latency_target.",
        evaluate=_adapts,
    ),
    Check(
        id="trim-on-file",
        severity=Severity.ERROR,
        blocks=True,
        title="trim needs a block device",
        why="fio ends at the first trim with “Inappropriate ioctl for device”.",
        remedy="Use blkdiscard or fstrim on a device of your own; measure reads and writes here.",
        source="fio 3.33, tried: BLKDISCARD on a file.",
        needs="The rw pattern.",
        evaluate=_trims,
    ),
    *FIO_PATTERN_CHECKS,
)
