"""How the value of one suite's parameter is written for another suite."""

import math
from collections.abc import Mapping

from app.opinion.kin import Convert
from suites.facts import Facts
from suites.parameters import Value, Values, format_size, parse_size
from suites.thread_checks import cpus_for


def words(pairs: Mapping[Value, Value]) -> Convert:
    """Return a conversion by a list of words; what is not on it means nothing to the other suite."""
    return lambda value, _values, _facts: pairs.get(value)


def backwards(pairs: Mapping[Value, Value]) -> Convert:
    """Return the conversion back; of several words for one, the first counts."""
    turned: dict[Value, Value] = {}
    for ours, theirs in pairs.items():
        turned.setdefault(theirs, ours)
    return words(turned)


def all_threads(value: Value, _values: Values, facts: Facts | None) -> Value | None:
    """Return a number of threads; 0, one for each usable CPU, is counted out by the facts."""
    return value or (None if facts is None else cpus_for(facts))


def buffer_of_length(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return iperf3’s length as a list of one size; untold, it is 128 KiB over TCP (iperf3(1))."""
    if not value:
        return "128 KiB" if values["protocol"] == "tcp" else None
    return format_size(int(value))


def size_of_text(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return the only size of a list; None where there are several."""
    try:
        return parse_size(str(value))
    except ValueError:
        return None


def at_least_a_second(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return a time; 0 is no time but “until it is done”, and means nothing elsewhere."""
    return value if float(value) >= 1 else None


def blocks_of_size(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return how many of dd's blocks make up a size."""
    return max(1, int(value) // int(values["block_size"]))


def size_of_blocks(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the size that so many of dd's blocks make up."""
    return int(value) * int(values["block_size"])


def block_of_arrays(value: Value, values: Values, facts: Facts | None) -> Value | None:
    """Return the power of two nearest to each thread's share of STREAM's three arrays."""
    threads = all_threads(values["threads"], values, facts)
    return int(2 ** round(math.log2(3 * int(value) / int(threads or 1))))


def power_of_two(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return the power of two nearest to a size."""
    return int(2 ** round(math.log2(max(1, int(value)))))


def array_of_blocks(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return the size of one of STREAM's three arrays that take what sysbench's blocks do."""
    blocks = int(values["threads"]) if values.get("scope") == "local" else 1
    return int(value) * blocks // 3 // 8 * 8


def dd_flush(value: Value, values: Values, _facts: Facts | None) -> Value | None:
    """Return when dd has to flush so that it does what fio or sysbench fileio do."""
    if values.get("direct") or value in {"direct", "dsync"}:
        return "dsync" if value == "dsync" else "direct"
    return "fdatasync" if values.get("end_fsync") or values.get("fsync_end") else "none"


def is_direct(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return whether dd goes past the page cache; waiting for each block means nothing elsewhere."""
    return None if value == "dsync" else value == "direct"


def is_flushed(value: Value, _values: Values, _facts: Facts | None) -> Value | None:
    """Return whether dd flushes once, before its clock stops."""
    return value == "fdatasync"
