"""The gate before a comparison: what differs between two places, and whether it forbids, explains or does nothing."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.plans.context import work_directory
from app.plans.plan import Repetition, Step
from app.wording import bytes_text, duration_text
from suites.errors import UnknownSuiteError
from suites.facts import Absent, Directory, Facts, known
from suites.parameters import Parameter

_ENGINES = frozenset({"ioengine", "engine"})
"""Parameters that choose how a tool does its work; they are told apart from those that say what it does."""


class Weight(StrEnum):
    """What a difference means for a comparison.

    FATAL: the figures measure different things. EXPLAINS: they measure the same on something else, which may be the
    very question or the whole answer. HARMLESS: it does not touch the figures.
    """

    FATAL = "fatal"
    EXPLAINS = "explains it"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class Difference:
    """One thing that differs: its name, both sides in words, and what it means."""

    what: str
    ours: str
    baseline: str
    weight: Weight
    why: str = ""

    @property
    def text(self) -> str:
        """The difference in one line, this side first."""
        if not self.ours and not self.baseline:
            return self.what
        return f"{self.what} {self.ours or 'not set'} against {self.baseline or 'not set'}"


@dataclass(frozen=True, slots=True)
class Profile:
    """What decides whether two places can be compared: a step as its runs have it, on hosts as they were found.

    `versions` are those of the tool, empty where one of them is not known.
    """

    steps: tuple[Step, ...]
    hosts: tuple[str, ...]
    versions: frozenset[str] = frozenset()
    facts: tuple[Facts, ...] = ()
    repetitions: tuple[Repetition, ...] = ()
    programs: frozenset[str] = frozenset()


def differences(ours: Profile, baseline: Profile) -> tuple[Difference, ...]:
    """Return what differs between two places, the gravest first."""
    suite = list(_suite(ours, baseline))
    found = [
        # Of other suites nothing else about the test can be alike.
        *(suite or (*_parameters(ours, baseline), *_version(ours, baseline))),
        *_peer(ours, baseline),
        *_placement(ours, baseline),
        *_machine(ours, baseline),
        *_handling(ours, baseline),
    ]
    order = tuple(Weight)
    return tuple(sorted(found, key=lambda difference: order.index(difference.weight)))


def relation(ours: Profile, baseline: Profile) -> str:
    """Return in words whether both places are the same machine: ``same instance``, ``other host``."""
    if len(ours.hosts) > 1 or len(baseline.hosts) > 1:
        shared = set(ours.hosts) == set(baseline.hosts)
        return f"same {len(ours.hosts)} hosts" if shared else f"{len(ours.hosts)} against {len(baseline.hosts)} hosts"
    one, other = _instances(ours), _instances(baseline)
    if one and other:
        return "same instance" if one == other and len(one) == 1 else "other instance"
    return "same host" if ours.hosts == baseline.hosts else "other host"


def same_machine(ours: Profile, baseline: Profile) -> bool:
    """Return whether both places are known, or have to be taken, to be the same machine."""
    return relation(ours, baseline).startswith("same")


def tool_of(step: Step) -> str:
    """Return the tool that a step runs, or its suite where this program no longer has it."""
    try:
        return step.suite.tool
    except UnknownSuiteError:
        return step.suite_id


def _suite(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    one, other = ({step.suite_id for step in side.steps} for side in (ours, baseline))
    if len(one | other) > 1:
        yield Difference("suite", _said(one), _said(other), Weight.FATAL, "Different tests give different figures.")


def _parameters(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for name, mine, its in _apart(ours, baseline, identity=True):
        what = f"engine: {name}" if name in _ENGINES else name
        yield Difference(what, mine, its, Weight.FATAL, "It decides what is measured.")
    for name, mine, its in _apart(ours, baseline, identity=False):
        yield Difference(name, mine, its, Weight.HARMLESS, "It does not decide what is measured.")


def _apart(ours: Profile, baseline: Profile, *, identity: bool) -> list[tuple[str, str, str]]:
    """Return the parameters that differ, with both sides in words.

    One that has an effect on one side only follows from another, and is left out beside it.
    """
    one, other = (_values(side, identity=identity) for side in (ours, baseline))
    names = dict.fromkeys([*other, *one])
    pairs = [(name, one.get(name, set()), other.get(name, set())) for name in names]
    found = [(name, mine, its) for name, mine, its in pairs if len(mine | its) > 1 or bool(mine) != bool(its)]
    both = [(name, mine, its) for name, mine, its in found if mine and its]
    return [(name, _said(mine), _said(its)) for name, mine, its in both or found]


def _values(side: Profile, *, identity: bool) -> dict[str, set[str]]:
    """Return the values of the parameters that decide what is measured, or of the others, as people write them."""
    found: dict[str, set[str]] = {}
    for step in side.steps:
        parameters = parameters_of(step)
        deciding = step.identity()
        others = {name for name, parameter in parameters.items() if not parameter.identity}
        values = deciding if identity else {name: step.values[name] for name in step.values if name in others}
        for name, value in values.items():
            written = parameters[name].format(value) if name in parameters else str(value)
            found.setdefault(name, set()).add(written)
    return found


def parameters_of(step: Step) -> dict[str, Parameter]:
    """Return the parameters of a step's suite by name; none where this program no longer has the suite."""
    try:
        return {parameter.name: parameter for parameter in step.suite.parameters}
    except UnknownSuiteError:
        return {}


