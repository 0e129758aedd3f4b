"""What is known to fool people about sysbench's file test."""

from suites.checks import CannotTell, Check, Outcome, StepEvidence
from suites.disk import KIB, MIB, SECTOR, accepts_direct, amount, cache_of, room_in
from suites.disk_checks import CACHE_FACTOR, direct_refused, page_cache, throughput_ceiling, unflushed_write
from suites.parameters import Value, Values
from suites.runtime_checks import SHORT_RUNTIME
from suites.sysbench.fileio_parameters import (
    CREATION,
    DEFAULT_BLOCK,
    DEFAULT_TOTAL,
    direct,
    in_sequence,
    mixes,
    queues,
    reads,
    writes,
)
from suites.vocab import Level

TUNED_BLOCK = 4 * KIB
TUNED_SEQUENTIAL_BLOCK = MIB
TUNED_FILES = 16
TUNED_THREADS = 16

SMALL_SEQUENTIAL_BLOCK = 64 * KIB


def _page_cache(evidence: StepEvidence) -> Outcome | CannotTell | None:
    values = evidence.values
    waits = values["fsync_all"] or values["extra_flags"] in {"sync", "dsync"}
    if direct(values) or (waits and not reads(values)):
        return None
    cache = cache_of(evidence)
    if isinstance(cache, CannotTell):
        return cache
    total = int(values["total_size"])
    if total >= CACHE_FACTOR * cache:
        return None
    own = ", sysbench's own default," if total == DEFAULT_TOTAL else ""
    return Outcome(
        measured=f"{amount(total)}{own} of files {_through(values)}; {amount(cache)} of memory can hold them"
        + (" in part." if total > cache else "."),
        changes=_past_the_cache(evidence, cache),
    )


def _through(values: Values) -> str:
    return "through mmap" if values["io_mode"] == "mmap" else "without direct I/O"


