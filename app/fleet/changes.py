"""Changes between two fleet studies: levels of groups and hosts, hosts new and gone, lemons new and healed."""

import statistics
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.comparison.comparability import Weight, differences
from app.comparison.estimates import ERROR, Ratio, beyond_p, holm, paired_ratio_of, ratio_of
from app.comparison.moments import moment_error
from app.comparison.sentences import claim_text
from app.comparison.verdicts import FEWEST, Level
from app.fleet.lemons import Lemon, find_lemons, p_text
from app.fleet.study import FleetMetric, Group, session_means
from suites.quantities import count_text, listed, metric_text
from suites.vocab import Labels, Metric

MOST_NAMED = 8
"""Hosts named in a line."""

NOT_COMMON = "No group was measured by the same metric in both studies"

ONE_SESSION = "Sessions not repeated: a difference of their moments counts as a change. Repeat the sessions."


@dataclass(frozen=True, slots=True)
class FleetChange:
    """The ratio of a group, or of a host of it, to the previous study; `host` is empty for the group.

    `p_adjusted` is the p-value against a ratio within the margin, with Holm's correction for all changes. With a
    `reason` there was too little to test, and it is 1; with `differs`, the fatal differences of the tests, there is no
    comparison either. `one_session`: no host repeats the sessions, whose moments differ.
    """

    group: str
    host: str
    step: str
    metric: Metric
    labels: Labels
    ratio: Ratio
    paired: bool
    p_adjusted: float = 1.0
    reason: str = ""
    differs: str = ""
    one_session: bool = False

    @property
    def tested(self) -> bool:
        """Whether it is among the tests."""
        return not (self.reason or self.differs)

    @property
    def changed(self) -> bool:
        """Whether a change beyond the margin is shown."""
        return self.p_adjusted < ERROR


@dataclass(frozen=True, slots=True)
class FleetChanges:
    """All changes of groups and hosts, hosts only in one study or in another group, and lemons only in one.

    `moved_hosts` are hosts that are in another group than before, each with its former and its new group.
    A healed lemon was measured again and is none; lemons of hosts that are gone, or of tests that are not comparable,
    are neither healed nor kept.
    """

    every: tuple[FleetChange, ...]
    new_hosts: tuple[str, ...]
    gone_hosts: tuple[str, ...]
    new_lemons: tuple[Lemon, ...]
    healed_lemons: tuple[Lemon, ...]
    moved_hosts: tuple[tuple[str, str, str], ...] = ()

    @property
    def changed(self) -> tuple[FleetChange, ...]:
        """The changes that are shown, the largest first."""
        found = [one for one in self.every if one.changed]
        return tuple(sorted(found, key=lambda one: -max(one.ratio.value, 1 / one.ratio.value)))


def changes_since(previous: Sequence[FleetMetric], current: Sequence[FleetMetric]) -> FleetChanges:
    """Return what changed between two studies, by the metrics that both have.

    A group is compared by the geometric means of its hosts, in pairs if most hosts are in both studies: a claim needs
    FEWEST of Level.HOST. A host is compared by those of its sessions, FEWEST of Level.SESSION: sessions of one moment
    are not evidence of a lasting change. Welch's or Student's test on logarithms against the margin of the metric; the
    error of a group is that of its hosts and that of its sessions (_across_sessions()).

    Share of 800 simulated pairs of studies whose 95 % interval of an unchanged group contains 1; the same hosts, CoV of
    sessions 1 %, of moments as in the head; the last column (of 400) is by the error of hosts alone:

    | sessions x hosts | 0 %  | 5 % | 5 %, hosts alone |
    | 2 x 3            | .999 | .98 |       .41        |
    | 2 x 8            | .996 | .985 |      .17        |
    | 3 x 3            | .998 | .97 |       .34        |
    | 3 x 8            | 1.00 | .96 |       .16        |
    """
    before = {one.key: one for one in previous}
    pairs = [(before[one.key], one) for one in current if one.key in before]
    tests = [test for old, new in pairs for test in _tests(old, new)]
    p_values = [beyond_p(change.ratio, margin) if change.tested else 1.0 for change, margin in tests]
    testable = [index for index, (change, _) in enumerate(tests) if change.tested]
    corrected = dict(zip(testable, holm([p_values[index] for index in testable]), strict=True))
    every = tuple(_with_p(change, corrected.get(index, 1.0)) for index, (change, _) in enumerate(tests))
    former, groups = _groups(previous), _groups(current)
    other = {(one.group, one.step) for one in every if one.differs}
    old_lemons, new_lemons = (
        {one.key: one for one in find_lemons(side).lemons if (one.group, one.step) not in other}
        for side in (previous, current)
    )
    measured = {(host, *one.key) for one in current for group in one.groups.values() for host in group}
    return FleetChanges(
        every,
        tuple(host for host in groups if host not in former),
        tuple(host for host in former if host not in groups),
        tuple(one for key, one in new_lemons.items() if key not in old_lemons),
        tuple(one for key, one in old_lemons.items() if key not in new_lemons and key[:-1] in measured),
        tuple((host, former[host], new) for host, new in groups.items() if former.get(host, new) != new),
    )