def _version(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    tool = tool_of(baseline.steps[0])
    if not ours.versions or not baseline.versions:
        what = f"the version of {tool} is not known on both sides"
        yield Difference(what, "", "", Weight.EXPLAINS, "Versions of a tool may measure differently.")
    elif len(ours.versions | baseline.versions) > 1:
        one, other = ({version.removeprefix(f"{tool}-") for version in side.versions} for side in (ours, baseline))
        yield Difference(tool, _said(one), _said(other), Weight.FATAL, "Versions of a tool measure differently.")


def _peer(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    one, other = ({step.peer for step in side.steps} - {None} for side in (ours, baseline))
    if len(one | other) > 1:
        why = "A network figure belongs to both of its ends."
        yield Difference("other end", _said(map(str, one)), _said(map(str, other)), Weight.EXPLAINS, why)


def _placement(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    if set(ours.hosts) != set(baseline.hosts):
        why = "The ratio is between these machines; for their types, measure at least three of each."
        yield Difference("host", _hosts(ours), _hosts(baseline), Weight.EXPLAINS, why)
    yield from _fact(ours, baseline, "instance", _instance, "Two instances of one type differ as well.")
    yield from _fact(ours, baseline, "region", lambda facts: facts.cloud.region, "Regions differ in their hardware.")


def _machine(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for what, read in _MACHINE:
        yield from _fact(ours, baseline, what, read, "It may be the reason of a difference.")
    for what, read_storage in (("file system", _file_system), ("device", _device)):
        one, other = (
            {text for step in side.steps for facts in side.facts if (text := read_storage(step, facts))}
            for side in (ours, baseline)
        )
        if one and other and one != other:
            why = "A disk test measures what holds its files."
            yield Difference(what, _said(one), _said(other), Weight.EXPLAINS, why)


def _handling(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for what, read in _HANDLING:
        one, other = ({read(repetition) for repetition in side.repetitions} for side in (ours, baseline))
        if one and other and one != other:
            why = "Caches, credits and temperature have another start."
            yield Difference(what, _said(one), _said(other), Weight.EXPLAINS, why)
    if ours.programs and baseline.programs and ours.programs != baseline.programs:
        why = "The tools' own commands are the same."
        yield Difference("Benchwright", _said(ours.programs), _said(baseline.programs), Weight.HARMLESS, why)


def _fact(
    ours: Profile, baseline: Profile, what: str, read: Callable[[Facts], object], why: str
) -> Iterator[Difference]:
    """Yield that a fact differs. One that is not known on a side tells nothing."""
    one, other = (
        {str(value) for facts in side.facts if (value := known(read(facts))) is not None} for side in (ours, baseline)
    )
    if one and other and one != other:
        yield Difference(what, _said(one), _said(other), Weight.EXPLAINS, why)


def _instance(facts: Facts) -> str | Absent:
    return facts.cloud.instance_id


def _memory(facts: Facts) -> str | Absent:
    total = facts.memory.total
    return total if isinstance(total, Absent) else bytes_text(total)


_MACHINE: tuple[tuple[str, Callable[[Facts], object]], ...] = (
    ("instance type", lambda facts: facts.cloud.instance_type),
    ("CPU", lambda facts: facts.cpu.model),
    ("usable CPUs", lambda facts: facts.cpu.usable),
    ("CPU quota", lambda facts: facts.cpu.quota),
    ("governor", lambda facts: facts.cpu.governor),
    ("memory", _memory),
    ("kernel", lambda facts: facts.system.kernel),
    ("distribution", lambda facts: facts.system.distribution),
    ("virtualisation", lambda facts: facts.system.virtualisation),
)
"""Facts that may be the reason of a difference."""

OF_HOST = frozenset({"host", "instance", "region", "file system", "device", *(what for what, _ in _MACHINE)})
"""Differences that belong to a host; the others belong to a step."""

_HANDLING: tuple[tuple[str, Callable[[Repetition], str]], ...] = (
    ("pause between trials", lambda repetition: duration_text(repetition.pause)),
    ("warm-ups", lambda repetition: str(repetition.warm_ups)),
)
"""What of a plan's repetition changes the state in which a trial finds the host."""


def _file_system(step: Step, facts: Facts) -> str:
    """Return the type of the file system that holds the step's files, or an empty string."""
    directory = _directory_of(step, facts)
    return "" if directory is None else known(directory.kind) or ""


def _device(step: Step, facts: Facts) -> str:
    """Return the disk that holds the step's files: its model or name, its size and scheduler."""
    directory = _directory_of(step, facts)
    name = None if directory is None else known(directory.device)
    device = None if name is None else facts.block_device(name)
    if device is None:
        return name or ""
    size, rotational = known(device.size), known(device.rotational)
    scheduler = known(device.scheduler)
    parts = (
        known(device.model) or device.name,
        "" if size is None else bytes_text(size),
        "rotational" if rotational else "",
        "" if scheduler is None else f"scheduler {scheduler}",
    )
    return " ".join(part for part in parts if part)


def _directory_of(step: Step, facts: Facts) -> Directory | None:
    """Return what was found about the directory of the step's files; None for a step that writes none."""
    try:
        parameter = step.suite.directory_parameter
    except UnknownSuiteError:
        return None
    # A stored step may be older than its parameter.
    return facts.directory(work_directory(step.suite, step.values, facts)) if parameter in step.values else None


def _instances(side: Profile) -> set[str]:
    return {value for facts in side.facts if (value := known(facts.cloud.instance_id)) is not None}


def _hosts(side: Profile) -> str:
    return side.hosts[0] if len(side.hosts) == 1 else f"{len(side.hosts)} hosts"


def _said(values: Iterable[str]) -> str:
    return " and ".join(sorted(values))
