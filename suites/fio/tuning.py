"""Tuned values of fio's parameters."""

from suites.base import Context
from suites.disk import DIRECT_TOTAL, GIB, MIB, best_directory, covered, room_for, whole_mebibytes
from suites.facts import BlockDevice, Directory, Facts, cpus_for, known
from suites.fio.engine_checks import usable
from suites.parameters import Tuned
from suites.quantities import duration_text, quantity
from suites.units import Unit

DEPTH = 32
"""I/Os in flight per job: enough to saturate a cloud volume, and the depth that device ratings use most."""

MOST_JOBS = 4

LARGEST_TOTAL = 10 * GIB
"""Maximum bytes of the tuned files with direct I/O, of a tenth of the volume."""

CONTROLLER_CACHE = 8 * GIB
"""Bytes of cache that RAID controllers have at most (PERC H755: 8 GB); drives have about 1 GiB of DRAM per TiB."""

CLOUD_RATE = 125e6
"""B/s of a small cloud volume (the baseline of EBS gp3), at which the time of the layout is shown."""

_TUNED_RUNTIME, _TUNED_RAMP = 30.0, 5.0


SCSI = "sd"
"""Kernel name of SCSI disks, SATA included: queue_depth is one queue of the device for all jobs."""


def queue_of_a_job(disk: BlockDevice | None, jobs: int, wanted: int) -> int:
    """Return how many of `wanted` I/Os in flight of each job the device's queue takes.

    nr_requests limits each of a disk's queues, of which a job uses one at a time.
    """
    queue = None if disk is None else known(disk.queue_depth)
    if disk is None or queue is None:
        return wanted
    return max(1, min(wanted, queue // jobs if disk.name.startswith(SCSI) else queue))


def tune_fio(context: Context) -> dict[str, Tuned]:
    """Return the parameters with better values for the host in `context`; few if little is known of it."""
    tuned = {
        "rw": Tuned("randread", "Volumes are rated in random reads of 4 KiB, which neither wear nor fill a device."),
        "runtime": Tuned(
            _TUNED_RUNTIME,
            f"{_TUNED_RUNTIME:g} s give 30 one-second samples, enough to see the device change; fio sets no limit.",
        ),
        "ramp_time": Tuned(
            _TUNED_RAMP,
            f"Leaves out the first {_TUNED_RAMP:g} s, while queues fill and the device wakes up; fio itself omits "
            "none.",
        ),
    }
    tuned["randrepeat"] = Tuned(
        False,
        "New random blocks in each trial: fio's default repeats them, and caches below serve them. On one volume "
        "three such trials gave 8,400, 15,600 and 22,300 IOPS.",
    )
    facts, directory = context.facts, best_directory(context.facts)
    if facts is None or directory is None:
        return tuned
    jobs = _jobs(facts)
    tuned["directory"] = _directory(directory)
    tuned["numjobs"] = Tuned(jobs, f"One job for each of {cpus_for(facts) or 1} usable CPUs, at most {MOST_JOBS}.")
    tuned["size"] = _size(facts, directory, jobs)
    if directory.direct is False:
        tuned["direct"] = Tuned(False, f"{directory.path} is on {_kind(directory)}, which refuses direct I/O (tried).")
    elif directory.direct is True:
        why = f"{directory.path} accepts direct I/O (tried): measures the device, not the page cache."
        tuned["direct"] = Tuned(True, why)
        if usable(facts, "libaio"):
            device = known(directory.device)
            tuned |= _asynchronous(None if device is None else facts.block_device(device), jobs)
    return tuned


def _jobs(facts: Facts) -> int:
    return min(MOST_JOBS, max(1, cpus_for(facts) or 1))


def _kind(directory: Directory) -> str:
    return known(directory.kind) or "a file system"


def _directory(directory: Directory) -> Tuned:
    free = known(directory.free)
    room = "Writable" if free is None else f"{quantity(free)} free"
    device = known(directory.device)
    where = f"{_kind(directory)} on {device}" if device else _kind(directory)
    return Tuned(directory.path, f"{room}, {where}: most free space of the directories tried.")


def _asynchronous(disk: BlockDevice | None, jobs: int) -> dict[str, Tuned]:
    depth = queue_of_a_job(disk, jobs, DEPTH)
    why = f"Depth 1 measures the round trip; {DEPTH} I/Os in flight keep a device busy."
    if disk is not None and depth < DEPTH:
        why = f"With {jobs} {'job' if jobs == 1 else 'jobs'}, this fills the queue of {disk.name}."
    return {
        "iodepth": Tuned(depth, why),
        "ioengine": Tuned(
            "libaio",
            f"psync cannot keep {DEPTH} I/Os in flight; libaio can wherever fio runs on Linux; io_uring is "
            "disabled in many containers and hardened kernels.",
        ),
    }


def _size(facts: Facts, directory: Directory, jobs: int) -> Tuned:
    memory = facts.memory_for_cache()
    if directory.direct is True or memory is None:
        system = facts.file_system_of(directory.path)
        whole = None if system is None else known(system.size)
        wanted = DIRECT_TOTAL if whole is None else max(DIRECT_TOTAL, min(LARGEST_TOTAL, whole // 10))
        total = whole_mebibytes(room_for(wanted, directory) / jobs) * jobs
        why = f"direct I/O bypasses the page cache, {_held(total)}"
    else:
        limit = room_for(2 * memory, directory, 2)
        total = whole_mebibytes(limit / jobs + MIB) * jobs
        why = f"twice the {quantity(memory)} of memory, so that the page cache cannot hold it"
        if total < 2 * memory:
            why = f"half of the free space; the {quantity(memory)} of memory can cache much of it"
    files = "One file" if jobs == 1 else f"{jobs} files"
    layout = duration_text(total / CLOUD_RATE)
    return Tuned(
        total // jobs,
        f"{files}, {quantity(total)} in all{covered(total, facts, directory)}: {why}. Laid out once, in {layout} at "
        f"{quantity(CLOUD_RATE, Unit.BYTES_PER_SECOND)}.",
    )


def _held(total: int) -> str:
    """Return which caches below the host are smaller than `total` bytes."""
    if total > CONTROLLER_CACHE:
        return "and the cache of a drive or of a RAID controller (up to 8 GiB) cannot hold it; a hypervisor's may"
    if total >= DIRECT_TOTAL:
        return "and the cache of a drive (about 1 GiB) cannot hold it; one of a RAID controller or a hypervisor may"
    return "but the cache of a drive may hold it"
