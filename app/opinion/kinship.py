"""The table of suites that check each other, the nearest first; each pair stands here once and holds both ways."""

from app.opinion.converts import (
    all_threads,
    array_of_blocks,
    at_least_a_second,
    backwards,
    block_of_arrays,
    blocks_of_size,
    buffer_of_length,
    dd_flush,
    is_direct,
    is_flushed,
    power_of_two,
    size_of_blocks,
    size_of_text,
    words,
)
from app.opinion.kin import Carry, Kin, Match, same
from suites.parameters import Value

_DIRECTORY = Carry("directory", "directory")
_TIME = Carry("time", "time")
_THREADS = Carry("threads", "threads", all_threads, all_threads)
_BLOCK = Carry("block_size", "block_size")

_FILEIO: dict[Value, Value] = {
    "read": "seqrd", "write": "seqwr", "randread": "rndrd", "randwrite": "rndwr", "randrw": "rndrw",
}  # fmt: skip
_DIRECT: dict[Value, Value] = {True: "direct", False: "none"}
_FIO_DD: dict[Value, Value] = {"write": "/dev/zero", "read": "file"}
_DD_FIO: dict[Value, Value] = {"/dev/zero": "write", "/dev/urandom": "write", "file": "read"}
_IOPING: dict[Value, Value] = {"randread": "read", "randwrite": "write", "read": "read", "write": "write"}
_READ: dict[Value, Value] = {True: "direct", False: "cached", "direct": "direct", "none": "cached"}
_FLAGS: dict[Value, Value] = {"direct": "direct", "dsync": "dsync", "none": "none", "fdatasync": "none"}
_CACHE: dict[Value, Value] = {True: "direct", False: "default"}
_OPERATION: dict[Value, Value] = {"read": "read", "write": "write"}
_PATTERN: dict[Value, Value] = {"seq": "sequential", "rnd": "random"}
_PROTOCOL: dict[Value, Value] = {"tcp": "tcp", "udp": "udp"}
_WAY: dict[Value, Value] = {"send": "upload", "receive": "download", "both": "upload,download"}
_DATABASE: dict[Value, Value] = {
    "oltp_point_select": "select-only", "oltp_read_only": "select-only", "oltp_read_write": "tpcb-like",
}  # fmt: skip

_TRIAD = "STREAM counts the 24 bytes that a triad names for each element; the store also reads the line it writes to"

_TWICE = "STREAM counts a copied byte twice, read and written; the probe once, so that its figure is doubled here"

_MEGABYTE = f"{_TRIAD}; what stress-ng calls MB is 2^20 bytes"

_COUNTED = f"{_TRIAD}; sysbench counts each block once"

_MEMORY = "How many bytes a second do the threads move to and from memory?"
_DISK = "What does the device below this directory carry, asked in this way?"

_PRIMES = (
    "Operations of a loop and searches for primes are counted: the figures have no common unit, and only their "
    "change from host to host, or with more threads, can agree."
)

_SOLVING = (
    "Both count floating-point operations, but a loop in registers is an upper bound, and solving equations "
    "goes through memory too: LINPACK below compute is no disagreement."
)

_STATEMENTS = (
    "A transaction of sysbench holds up to 20 statements, one of pgbench 1 to 7, on other tables: their rates "
    "are not one quantity, and only their change from host to host, or with more clients, can agree."
)

