"""Who else is at work while a trial runs, what a cloud holds back, and what breaks meanwhile."""

from collections import Counter

from app.checks.after_cpu import cpus_of
from app.checks.during_words import counted, host_watched, length, times_text, watched
from app.wording import duration_text, share_text
from suites.checks import CannotTell, Check, Outcome, TrialCheck, When
from suites.evidence import HostWatch, TrialEvidence
from suites.vocab import Level, Resource

OF_A_CORE = 0.20
"""The share of one processor from which another process is named."""

OF_THE_HOST = 0.05
"""The share of all processors from which it may show in a figure."""

LITTLE_IDLE = 20.0
"""Per cent of the processor time left idle below which whoever else runs takes it from what is measured."""

_BY_PROCESSORS = frozenset({Resource.CPU, Resource.MEMORY})
_OWN_SERVERS = frozenset({"oltp", "pgbench"})
"""Suites whose work is done by a server that may run already: who works for them cannot be told from others."""

HELD_BACK = 0.1
"""Seconds for which a volume has to be held back."""

_NO_ALLOWANCES = (
    "Nothing here counts what a cloud holds back: that takes an ENA adapter with ethtool, or an EBS volume with "
    "nvme-cli and root."
)


def _taken(trial: TrialEvidence, watch: HostWatch) -> list[tuple[str, float]]:
    """Return the processor seconds that others took, by the name of the program, those first that took most.

    The tool itself is left out where it runs as root: an account without rights cannot tell it from others.
    """
    found: dict[str, float] = {}
    roots = any(command.root for command in trial.commands)
    for at in watch.labels_of("process_time"):
        name = dict(at).get("process", "")
        if not (roots and name == trial.suite.tool):
            found[name] = sum(value for _, value in watch.points_at("process_time", at))
    return sorted(found.items(), key=lambda one: -one[1])