def changes_lines(found: FleetChanges) -> list[str]:
    """Return the changes as lines of text, those of groups first."""
    if not found.every:
        return [NOT_COMMON]
    ordered = sorted(found.changed, key=lambda one: bool(one.host))
    few = sum(bool(one.reason) and not one.differs for one in found.every)
    lines = [change_line(one) for one in ordered]
    tested = sum(one.tested for one in found.every)
    if tested and not lines:
        lines.append(f"No change shown: {count_text(tested, 'group or host', 'groups and hosts')} tested")
    lines += _incomparable_lines(found.every)
    for title, names in (
        ("New lemons", [one.host for one in found.new_lemons]),
        ("No longer lemons", [one.host for one in found.healed_lemons]),
        ("Only in this study", found.new_hosts),
        ("Only in the earlier study", found.gone_hosts),
        ("In another group than before", [f"{host} ({old}, now {new})" for host, old, new in found.moved_hosts]),
    ):
        lines += [f"{title}: {listed(tuple(dict.fromkeys(names)), MOST_NAMED)}"] if names else []
    lines += [ONE_SESSION] if any(one.one_session for one in ordered) else []
    lines += [f"Not tested: {few} of {len(found.every)}, too few sessions or hosts in common"] if few else []
    return lines


def _incomparable_lines(every: Sequence[FleetChange]) -> Iterator[str]:
    """Yield why groups are not comparable, and the hosts that differ in something else."""
    groups = {(one.group, one.step): one.differs for one in every if not one.host}
    units: dict[tuple[str, str], dict[str, None]] = {}
    for one in every:
        if one.differs and (not one.host or one.differs != groups[one.group, one.step]):
            units.setdefault((one.step, one.differs), {})[one.host or one.group] = None
    for (step, differs), names in units.items():
        yield f"Not comparable: {listed(tuple(names), MOST_NAMED)}: {step}: {differs}"


def change_line(one: FleetChange) -> str:
    """Return a change as a line: ``c5, all hosts in pairs: IOPS of fio: 12 % slower (95 % CI 10–14 %), p = 0.001``."""
    hosts = f"all hosts{' in pairs' if one.paired else ''}{', sessions not repeated' if one.one_session else ''}"
    what = f"{metric_text(one.metric, one.labels)} of {one.step}"
    return f"{one.group}, {one.host or hosts}: {what}: {claim_text(one.ratio, one.metric)}, {p_text(one.p_adjusted)}"


def _groups(study: Sequence[FleetMetric]) -> dict[str, str]:
    """Return the group of each host."""
    return {host: name for one in study for name, group in one.groups.items() for host in group}


def _tests(old: FleetMetric, new: FleetMetric) -> Iterator[tuple[FleetChange, float]]:
    """Yield the comparisons of the groups and hosts of two studies of a metric, with the margin."""
    for name, group in new.groups.items():
        if name not in old.groups:
            continue
        before = old.groups[name]
        of_hosts = _change(new, name, "", (_means(group), _means(before)), Level.HOST)
        change = _across_sessions(of_hosts, group, before)
        yield replace(change, differs=_fatal_differences((new, group), (old, before))), new.margin
        for host in group:
            if host in before:
                sides = session_means(group[host]), session_means(before[host])
                change = _change(new, name, host, sides, Level.SESSION)
                yield replace(change, differs=_fatal_differences((new, [host]), (old, [host]))), new.margin


def _fatal_differences(ours: tuple[FleetMetric, Collection[str]], theirs: tuple[FleetMetric, Collection[str]]) -> str:
    """Return why the tests on the hosts of two studies are not comparable; empty if they are, or are not known."""
    one, other = (metric.record.profile(hosts) for metric, hosts in (ours, theirs))
    if one is None or other is None:
        return ""
    return "; ".join(each.text for each in differences(one, other) if each.weight is Weight.FATAL)


def _means(group: Group) -> dict[str, float]:
    return {host: statistics.geometric_mean(session_means(sessions).values()) for host, sessions in group.items()}


def _change(
    one: FleetMetric, group: str, host: str, sides: tuple[Mapping[str, float], Mapping[str, float]], level: Level
) -> FleetChange:
    """Return the change of the units of `level`; hosts in pairs if most of them are on both sides."""
    ours, theirs = sides
    shared = [name for name in ours if name in theirs]
    paired = level is Level.HOST and len(shared) >= FEWEST[level] and 3 * len(shared) >= len(ours) + len(theirs)
    if paired:
        ratio = paired_ratio_of([ours[name] for name in shared], [theirs[name] for name in shared])
        fewest = len(shared)
    else:
        ratio = ratio_of(list(ours.values()), list(theirs.values()))
        fewest = min(len(ours), len(theirs))
    found = Ratio(1.0, reason=ratio) if isinstance(ratio, str) else ratio
    few = f"{count_text(fewest, level)}, a change needs {FEWEST[level]}" if fewest < FEWEST[level] else found.reason
    return FleetChange(group, host, one.step, one.metric, one.labels, found, paired, reason=few)


def _across_sessions(change: FleetChange, group: Group, before: Group) -> FleetChange:
    """Return the change of a group with the error of sessions, which all of its hosts share.

    It is unknown if no host has several sessions: the ratio is that of their moments, too.
    """
    kept = group.keys() & before.keys() if change.paired else group.keys() | before.keys()
    sides = [
        {
            host: {f"{study} {name}": mean for name, mean in session_means(own).items()}
            for host, own in side.items()
            if host in kept
        }
        for study, side in (("new", group), ("old", before))
    ]
    error = moment_error(*sides)
    if error is None:
        return change
    return replace(change, ratio=error.added_to(change.ratio), one_session=not error.known)


def _with_p(change: FleetChange, p_adjusted: float) -> FleetChange:
    return replace(change, p_adjusted=p_adjusted)