PAIRS: tuple[Kin, ...] = (
    Kin(
        "stream",
        "sysbench-memory",
        _MEMORY,
        (_THREADS, Carry("array_size", "block_size", block_of_arrays, array_of_blocks)),
        (Match(("bandwidth",), ("throughput",), note=_COUNTED),),
        fixed=(
            ("operation", "write"),
            ("scope", "local"),
            ("access_mode", "seq"),
            ("total_size", 2**50),
            ("time", 5.0),
        ),
        fixed_back=(("sweep", "single"),),
    ),
    Kin(
        "stream",
        "stress-ng",
        _MEMORY,
        (_THREADS,),
        (Match(("bandwidth",), ("read_bandwidth", "write_bandwidth"), note=_MEGABYTE),),
        fixed=(("method", "stream"), ("time", 15.0)),
        fixed_back=(("sweep", "single"),),
    ),
    Kin(
        "stream",
        "memory-blocks",
        _MEMORY,
        (_THREADS, Carry("array_size", "memory")),
        (Match(("copy",), ("throughput",), 2.0, _TWICE),),
        fixed=(
            ("operations", "copy"),
            ("patterns", "sequential"),
            ("blocks", "1 MiB"),
            ("largest_set", 0),
            ("sweep", "single"),
            ("time", 5.0),
        ),
        fixed_back=(("sweep", "single"),),
    ),
    Kin(
        "sysbench-memory",
        "memory-blocks",
        _MEMORY,
        (
            Carry("operation", "operations", words(_OPERATION), words(_OPERATION)),
            Carry("access_mode", "patterns", words(_PATTERN), backwards(_PATTERN)),
            Carry("block_size", "memory", same, power_of_two),
            _THREADS,
            Carry("time", "time", at_least_a_second, at_least_a_second),
        ),
        (Match(("throughput",), ("throughput",)),),
        fixed=(("blocks", "64 KiB"), ("largest_set", 0), ("sweep", "single")),
        fixed_back=(("total_size", 2**50),),
    ),
    Kin(
        "fio",
        "sysbench-fileio",
        _DISK,
        (
            _DIRECTORY,
            Carry("rw", "mode", words(_FILEIO), backwards(_FILEIO), must=True),
            _BLOCK,
            Carry("size", "total_size"),
            Carry("direct", "extra_flags", words(_DIRECT), backwards(_DIRECT)),
            Carry("numjobs", "threads"),
            Carry("runtime", "time", at_least_a_second, at_least_a_second),
            Carry("end_fsync", "fsync_end"),
        ),
        (
            Match(("iops",), ("iops",)),
            Match(("bandwidth",), ("bandwidth",)),
            Match(("latency_mean",), ("latency_mean",)),
        ),
        fixed=(("file_num", 1), ("fsync_freq", 0)),
        fixed_back=(("ioengine", "psync"),),
    ),
    Kin(
        "fio",
        "dd",
        _DISK,
        (
            _DIRECTORY,
            Carry("rw", "input", words(_FIO_DD), words(_DD_FIO), must=True),
            _BLOCK,
            Carry("size", "count", blocks_of_size, size_of_blocks),
            Carry("direct", "flush", dd_flush, is_direct),
            Carry("end_fsync", "flush", dd_flush, is_flushed),
            Carry("direct", "read", words(_READ), is_direct),
        ),
        (Match(("bandwidth",), ("bandwidth",)),),
        fixed_back=(("ioengine", "psync"),),
    ),
    Kin(
        "fio",
        "ioping",
        "How long does one request take here?",
        (
            _DIRECTORY,
            Carry("rw", "operation", words(_IOPING), backwards(_IOPING), must=True),
            _BLOCK,
            Carry("size", "working_set"),
            Carry("direct", "cache", words(_CACHE), backwards(_CACHE)),
        ),
        (Match(("latency_mean",), ("latency_mean",)),),
        fixed=(("count", 1000), ("interval", 0.001)),
        fixed_back=(("runtime", 5.0), ("ioengine", "psync")),
    ),
    Kin(
        "sysbench-fileio",
        "dd",
        _DISK,
        (
            _DIRECTORY,
            Carry(
                "mode",
                "input",
                words({"seqwr": "/dev/zero", "seqrd": "file"}),
                words({"/dev/zero": "seqwr", "file": "seqrd"}),
                must=True,
            ),
            _BLOCK,
            Carry("total_size", "count", blocks_of_size, size_of_blocks),
            Carry("extra_flags", "flush", dd_flush, words(_FLAGS)),
            Carry("extra_flags", "read", words(_READ), words({"direct": "direct", "cached": "none"})),
        ),
        (Match(("bandwidth",), ("bandwidth",)),),
        fixed_back=(("file_num", 1), ("fsync_freq", 0)),
    ),
    Kin(
        "net-blocks",
        "iperf3",
        "How many bits a second does the network between the two carry?",
        (
            Carry("protocol", "protocol", words(_PROTOCOL), words(_PROTOCOL)),
            Carry("tests", "direction", backwards(_WAY), words(_WAY)),
            Carry("threads", "streams", all_threads),
            Carry("buffers", "length", size_of_text, buffer_of_length),
            Carry("time", "time", at_least_a_second),
            Carry("omit", "omit"),
            Carry("address", "address"),
        ),
        (Match(("throughput",), ("throughput",)),),
        fixed_back=(("sweep", "single"), ("buffers", "128 KiB")),
    ),
    Kin(
        "compute",
        "sysbench-cpu",
        "How much does a processor of this host compute?",
        (_THREADS, _TIME),
        (Match(("integer_rate",), ("events_per_second",)),),
        fixed_back=(("sweep", "single"),),
        apart=_PRIMES,
    ),
    Kin(
        "compute",
        "linpack",
        "How much does a processor of this host compute?",
        (_THREADS,),
        (Match(("floating_point_rate",), ("linpack",)),),
        fixed_back=(("sweep", "single"), ("operation", "float")),
        apart=_SOLVING,
    ),
    Kin(
        "sysbench-oltp",
        "pgbench",
        "How many transactions a second does a database on this host do?",
        (
            Carry("workload", "script", words(_DATABASE), backwards(_DATABASE)),
            Carry("threads", "clients"),
            _TIME,
            _DIRECTORY,
            Carry("buffers", "buffers"),
            Carry("fsync", "fsync"),
        ),
        (
            Match(("transactions_per_second",), ("transactions_per_second",)),
            Match(("latency_mean",), ("latency_mean",)),
        ),
        apart=_STATEMENTS,
    ),
)
"""A pair's order of parameters matters: the first that cannot be carried over, and decides what is measured, speaks
against the pair."""


def kin_of(suite: str) -> tuple[Kin, ...]:
    """Return the suites that can check `suite`, the nearest first."""
    return tuple(one if one.suite == suite else one.turned() for one in PAIRS if suite in {one.suite, one.other})
