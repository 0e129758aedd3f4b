"""fio's parameters fitted to a host."""

from suites.base import Context
from suites.disk import GIB, MIB, amount, best_directory, whole_mebibytes
from suites.facts import Directory, Facts, known
from suites.fio.engine_checks import usable
from suites.parameters import Tuned
from suites.thread_checks import cpus_for

DEPTH = 32
"""I/Os in flight for each job: enough to saturate a cloud volume; the depth at which devices are most often quoted."""

MOST_JOBS = 4

DIRECT_TOTAL = 2 * GIB
"""Bytes of all files with direct I/O: no cache to outgrow, and written within 35 s even at 64 MB/s."""

SHARE_OF_FREE = 10
"""With direct I/O the files take at most one tenth of what is free."""

RUNTIME, RAMP = 30.0, 5.0


def tune_fio(context: Context) -> dict[str, Tuned]:
    """Return the parameters that are better fitted to the host in `context`; few where little is known of it."""
    tuned = {
        "rw": Tuned(
            "randread",
            "Random reads of 4 KiB are what volumes are quoted in, and unlike writes they neither wear nor fill one.",
        ),
        "runtime": Tuned(
            RUNTIME, f"{RUNTIME:g} s give 30 one-second samples, enough to see the device change; fio sets no limit."
        ),
        "ramp_time": Tuned(
            RAMP,
            f"The first {RAMP:g} s are left out, while queues fill and the device wakes; fio itself omits none.",
        ),
    }
    tuned["randrepeat"] = Tuned(
        False,
        "Each trial goes to other blocks: the same again, as fio has it, come from whatever cache lies below. On one "
        "volume three trials then gave 8,400, 15,600 and 22,300 I/Os a second.",
    )
    facts, directory = context.facts, best_directory(context.facts)
    if facts is None or directory is None:
        return tuned
    jobs = _jobs(facts)
    tuned["directory"] = _directory(directory)
    tuned["numjobs"] = Tuned(jobs, f"One job for each of {cpus_for(facts) or 1} usable CPUs, {MOST_JOBS} at most.")
    tuned["size"] = _size(facts, directory, jobs)
    if directory.direct is False:
        tuned["direct"] = Tuned(False, f"{directory.path} is on {_kind(directory)}, which refuses direct I/O (tried).")
    elif directory.direct is True:
        tuned |= _asynchronous(directory) if usable(facts, "libaio") else _one_at_a_time(directory)
    return tuned


def _jobs(facts: Facts) -> int:
    return min(MOST_JOBS, max(1, cpus_for(facts) or 1))


def _kind(directory: Directory) -> str:
    return known(directory.kind) or "a file system"


def _directory(directory: Directory) -> Tuned:
    free = known(directory.free)
    room = "Writable" if free is None else f"{amount(free)} free"
    device = known(directory.device)
    where = f"{_kind(directory)} on {device}" if device else _kind(directory)
    return Tuned(directory.path, f"{room}, {where}: the most room of the directories that were tried.")


def _asynchronous(directory: Directory) -> dict[str, Tuned]:
    return {
        "direct": Tuned(
            True, f"{directory.path} accepts direct I/O (tried), so that the device is measured, not the page cache."
        ),
        "iodepth": Tuned(DEPTH, f"One I/O at a time measures the round trip; {DEPTH} keep a device busy."),
        "ioengine": Tuned(
            "libaio",
            f"psync cannot keep {DEPTH} I/Os in flight; libaio can wherever fio runs on Linux, while io_uring is "
            "switched off in many containers and hardened kernels.",
        ),
    }


def _one_at_a_time(directory: Directory) -> dict[str, Tuned]:
    """Return direct I/O alone: this fio was built without libaio."""
    return {
        "direct": Tuned(
            True, f"{directory.path} accepts direct I/O (tried), so that the device is measured, not the page cache."
        )
    }


def _size(facts: Facts, directory: Directory, jobs: int) -> Tuned:
    free, memory = known(directory.free), facts.memory_for_cache()
    if directory.direct is True or memory is None:
        limit = DIRECT_TOTAL if free is None else min(DIRECT_TOTAL, free // SHARE_OF_FREE)
        total = whole_mebibytes(limit / jobs) * jobs
        why = "small enough to lay out quickly; direct I/O has no page cache to outgrow"
    else:
        limit = 2 * memory if free is None else min(2 * memory, free // 2)
        total = whole_mebibytes(limit / jobs + MIB) * jobs
        why = f"twice the {amount(memory)} of memory, so that the page cache cannot hold it"
        if total < 2 * memory:
            why = f"half of what is free; the {amount(memory)} of memory can cache much of it"
    files = "One file" if jobs == 1 else f"{jobs} files"
    return Tuned(total // jobs, f"{files}, {amount(total)} in all: {why}.")