def _past_the_cache(evidence: StepEvidence, cache: int) -> dict[str, Value]:
    if accepts_direct(evidence):
        mapped = evidence.values["io_mode"] == "mmap"
        return {"extra_flags": "direct", "io_mode": "sync"} if mapped else {"extra_flags": "direct"}
    size, room = -(-CACHE_FACTOR * cache // MIB) * MIB, room_in(evidence)
    return {"total_size": size} if room is not None and size < room else {}


def _unflushed_write(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not writes(values) or values["extra_flags"] != "none" or values["fsync_freq"] or values["fsync_all"]:
        return None
    late = "; --file-fsync-end comes only when the time is up" if values["fsync_end"] else ""
    changes: dict[str, Value] = {"extra_flags": "direct"} if accepts_direct(evidence) else {"fsync_freq": 100}
    return Outcome(f"{values['mode']} without direct I/O and without fsync{late}.", changes=changes)


def _flushes_of_every_file(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    every, files = int(values["fsync_freq"]), int(values["file_num"])
    if not writes(values) or values["fsync_all"] or not every or 10 * files < every:
        return None
    return Outcome(
        f"After every {every} requests each of the {files} files is flushed: {files / every:.2g} fsyncs for a request.",
        changes={"fsync_freq": 0, "extra_flags": "direct"} if accepts_direct(evidence) else {"file_num": 1},
    )


def _unaligned(evidence: StepEvidence) -> Outcome | None:
    block = int(evidence.values["block_size"])
    if not direct(evidence.values) or block % SECTOR == 0:
        return None
    return Outcome(f"block_size is {block} B, no multiple of {SECTOR} B.", changes={"block_size": TUNED_BLOCK})


def _too_many_files(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    total, files, block = int(values["total_size"]), int(values["file_num"]), int(values["block_size"])
    if total // files >= block:
        return None
    return Outcome(
        f"{amount(total)} in {files} files are {amount(total / files)} each; a block is {amount(block)}.",
        changes={"total_size": files * block},
    )


def _throughput_ceiling(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    block = int(values["block_size"])
    if in_sequence(values) or block < DEFAULT_BLOCK:
        return None
    own = ", sysbench's own default" if block == DEFAULT_BLOCK else ""
    return Outcome(
        f"Blocks of {amount(block)}{own}: 10,000 I/Os a second of them are {10_000 * block / 1e6:.0f} MB/s.",
        changes={"block_size": TUNED_BLOCK},
    )


def _small_sequential(evidence: StepEvidence) -> Outcome | None:
    block = int(evidence.values["block_size"])
    if not in_sequence(evidence.values) or not direct(evidence.values) or block >= SMALL_SEQUENTIAL_BLOCK:
        return None
    return Outcome(f"Blocks of {amount(block)} in sequence.", changes={"block_size": TUNED_SEQUENTIAL_BLOCK})


def _one_in_flight(evidence: StepEvidence) -> Outcome | None:
    if in_sequence(evidence.values) or int(evidence.values["threads"]) > 1 or queues(evidence.values):
        return None
    return Outcome("1 thread.", changes={"threads": TUNED_THREADS})


def _zeros(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    # Reads at random of zeros are the tuned test: only where bytes are written in bulk is it worth a word.
    return Outcome(f"{values['mode']} writes zeros.") if writes(values) and not mixes(values) else None


def _creation(evidence: StepEvidence) -> Outcome | None:
    return Outcome("The mode is seqwr.") if evidence.values["mode"] == CREATION else None


def _latency_of_handing_over(evidence: StepEvidence) -> Outcome | None:
    values = evidence.values
    if not queues(values):
        return None
    return Outcome(f"Requests are handed over asynchronously, {values['async_backlog']} at once by each thread.")


FILEIO_CHECKS = (
    Check(
        id="async-latency",
        level=Level.WARNING,
        title="Its latency is not that of the I/Os",
        why="In async mode sysbench takes the time until a request is handed over, not until it is done: 0.02 ms on a "
        "disk that takes 0.1 ms. I/Os per second are true, latencies are not.",
        remedy="Use fio where latencies are the question; here read only the rates.",
        source="sysbench 1.0.20, sb_fileio.c; tried.",
        needs="How requests are handed over.",
        evaluate=_latency_of_handing_over,
    ),
    direct_refused(lambda values: values["extra_flags"] == "direct", {"extra_flags": "none"}),
    Check(
        id="unaligned-direct",
        level=Level.ERROR,
        title="Direct I/O needs whole sectors",
        why="The first request ends the test with “Invalid argument”.",
        remedy=f"Use a block size that is a multiple of {SECTOR} B, better of 4 KiB.",
        source="open(2), O_DIRECT; tried with sysbench 1.0.20 and blocks of 1,000 B.",
        needs="Direct I/O and the block size.",
        evaluate=_unaligned,
    ),
    Check(
        id="files-below-block",
        level=Level.WARNING,
        title="The files are smaller than a block",
        why="sysbench then makes files of another size than asked for, and every request falls on the same block.",
        remedy="Give a larger total size, or fewer files.",
        source="sysbench manual, --file-total-size and --file-num; tried with 1.0.20.",
        needs="The total size, the number of files and the block size.",
        evaluate=_too_many_files,
    ),
    page_cache(_page_cache),
    unflushed_write(_unflushed_write),
    Check(
        id="fsync-of-every-file",
        level=Level.WARNING,
        title="Flushing outweighs writing",
        why="Each periodic fsync is done on every file of the set: with sysbench's defaults of 128 files and 100 "
        "requests there are more flushes than requests, and the figure is that of the journal.",
        remedy="Use direct I/O without periodic fsync; or fewer files where flushing is the question.",
        source="sysbench manual, --file-fsync-freq; counted with 1.0.20: 4 fsyncs of 4 files after every 100 requests.",
        needs="The number of files, and how often they are flushed.",
        evaluate=_flushes_of_every_file,
    ),
    SHORT_RUNTIME,
    throughput_ceiling(_throughput_ceiling),
    Check(
        id="small-blocks",
        level=Level.INFO,
        title="Small blocks measure the calls",
        why="Each thread waits for each block before the next, so the round trip sets the pace rather than the device.",
        remedy="Use blocks of 1 MiB where throughput is the question.",
        source="sysbench manual, --file-io-mode=sync.",
        needs="The pattern and the block size.",
        evaluate=_small_sequential,
    ),
    Check(
        id="one-io-in-flight",
        level=Level.INFO,
        title="One I/O at a time measures the round trip",
        why="A thread waits for its I/O before the next: the figure is the reciprocal of the latency, not what the "
        "device can do.",
        remedy=f"Use {TUNED_THREADS} threads where I/Os a second are the question.",
        source="sysbench manual, --threads and --file-io-mode=sync.",
        needs="The pattern, and how many I/Os are under way at once.",
        evaluate=_one_in_flight,
    ),
    Check(
        id="zero-source",
        level=Level.INFO,
        title="Zeros compress",
        why="sysbench fills its files and its blocks with zeros. A device or file system that compresses or "
        "deduplicates looks faster than it is; on others it makes no difference.",
        remedy="Where that may be, use fio: its buffers hold random data.",
        source="the files of sysbench 1.0.20, looked into; zfs and btrfs manuals, compression.",
        needs="What is written.",
        evaluate=_zeros,
    ),
    Check(
        id="created-once",
        level=Level.INFO,
        title="The files are created only once",
        why="seqwr creates the files on its first pass; from there on, and in later trials, it writes over what "
        "is there.",
        remedy="Read the first trial as creation and the others as rewriting, or choose seqrewr.",
        source="sysbench manual, --file-test-mode; seen with 1.0.20.",
        needs="The mode.",
        evaluate=_creation,
    ),
)
