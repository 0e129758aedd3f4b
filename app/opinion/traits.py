"""What a step asks of a host in terms that tools share, so that two tools' questions can be held beside each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from app.plans.plan import Step
from suites.facts import Facts
from suites.fio.parameters import ONE_AT_A_TIME
from suites.parameters import Value, Values, parse_size
from suites.thread_checks import cpus_for


@dataclass(frozen=True, slots=True)
class Traits:
    """What a step asks. None is not known, or has no meaning for it.

    `block` are the bytes of one request, `working_set` those it goes through, `in_flight` the requests under way at
    once, `threads` those that work; `cached` is whether memory may answer, `flushed` whether what was written has to
    be safe before the clock stops. `seconds` is for how long it measures.
    """

    operation: str | None = None
    pattern: str | None = None
    block: int | None = None
    cached: bool | None = None
    flushed: bool | None = None
    in_flight: int | None = None
    threads: int | None = None
    working_set: int | None = None
    seconds: float | None = None


Read = Callable[[Values, Facts | None], Traits]


def traits_of(step: Step, facts: Facts | None) -> Traits:
    """Return what `step` asks on a host with these facts; of a suite that is not known here, nothing."""
    read = _READERS.get(step.suite_id)
    return Traits() if read is None else read(step.values, facts)


def _threads(value: Value, facts: Facts | None) -> int | None:
    return int(value) or (None if facts is None else cpus_for(facts))


def _size(text: Value) -> int | None:
    try:
        return parse_size(str(text))
    except ValueError:
        return None


def _fio(values: Values, _facts: Facts | None) -> Traits:
    kind = str(values["rw"])
    operation = {"rw": "read and write", "randrw": "read and write"}.get(kind, kind.removeprefix("rand"))
    waits = values["ioengine"] in ONE_AT_A_TIME
    direct, writes = bool(values["direct"]), operation != "read"
    return Traits(
        operation, "random" if kind.startswith("rand") else "sequential", int(values["block_size"]), not direct,
        (direct or bool(values["end_fsync"]) or bool(values["fsync"])) if writes else None,
        (1 if waits else int(values["iodepth"])) * int(values["numjobs"]), int(values["numjobs"]),
        int(values["size"]), float(values["runtime"]) or None,
    )  # fmt: skip


def _fileio(values: Values, _facts: Facts | None) -> Traits:
    mode, flags = str(values["mode"]), values["extra_flags"]
    operation = {"rd": "read", "rw": "read and write"}.get(mode[-2:], "write")
    depth = int(values["async_backlog"]) if values["io_mode"] == "async" else 1
    safe = flags != "none" or bool(values["fsync_all"]) or bool(values["fsync_end"])
    return Traits(
        operation, "random" if mode.startswith("rnd") else "sequential", int(values["block_size"]),
        flags != "direct", safe if operation != "read" else None, depth * int(values["threads"]),
        int(values["threads"]), int(values["total_size"]), float(values["time"]),
    )  # fmt: skip


def _dd(values: Values, _facts: Facts | None) -> Traits:
    writes = values["input"] != "file"
    flag = values["flush"] if writes else values["read"]
    return Traits(
        "write" if writes else "read", "sequential", int(values["block_size"]), flag != "direct",
        flag != "none" if writes else None, 1, 1, int(values["block_size"]) * int(values["count"]), None,
    )  # fmt: skip


def _ioping(values: Values, _facts: Facts | None) -> Traits:
    seconds = int(values["count"]) * float(values["interval"])
    return Traits(
        str(values["operation"]), "sequential" if values["linear"] else "random", int(values["block_size"]),
        values["cache"] != "direct", None, 1, 1, int(values["working_set"]), seconds or None,
    )  # fmt: skip


def _stream(values: Values, facts: Facts | None) -> Traits:
    size = 3 * int(values["array_size"])
    return Traits("read and write", "sequential", threads=_threads(values["threads"], facts), working_set=size)


def _sysbench_memory(values: Values, _facts: Facts | None) -> Traits:
    blocks = int(values["threads"]) if values["scope"] == "local" else 1
    return Traits(
        str(values["operation"]), {"seq": "sequential", "rnd": "random"}[str(values["access_mode"])],
        threads=int(values["threads"]), working_set=blocks * int(values["block_size"]), seconds=float(values["time"]),
    )  # fmt: skip


def _memory_blocks(values: Values, facts: Facts | None) -> Traits:
    chosen, pattern = str(values["operations"]), str(values["patterns"])
    operation = {"all": None, "copy": "read and write"}.get(chosen, chosen)
    copies = 1 if operation in {"read", "write"} else 2
    return Traits(
        operation, None if pattern == "both" else pattern, _size(values["blocks"]),
        threads=_threads(values["threads"], facts), working_set=copies * int(values["memory"]),
        seconds=float(values["time"]),
    )  # fmt: skip


def _stress_ng(values: Values, _facts: Facts | None) -> Traits:
    return Traits("read and write", "sequential", threads=int(values["threads"]), seconds=float(values["time"]))


def _iperf3(values: Values, _facts: Facts | None) -> Traits:
    operation = {"send": "upload", "receive": "download"}.get(str(values["direction"]), "both ways at once")
    default = 128 * 1024 if values["protocol"] == "tcp" else None  # iperf3(1): 128 KiB for TCP, by the path for UDP
    streams = int(values["streams"])
    return Traits(
        operation, str(values["protocol"]), int(values["length"]) or default, in_flight=streams, threads=streams,
        seconds=float(values["time"]),
    )  # fmt: skip


def _net_blocks(values: Values, facts: Facts | None) -> Traits:
    protocol, threads = str(values["protocol"]), _threads(values["threads"], facts)
    tests = str(values["tests"])
    return Traits(
        tests if tests in {"upload", "download"} else None, None if protocol == "both" else protocol,
        _size(values["buffers"]), in_flight=threads, threads=threads, seconds=float(values["time"]),
    )  # fmt: skip


def _database(values: Values, _facts: Facts | None) -> Traits:
    clients = int(values["clients"] if "clients" in values else values["threads"])
    return Traits(flushed=bool(values["fsync"]), in_flight=clients, threads=clients, seconds=float(values["time"]))


_READERS: Mapping[str, Read] = {
    "fio": _fio,
    "sysbench-fileio": _fileio,
    "dd": _dd,
    "ioping": _ioping,
    "stream": _stream,
    "sysbench-memory": _sysbench_memory,
    "memory-blocks": _memory_blocks,
    "stress-ng": _stress_ng,
    "iperf3": _iperf3,
    "net-blocks": _net_blocks,
    "sysbench-oltp": _database,
    "pgbench": _database,
}