@watched
def _others(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    cpus = cpus_of(trial)
    if trial.suite.id in _OWN_SERVERS or trial.suite.id.startswith("sysbench-oltp"):
        return CannotTell("The server’s own processes cannot be told from others.")
    taken = _taken(trial, watch)
    seconds = length(trial, watch)
    named = [(name, spent) for name, spent in taken[:3] if spent >= OF_A_CORE * seconds]
    if not named or not watch.seconds:
        return None
    told = ", ".join(f"{name} took {share_text(spent / watch.seconds)} of a processor" for name, spent in named)
    felt = cpus is None or sum(spent for _, spent in named) >= OF_THE_HOST * cpus * seconds
    return Outcome(
        f"Beside the test, {told} over {duration_text(watch.seconds)}.",
        level=Level.WARNING if felt and _matters(trial, watch) else Level.INFO,
    )


def _matters(trial: TrialEvidence, watch: HostWatch) -> bool:
    idle = watch.mean("cpu_idle")
    return trial.suite.resource in _BY_PROCESSORS or (idle is not None and idle < LITTLE_IDLE)


@watched
def _packets_held(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    if counted(watch, "allowance_exceeded") is None:
        return CannotTell(_NO_ALLOWANCES)
    kinds: Counter[str] = Counter()
    for at in watch.labels_of("allowance_exceeded"):
        named = dict(at)
        kinds[f"{named.get('interface', '')} {named.get('allowance', '')}".strip()] += round(
            sum(value for _, value in watch.points_at("allowance_exceeded", at))
        )
    held = [f"{count} packet{'' if count == 1 else 's'} ({kind})" for kind, count in kinds.most_common(4) if count > 0]
    if not held:
        return None
    return Outcome(
        f"Held back beyond the instance’s allowance: {', '.join(held)}.",
        level=Level.ERROR if trial.suite.resource is Resource.NETWORK else Level.INFO,
    )


@watched
def _volume_held(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    seconds = counted(watch, "allowance_exceeded_time")
    if seconds is None:
        return CannotTell(_NO_ALLOWANCES)
    if seconds < HELD_BACK:
        return None
    of_disks = trial.suite.resource in {Resource.DISK, Resource.APPLICATION}
    return Outcome(
        f"The volume asked for more than was provisioned for {duration_text(seconds)} of "
        f"{duration_text(watch.seconds)}.",
        level=Level.WARNING if of_disks else Level.INFO,
    )


@watched
def _link_down(trial: TrialEvidence, watch: HostWatch) -> Outcome | CannotTell | None:
    used = watch.labels_of("network_sent")
    changes = {
        dict(at).get("interface", ""): sum(value for _, value in watch.points_at("link_changes", at))
        for at in watch.labels_of("link_changes")
        if at in used
    }
    changed = [f"{name} {times_text(count)}" for name, count in changes.items() if count > 0]
    if not changed:
        return None
    return Outcome(
        f"Links went up or down: {', '.join(changed)}.",
        level=Level.ERROR if trial.suite.resource is Resource.NETWORK else Level.INFO,
    )


@host_watched
def _broken(watch: HostWatch) -> Outcome | CannotTell | None:
    devices = {dict(at).get("device", "") for at in watch.labels_of("filesystem_errors")}
    found = {name: sum(watch.values("filesystem_errors", device=name)) for name in sorted(devices)}
    told = [f"{count:.0f} on {name}" for name, count in found.items() if count > 0]
    return Outcome(f"The file system met errors: {', '.join(told)}.") if told else None


OF_A_TRIAL: tuple[TrialCheck, ...] = (
    Check(
        id="other-process",
        level=Level.WARNING,
        title="Another process was at work",
        why="It shares processors, caches and memory with the test: the figure is what it left over.",
        remedy="End it or wait until it is done, and run it again.",
        source="/proc/PID/stat of all but the test’s own processes and Benchwright’s, every five seconds or so.",
        evaluate=_others,
        when=When.DURING,
        needs=f"processor time by process: {share_text(OF_A_CORE)} of one processor or more; a warning from "
        f"{share_text(OF_THE_HOST)} of all, where the test needs the processors",
    ),
    Check(
        id="allowance-exceeded",
        level=Level.ERROR,
        title="The cloud held packets back",
        why="The figure is that of the instance’s allowance, which may be a burst that ends.",
        remedy="Take a larger instance type, or quote the figure as the type’s.",
        source="Amazon EC2, ENA: bw_in, bw_out, pps, conntrack and linklocal_allowance_exceeded.",
        evaluate=_packets_held,
        when=When.DURING,
        needs="ethtool on the host and an ENA adapter, every ten seconds",
    ),
    Check(
        id="volume-limit-reached",
        level=Level.WARNING,
        title="The volume’s provisioned limit was reached",
        why="The figure is what was paid for, not what the device or the instance could do.",
        remedy="Quote it with the provisioned limit; or provision more I/Os or throughput.",
        source="Amazon EBS detailed performance statistics: performance_exceeded.",
        evaluate=_volume_held,
        when=When.DURING,
        needs="nvme-cli and root on the host and an EBS volume, every ten seconds",
    ),
    Check(
        id="link-went-down",
        level=Level.WARNING,
        title="A link went down",
        why="Nothing goes over a link that is down: the figure holds that time, too.",
        remedy="Mend the cable, port or driver (see dmesg), and run it again.",
        source="carrier_changes in /sys/class/net.",
        evaluate=_link_down,
        when=When.DURING,
        needs="the count of changes of each link that carries anything",
    ),
    Check(
        id="filesystem-errors",
        level=Level.ERROR,
        title="The file system met errors",
        why="The disk or its driver fails: I/Os are repeated or lost, and no rate of it means anything.",
        remedy="See dmesg, save what is on it, and check the disk (smartctl -a).",
        source="errors_count of ext4 in /sys.",
        evaluate=_broken,
        when=When.DURING,
        needs="the count of errors of ext4, every five seconds",
    ),
)
