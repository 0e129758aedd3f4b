"""Profiles of trials that ran under perf: counters, folded stacks, flame graphs, and the change between two runs."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, TypedDict

from app.checks.run_findings import NOT_PROFILED
from app.comparison.comparison import CompareError
from app.events import State
from app.json_converter import Json, publish, published
from app.plans.plan import host_label
from app.records import RunRecord, TrialRecord
from app.summary import summaries
from suites.facts import known
from suites.perf import COUNTERS, HARDWARE, STACKS, PerfCounter, read_counters, read_stacks
from suites.quantities import count_text, figure_text, metric_text
from suites.vocab import Figure

Stack = tuple[str, ...]
Stacks = Mapping[Stack, int]
ReadOutput = Callable[[int], Mapping[str, bytes]]
"""Returns the raw output of a trial by stream."""


@dataclass(frozen=True, slots=True)
class ProfileCost:
    """The figure of the profiled trial, and its ratio to `counted`, that of the `trials` that count."""

    figure: Figure
    counted: float
    trials: int

    @property
    def ratio(self) -> float | None:
        """The ratio; None for a counted figure of 0."""
        return self.figure.value / self.counted if self.counted else None


@dataclass(frozen=True, slots=True)
class ProfileReading:
    """A value read off the counters as it is shown, or why it is `absent`."""

    name: str
    value: float | None
    text: str = ""
    absent: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True)
class PerfProfile:
    """The profile of a step on a host: from its profiled trial, or `absent` with the reason."""

    run: str
    step: str
    host: str
    absent: str = ""
    cost: ProfileCost | None = None
    readings: tuple[ProfileReading, ...] = ()
    stacks: Stacks | None = None

    @property
    def samples(self) -> int:
        """The number of stacks that were sampled."""
        return sum((self.stacks or {}).values())

    @property
    def name(self) -> str:
        """Step, host and run: ``scan on web-1 (RUN)``."""
        return f"{self.step} on {host_label(self.host)} ({self.run})"


def has_profile(record: RunRecord) -> bool:
    """Return whether a trial of `record` ran under perf."""
    return any(one.trial.profiled and one.state is State.DONE for one in record.trials)


def profiles_of(record: RunRecord, read: ReadOutput) -> list[PerfProfile]:
    """Return the profile of each step and host of `record`, absent ones with their reason."""
    found = []
    for step in record.plan.steps:
        for host in record.plan.hosts:
            made = PerfProfile(record.summary.id, step.name, host)
            own = [
                one for one in record.trials
                if one.trial.profiled and (one.trial.step, one.trial.host) == (step.name, host)
            ]  # fmt: skip
            done = [one for one in own if one.state is State.DONE]
            if done:
                found.append(_profile(made, record, done[-1], read(done[-1].trial.id)))
            else:
                found.append(replace(made, absent=_why_absent(record, made, own)))
    return found


def _why_absent(record: RunRecord, made: PerfProfile, own: Sequence[TrialRecord]) -> str:
    if not record.plan.repetition.profile:
        return "The plan has no profiled trial."
    for finding in record.findings:
        if (finding.id, finding.step, finding.host) == (NOT_PROFILED.id, made.step, made.host):
            return finding.measured
    return own[-1].reason if own else "The profiled trial did not run."


def _profile(made: PerfProfile, record: RunRecord, one: TrialRecord, output: Mapping[str, bytes]) -> PerfProfile:
    lines = {name: data.decode("utf-8", "replace").splitlines() for name, data in output.items()}
    facts = record.facts_before.get(made.host)
    is_virtual = facts is not None and known(facts.system.virtualisation) not in {None, "none"}
    return replace(
        made,
        cost=_cost(record, one),
        readings=tuple(_readings(read_counters(lines.get(COUNTERS, ())), is_virtual=is_virtual)),
        stacks=read_stacks(lines.get(STACKS, ())),
    )


def _cost(record: RunRecord, one: TrialRecord) -> ProfileCost | None:
    if not one.figures:
        return None
    figure, trial = one.figures[0], one.trial
    key = trial.step, trial.host, figure.metric.name, figure.labels
    for found in summaries(record):
        if (found.step, found.host, found.metric.name, found.labels) == key:
            return ProfileCost(figure, found.value, found.n)
    return None


_COUNTS = {"context-switches": "Context switches", "cpu-migrations": "CPU migrations", "page-faults": "Page faults"}
_RATIOS = (
    ("Instructions per cycle", "instructions", "cycles", "{:.2f}"),
    ("Cache misses", "cache-misses", "cache-references", "{:.2%} of cache references"),
    ("Branch misses", "branch-misses", "branches", "{:.2%} of branches"),
)


def _readings(counters: Sequence[PerfCounter], *, is_virtual: bool) -> Iterator[ProfileReading]:
    by = {one.event: one for one in counters}
    clock = by.get("task-clock")
    if clock is None or clock.value is None:
        yield ProfileReading("CPU time", None, absent=_why_not(clock, is_virtual=is_virtual))
    else:
        used = "" if clock.elapsed is None else f", {clock.value / clock.elapsed:.2f} CPUs used"
        yield ProfileReading("CPU time", clock.value / 1000, f"{clock.value / 1000:,.2f} s{used}")
    for event, name in _COUNTS.items():
        yield _reading(name, (by.get(event),), "{:,.0f}", is_virtual=is_virtual)
    for name, part, whole, text in _RATIOS:
        yield _reading(name, (by.get(part), by.get(whole)), text, is_virtual=is_virtual)


def _reading(name: str, of: Sequence[PerfCounter | None], text: str, *, is_virtual: bool) -> ProfileReading:
    """Return a count, or the ratio of two; absent if one of them is, or if the divisor is 0."""
    values = []
    for one in of:
        if one is None or one.value is None:
            return ProfileReading(name, None, absent=_why_not(one, is_virtual=is_virtual))
        values.append(one.value)
    if len(values) == 2 and not values[1]:
        return ProfileReading(name, None, absent="nothing counted")
    value = values[0] / values[1] if len(values) == 2 else values[0]
    present = [one for one in of if one is not None]
    notes = []
    if (running := min(one.running for one in present)) < 1:
        notes.append(f"estimated: counted for {running:.0%} of the time")
    if any(one.user_only for one in present):
        notes.append("user mode only")
    return ProfileReading(name, value, text.format(value), note=", ".join(notes))


def _why_not(one: PerfCounter | None, *, is_virtual: bool) -> str:
    if one is None:
        return "not reported by perf"
    if one.absent == "not counted":
        return "not counted by perf: the command was too short, or the counters were in use"
    if one.event in HARDWARE and is_virtual:
        return "the virtual machine exposes no hardware counters"
    return "not supported by the CPU or kernel"


def cost_text(cost: ProfileCost) -> str:
    """Return the figure of the profiled trial beside that of the trials that count."""
    metric = cost.figure.metric
    own, counted = (figure_text(metric, value) for value in (cost.figure.value, cost.counted))
    ratio = "" if cost.ratio is None else f", ratio {cost.ratio:.3f}"
    trials = count_text(cost.trials, "trial")
    return f"Profiled: {metric_text(metric, cost.figure.labels)} {own}; counted: {counted} ({trials}){ratio}."


def reading_text(one: ProfileReading) -> str:
    """Return a value with its note, or why it is absent."""
    return f"absent: {one.absent}" if one.value is None else f"{one.text}{f' ({one.note})' if one.note else ''}"


@dataclass(frozen=True, slots=True)
class FunctionShare:
    """The share of samples in a function itself, and with all that it calls; `before` are those of another profile."""

    name: str
    own: float
    total: float
    before: tuple[float, float] | None = None


def function_shares(stacks: Stacks, before: Stacks | None = None) -> list[FunctionShare]:
    """Return the functions by their own share, of two profiles by the largest change. A recursion counts once."""
    shares = _shares(stacks)
    if before is None:
        found = [FunctionShare(name, *share) for name, share in shares.items()]
        return sorted(found, key=lambda one: (-one.own, -one.total, one.name))
    earlier, none = _shares(before), (0.0, 0.0)
    names = shares.keys() | earlier.keys()
    both = [FunctionShare(name, *shares.get(name, none), earlier.get(name, none)) for name in names]
    return sorted(both, key=lambda one: (-abs(one.own - (one.before or none)[0]), -one.total, one.name))


def _shares(stacks: Stacks) -> dict[str, tuple[float, float]]:
    """Return by function the share of samples in it, and with all that it calls."""
    own, total, whole = Counter[str](), Counter[str](), sum(stacks.values())
    for stack, count in stacks.items():
        own[stack[-1]] += count
        total.update(dict.fromkeys(stack, count))
    return {name: (own[name] / whole, count / whole) for name, count in total.items()}


def folded_text(stacks: Stacks, before: Stacks | None = None) -> str:
    """Return folded stacks as flamegraph.pl and speedscope read them; of two, both counts as difffolded.pl writes."""
    if before is None:
        return "".join(f"{';'.join(stack)} {count}\n" for stack, count in sorted(stacks.items()))
    both = sorted(stacks.keys() | before.keys())
    return "".join(f"{';'.join(stack)} {before.get(stack, 0)} {stacks.get(stack, 0)}\n" for stack in both)


def profile_title(before: PerfProfile | None, one: PerfProfile) -> str:
    """Return the title of a profile: its name and samples; of two the runs."""
    if before is None:
        return f"{one.name}, {count_text(one.samples, 'sample')}"
    return f"{one.name} compared with {before.name}: red is more of the samples, blue is less"


def compared_profiles(
    one: Sequence[PerfProfile], other: Sequence[PerfProfile]
) -> list[tuple[PerfProfile, PerfProfile]]:
    """Return the profiles of two runs that have a profile of the same step and host, or their only one each."""
    first, second = ([each for each in side if each.stacks] for side in (one, other))
    by = {(each.step, each.host): each for each in first}
    pairs = [(by[each.step, each.host], each) for each in second if (each.step, each.host) in by]
    if not pairs and len(first) == len(second) == 1:
        pairs = [(first[0], second[0])]
    if not pairs:
        reasons = dict.fromkeys(each.absent for each in (*one, *other) if each.absent)
        raise CompareError("No step has a profile in both runs.", " ".join(reasons) or "Profile the same steps.")
    return pairs


FORMAT = "benchwright-profile/1"

publish(
    ProfileCost,
    "metric=figure.metric.name unit=figure.metric.unit labels=figure.labels value=figure.value counted trials ratio",
)
publish(ProfileReading, "name value absent note")
publish(PerfProfile, "run step host absent cost readings samples")
publish(FunctionShare, "name own total before")


class ProfileKeys(TypedDict):
    """Keys of a profile beside those of PerfProfile."""

    before: Annotated[Json, PerfProfile] | None
    functions: list[Annotated[Json, FunctionShare]]


class ProfilesJson(TypedDict):
    """Profiles, each with that before it."""

    format: Annotated[str, FORMAT]
    profiles: list[Annotated[Json, PerfProfile, ProfileKeys]]


def profile_to_json(found: Sequence[tuple[PerfProfile | None, PerfProfile]]) -> ProfilesJson:
    """Return the public JSON of profiles, each with that before it, and the functions."""
    return {"format": FORMAT, "profiles": [_pair_to_json(before, one) for before, one in found]}


def _pair_to_json(before: PerfProfile | None, one: PerfProfile) -> Json:
    earlier = None if before is None else before.stacks or {}
    return {
        **published(one),
        "before": None if before is None else published(before),
        "functions": [published(each) for each in function_shares(one.stacks or {}, earlier)],
    }
