"""What is known to fool people about fio."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import MIB, accepts_direct, amount, cache_of, room_in
from suites.disk_checks import (
    CACHE_FACTOR,
    direct_refused,
    page_cache,
    plausible_rate,
    roughly,
    short_runtime,
    unflushed_write,
)
from suites.fio.engine_checks import ENGINE_MISSING
from suites.fio.parameters import ONE_AT_A_TIME, largest_block, mixes, past_memory, total_size, writes
from suites.fio.pattern_checks import FIO_PATTERN_CHECKS
from suites.parameters import Value, Values
from suites.runtime_checks import samples_text
from suites.vocab import Level

SHORTEST = 10.0
"""Seconds: ten one-second samples, of which a cache or a burst may take the first few."""

TRUSTED = 30.0
"""Seconds that the remedy aims at, as the tuned run time does."""


def _page_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    if past_memory(values) or (writes(values) and not mixes(values) and _flushes(values)):
        return None
    cache = cache_of(evidence)
    if isinstance(cache, CannotTell):
        return cache
    total = total_size(values)
    if total >= CACHE_FACTOR * cache:
        return None
    return Outcome(
        measured=f"{amount(total)} of files {_through(values)}; {amount(cache)} of memory can hold them"
        + (" in part." if total > cache else "."),
        changes=_past_the_cache(evidence, cache),
    )


def _past_the_cache(evidence: StepEvidence, cache: int) -> dict[str, Value]:
    if accepts_direct(evidence):
        return {"direct": True} if evidence.values["ioengine"] != "mmap" else {"direct": True, "ioengine": "libaio"}
    jobs = int(evidence.values["numjobs"])
    size = -(-CACHE_FACTOR * cache // jobs // MIB) * MIB
    room = room_in(evidence)
    return {"size": size} if room is not None and size * jobs < room else {}


def _through(values: Values) -> str:
    return "through mmap" if values["ioengine"] == "mmap" else "without direct I/O"


def _flushes(values: Values) -> bool:
    """Whether the writes are flushed while the clock runs.

    With a runtime, end_fsync is not enough: the same blocks are overwritten in memory round after round. Measured:
    7.9 GiB/s with end_fsync in 3 s of 64 KiB blocks, where direct I/O gave 1.8 GiB/s.
    """
    return bool(values["fsync"]) or (bool(values["end_fsync"]) and not values["runtime"])


def _unflushed_write(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not writes(values) or past_memory(values) or _flushes(values):
        return None
    late = "; end_fsync comes only after the runtime" if values["end_fsync"] else ""
    changes: dict[str, Value] = {"direct": True}
    if values["ioengine"] == "mmap":
        changes["ioengine"] = "libaio"
    if not accepts_direct(evidence):
        changes = {"end_fsync": True, "runtime": 0.0, "ramp_time": 0.0}
    return Outcome(measured=f"{values['rw']} {_through(values)} and without fsync{late}.", changes=changes)


def _short_runtime(evidence: StepEvidence) -> Outcome | None:
    seconds = float(evidence.values["runtime"])
    if seconds >= SHORTEST:
        return None
    if seconds:
        return Outcome(f"The runtime is {seconds:g} s: {samples_text(seconds)}.", changes=_longer(evidence))
    total = total_size(evidence.values) * int(evidence.values["loops"])
    rate, words = plausible_rate(evidence)
    if total / rate >= SHORTEST:
        return None
    return Outcome(
        f"Without a runtime fio ends when {amount(total)} are done: {roughly(total / rate)} s {words}.",
        changes=_longer(evidence),
    )


def _longer(evidence: StepEvidence) -> dict[str, Value]:
    return {"runtime": max(TRUSTED, 2 * float(evidence.values["ramp_time"]))}


def _runtime_under_ramp(evidence: StepEvidence) -> Outcome | None:
    runtime, ramp = float(evidence.values["runtime"]), float(evidence.values["ramp_time"])
    if not ramp or ramp < runtime:
        return None
    asked = f"the runtime is {runtime:g} s" if runtime else "there is no runtime"
    return Outcome(f"The ramp is {ramp:g} s, {asked}.", changes=_longer(evidence))


def _depth_without_engine(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    depth, engine = int(values["iodepth"]), values["ioengine"]
    buffered_aio = engine == "libaio" and not values["direct"]
    if depth == 1 or not (engine in ONE_AT_A_TIME or buffered_aio):
        return None
    if not accepts_direct(evidence):
        return Outcome(f"iodepth {depth} with {engine}, and no direct I/O here.", changes={"iodepth": 1})
    wanted: dict[str, Value] = {"ioengine": "libaio", "direct": True}
    return Outcome(
        f"iodepth {depth} with {engine}{' without direct I/O' if buffered_aio else ''}.",
        changes={name: value for name, value in wanted.items() if values[name] != value},
    )


def _block_over_file(evidence: StepEvidence) -> Outcome | None:
    block, size = largest_block(evidence.values), int(evidence.values["size"])
    if block <= size:
        return None
    return Outcome(
        f"Blocks of {amount(block)}, files of {amount(size)}.", changes={"size": -(-64 * block // MIB) * MIB}
    )


def _ends_early(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not values["block_sizes"] or values["runtime"] or not str(values["rw"]).startswith("rand"):
        return None
    return Outcome(f"{values['rw']} in blocks of {values['block_sizes']} and no runtime.", changes=_longer(evidence))


def _compressible(evidence: StepEvidence) -> Outcome | None:
    share = int(evidence.values["buffer_compress_percentage"])
    if not writes(evidence.values) or not share:
        return None
    return Outcome(f"buffer_compress_percentage is {share} %.", changes={"buffer_compress_percentage": 0})


FIO_CHECKS = (
    ENGINE_MISSING,
    direct_refused(lambda values: bool(values["direct"]) and not values.get("device"), {"direct": False}),
    page_cache(_page_cache),
    unflushed_write(_unflushed_write),
    short_runtime(_short_runtime, f"Run for {TRUSTED:g} s."),
    Check(
        id="runtime-under-ramp",
        level=Level.WARNING,
        title="The ramp leaves little to measure",
        why="fio counts only what comes after the ramp. A job that is done within it ends without any figure.",
        remedy="Give a runtime of at least twice the ramp.",
        source="fio manual, ramp_time; fio 3.33 ended within its ramp with 0 I/Os counted.",
        needs="The ramp and the runtime.",
        evaluate=_runtime_under_ramp,
    ),
    Check(
        id="block-over-file",
        level=Level.ERROR,
        title="A block is larger than the file",
        why="fio ends at once with “size too small” and measures nothing.",
        remedy="Give files of at least 64 blocks.",
        source="fio 3.33: “size too small, must not be less than minimum block size”.",
        needs="The block sizes and the file size.",
        evaluate=_block_over_file,
    ),
    Check(
        id="depth-without-async-engine",
        level=Level.WARNING,
        title="The queue depth has no effect",
        why="psync and its kin do one I/O at a time, and libaio without direct I/O waits for each: the depth stays "
        "at 1, and the figure is that of depth 1.",
        remedy="Use libaio with direct I/O; or more jobs, each of depth 1.",
        source="fio manual, iodepth; fio's own note “queue depth will be capped at 1”.",
        needs="The queue depth, the engine and direct I/O.",
        evaluate=_depth_without_engine,
    ),
    Check(
        id="ends-before-its-size",
        level=Level.WARNING,
        title="It may end long before its files are done",
        why="fio touches no block twice on a random pass. With blocks of several sizes it soon finds no place where "
        "the next one fits, and ends: with 4 KiB reads and 64 KiB writes after 1.5 MiB of 8.",
        remedy="Give a runtime.",
        source="fio manual, norandommap; counted with fio 3.33.",
        needs="The pattern, the block sizes and the runtime.",
        evaluate=_ends_early,
    ),
    Check(
        id="compressible-data",
        level=Level.INFO,
        title="What is written can be compressed",
        why="A device or file system that compresses stores less than is written, and looks faster by as much; on "
        "others it makes no difference. It is the right choice where the application's data compress alike.",
        remedy="Write random data, fio's own choice, to measure what any data would get.",
        source="fio manual, buffer_compress_percentage; zfs and btrfs manuals, compression.",
        needs="The share of the data that compresses.",
        evaluate=_compressible,
    ),
    *FIO_PATTERN_CHECKS,
)
