"""Comparability of two cells: list their differences, each fatal, explaining or harmless."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from enum import StrEnum

from app.comparison.estimates import FEWEST_HOSTS
from app.json_converter import publish
from app.natural_order import natural_key
from app.plans.context import work_directory
from app.plans.plan import Repetition, Step, token_of
from suites.errors import UnknownSuiteError
from suites.facts import Absent, Directory, Facts, known
from suites.parameters import Parameter
from suites.quantities import count_text, duration_text, quantity

_FEW_HOSTS = f"The ratio is of these machines. To compare types, measure at least {FEWEST_HOSTS} of each."

_ENGINES = frozenset({"ioengine", "engine"})
"""Parameters that choose a tool's I/O engine; differences in them are labelled as such."""


class Weight(StrEnum):
    """The effect of a difference on comparability.

    FATAL: the figures measure different things. EXPLAINS: they measure the same thing in another environment, which
    may explain a difference. HARMLESS: no effect on the figures.
    """

    FATAL = "fatal"
    EXPLAINS = "explains it"
    HARMLESS = "harmless"


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference: its name, the formatted value of both sides, its weight and the reason.

    `token` is the tool's own word for a parameter, as the library shows it.
    """

    what: str
    ours: str
    baseline: str
    weight: Weight
    why: str = ""
    token: str = ""

    @property
    def label(self) -> str:
        """The name to show."""
        return self.token or self.what

    @property
    def text(self) -> str:
        """The difference as one line, this side first."""
        if not self.ours and not self.baseline:
            return self.label
        if self.ours == self.baseline:
            return f"{self.label} {self.ours} on both sides"
        return f"{self.label} {self.ours or 'not set'} against {self.baseline or 'not set'}"


@dataclass(frozen=True, slots=True)
class Profile:
    """The properties of a cell (a step on hosts) that decide comparability.

    `versions` are the tool's versions, empty if any of them is unknown. `invalid` is the verdict on an invalid cell.
    """

    steps: tuple[Step, ...]
    hosts: tuple[str, ...]
    versions: frozenset[str] = frozenset()
    facts: tuple[Facts, ...] = ()
    repetitions: tuple[Repetition, ...] = ()
    programs: frozenset[str] = frozenset()
    invalid: str = ""


publish(Difference, "what run=ours baseline weight")


def differences(ours: Profile, baseline: Profile) -> tuple[Difference, ...]:
    """Return the differences of two cells, fatal ones first."""
    suite = list(_suite(ours, baseline))
    found = [
        *_validity(ours, baseline),
        *_duet(ours, baseline),
        # Parameters and versions of different suites cannot be compared.
        *(suite or (*_parameters(ours, baseline), *_version(ours, baseline))),
        *_peer(ours, baseline),
        *_placement(ours, baseline),
        *_machine(ours, baseline),
        *_handling(ours, baseline),
    ]
    order = tuple(Weight)
    return tuple(sorted(found, key=lambda difference: order.index(difference.weight)))


def relation(ours: Profile, baseline: Profile) -> str:
    """Return whether both cells ran on one machine, as text: ``same instance``, ``other host``."""
    which = "same" if same_machine(ours, baseline) else "other"
    if len(ours.hosts) > 1 or len(baseline.hosts) > 1:
        count = len(ours.hosts)
        others = count_text(len(baseline.hosts), "host")
        return f"same {count} hosts" if which == "same" else f"{count} against {others}"
    return f"{which} {'instance' if _instances(ours) and _instances(baseline) else 'host'}"


def same_machine(ours: Profile, baseline: Profile) -> bool:
    """Return whether both cells ran on the same machines: same instance id, else same host names or boot id."""
    one, other = _instances(ours), _instances(baseline)
    if len(ours.hosts) == len(baseline.hosts) == 1 and one and other:
        return one == other and len(one) == 1
    return set(ours.hosts) == set(baseline.hosts) or _one_boot(ours, baseline)


def _one_boot(ours: Profile, baseline: Profile) -> bool:
    """Return whether both cells ran on one kernel: each boot has an id of its own."""
    one, other = (
        {value for facts in side.facts if (value := known(facts.system.boot_id)) is not None}
        for side in (ours, baseline)
    )
    return len(ours.hosts) == len(baseline.hosts) == len(one) == 1 and one == other


def tool_of(step: Step) -> str:
    """Return the tool that a step runs, or its suite id if this version does not have the suite."""
    try:
        return step.suite.tool
    except UnknownSuiteError:
        return step.suite_id


def _validity(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for side, name in ((ours, "this run"), (baseline, "the baseline")):
        if side.invalid:
            what = f"{name} is {side.invalid}"
            yield Difference(what, "", "", Weight.FATAL, "An invalid figure is not what its name says.")


def _duet(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    """Yield that a side was measured beside another step, and the other alone or beside a different one."""
    one, other = ({step.partner for step in side.steps} for side in (ours, baseline))
    if one == other or _is_one_duet(ours, baseline):
        return
    mine, its = ("duet" if any(partners) else "no duet" for partners in (one, other))
    why = "Both sides of a duet share caches, memory bandwidth and devices: its figures are of that load."
    yield Difference("design", mine, "another duet" if mine == its else its, Weight.FATAL, why)


def _is_one_duet(ours: Profile, baseline: Profile) -> bool:
    """Return whether both cells are the sides of one duet, as partners of each other."""
    duets = {step.duet for side in (ours, baseline) for step in side.steps}
    return len(duets) == 1 and all(duets)


def _suite(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    one, other = ({step.suite_id for step in side.steps} for side in (ours, baseline))
    if len(one | other) > 1:
        yield Difference(
            "suite", _joined(one), _joined(other), Weight.FATAL, "Different suites measure different things."
        )


def _parameters(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    partners = _is_one_duet(ours, baseline)
    for name, mine, its in _differing(ours, baseline, identity=True):
        what, token = name, _token(ours, baseline, name)
        if name in _ENGINES:
            what, token = f"engine: {name}", f"engine: {token}"
        if partners:
            yield Difference(what, mine, its, Weight.EXPLAINS, "The duet compares it.", token)
        else:
            yield Difference(what, mine, its, Weight.FATAL, "It decides what is measured.", token)
    for name, mine, its in _differing(ours, baseline, identity=False):
        why = "It does not decide what is measured."
        yield Difference(name, mine, its, Weight.HARMLESS, why, _token(ours, baseline, name))


def _token(ours: Profile, baseline: Profile, name: str) -> str:
    """Return the tool's own word for a parameter, as the library shows it."""
    known = (parameters_of(step).get(name) for side in (baseline, ours) for step in side.steps)
    return token_of(name, next(filter(None, known), None))


def _differing(ours: Profile, baseline: Profile, *, identity: bool) -> list[tuple[str, str, str]]:
    """Return the parameters that differ, with the formatted values of both sides.

    Omit parameters used on one side only if others differ on both sides: they follow from those.
    """
    one, other = (_values(side, identity=identity) for side in (ours, baseline))
    names = dict.fromkeys([*other, *one])
    pairs = [(name, one.get(name, set()), other.get(name, set())) for name in names]
    found = [(name, mine, its) for name, mine, its in pairs if len(mine | its) > 1 or bool(mine) != bool(its)]
    both = [(name, mine, its) for name, mine, its in found if mine and its]
    return [(name, _joined(mine), _joined(its)) for name, mine, its in both or found]


def _values(side: Profile, *, identity: bool) -> dict[str, set[str]]:
    """Return the formatted values of the identity parameters, or of the others."""
    found: dict[str, set[str]] = {}
    for step in side.steps:
        parameters = parameters_of(step)
        deciding = step.identity()
        others = {name for name, parameter in parameters.items() if not parameter.identity}
        of_hosts = [deciding] if identity else [step.on(host).values for host in side.hosts]
        for name, value in (pair for values in of_hosts for pair in values.items() if identity or pair[0] in others):
            written = parameters[name].format(value) if name in parameters else str(value)
            found.setdefault(name, set()).add(written)
    return found


def parameters_of(step: Step) -> dict[str, Parameter]:
    """Return the parameters of a step's suite by name; empty if this version does not have the suite."""
    try:
        return {parameter.name: parameter for parameter in step.suite.parameters}
    except UnknownSuiteError:
        return {}


def _version(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    tool = tool_of(baseline.steps[0])
    if not ours.versions or not baseline.versions:
        what = f"{tool} version unknown on a side"
        yield Difference(what, "", "", Weight.EXPLAINS, "Tool versions may measure differently.")
    elif len(ours.versions | baseline.versions) > 1:
        one, other = ({version.removeprefix(f"{tool}-") for version in side.versions} for side in (ours, baseline))
        yield Difference(tool, _joined(one), _joined(other), Weight.FATAL, "Tool versions measure differently.")


def _peer(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    one, other = ({step.peer for step in side.steps} - {None} for side in (ours, baseline))
    if len(one | other) > 1:
        why = "A network result depends on both ends."
        yield Difference("other end", _joined(map(str, one)), _joined(map(str, other)), Weight.EXPLAINS, why)


def _placement(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    if set(ours.hosts) != set(baseline.hosts) and _one_boot(ours, baseline):
        why = "Both report the same boot id: they are names of one machine, or containers on it."
        yield Difference("host name", _hosts(ours), _hosts(baseline), Weight.EXPLAINS, why)
    elif set(ours.hosts) != set(baseline.hosts):
        few = min(len(ours.hosts), len(baseline.hosts)) < FEWEST_HOSTS
        why = _FEW_HOSTS if few else "The interval is that of the means of hosts."
        yield Difference("host", _hosts(ours), _hosts(baseline), Weight.EXPLAINS, why)
    one, other = (_joined(_one_machine(side)) for side in (ours, baseline))
    if one or other:
        why = "Hosts with the same boot id are one machine, counted as several."
        yield Difference("one machine", one or "none", other or "none", Weight.EXPLAINS, why)
    yield from _fact(ours, baseline, "instance", _instance, "Instances of one type differ too.")
    yield from _fact(ours, baseline, "region", lambda facts: facts.cloud.region, "Hardware differs between regions.")


def _one_machine(side: Profile) -> Iterator[str]:
    """Yield the names of hosts of one cell that report the same boot id."""
    names: dict[str, set[str]] = {}
    for facts in side.facts:
        boot = known(facts.system.boot_id)
        if boot is not None and facts.host in side.hosts:
            names.setdefault(boot, set()).add(facts.host)
    yield from (" = ".join(sorted(hosts, key=natural_key)) for hosts in names.values() if len(hosts) > 1)


def _machine(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for what, read in _MACHINE:
        yield from _fact(ours, baseline, what, read, "")
    yield from _mitigations(ours, baseline)
    for what, read_storage in _STORAGE:
        one, other = (
            {text for step in side.steps for facts in side.facts if (text := read_storage(step, facts))}
            for side in (ours, baseline)
        )
        if one and other and one != other:
            why = "A disk test measures its file system and device."
            yield Difference(what, _joined(one), _joined(other), Weight.EXPLAINS, why)


def _mitigations(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    """Yield the vulnerabilities whose mitigation differs, if they are known of every host."""
    read = [[known(facts.cpu.mitigations) for facts in side.facts] for side in (ours, baseline)]
    one, other = ({line for lines in side for line in lines or ()} for side in read)
    if one != other and all(side and None not in side for side in read):
        why = "Mitigations slow system calls, context switches and interrupts."
        yield Difference("mitigations", _joined(one - other), _joined(other - one), Weight.EXPLAINS, why)


def _handling(ours: Profile, baseline: Profile) -> Iterator[Difference]:
    for what, read in _HANDLING:
        one, other = ({read(repetition) for repetition in side.repetitions} for side in (ours, baseline))
        if one and other and one != other:
            why = "Caches, CPU credits and temperature start differently."
            yield Difference(what, _joined(one), _joined(other), Weight.EXPLAINS, why)
    if ours.programs and baseline.programs and ours.programs != baseline.programs:
        why = "The commands of the tools are the same."
        yield Difference("Benchwright", _joined(ours.programs), _joined(baseline.programs), Weight.HARMLESS, why)


def _fact(
    ours: Profile, baseline: Profile, what: str, read: Callable[[Facts], object], why: str
) -> Iterator[Difference]:
    """Yield a difference of a fact that is known on both sides."""
    one, other = (
        {str(value) for facts in side.facts if (value := known(read(facts))) is not None} for side in (ours, baseline)
    )
    if one and other and one != other:
        yield Difference(what, _joined(one), _joined(other), Weight.EXPLAINS, why)


def _instance(facts: Facts) -> str | Absent:
    return facts.cloud.instance_id


def _memory(facts: Facts) -> str | Absent:
    total = facts.memory.total
    return total if isinstance(total, Absent) else quantity(total)


_MACHINE: tuple[tuple[str, Callable[[Facts], object]], ...] = (
    ("instance type", lambda facts: facts.cloud.instance_type),
    ("CPU", lambda facts: facts.cpu.model),
    ("usable CPUs", lambda facts: facts.cpu.usable),
    ("CPU quota", lambda facts: facts.cpu.quota),
    ("microcode", lambda facts: facts.cpu.microcode),
    ("emulated CPU", lambda facts: facts.cpu.emulated),
    ("governor", lambda facts: facts.cpu.governor),
    ("transparent huge pages", lambda facts: facts.memory.transparent_huge_pages),
    ("memory", _memory),
    ("kernel", lambda facts: facts.system.kernel),
    ("distribution", lambda facts: facts.system.distribution),
    ("virtualisation", lambda facts: facts.system.virtualisation),
)
"""Facts that may cause a difference of the results."""

PLACES = frozenset({"host", "host name", "one machine"})
"""Names of the differences of where cells ran; their reason is shown with them."""

_OTHERS = {"instance", "region", "mitigations", "file system", "device"}
OF_HOST = frozenset({*PLACES, *_OTHERS, *(what for what, _ in _MACHINE)})
"""Names of the differences of a host; all others are of a step."""

_HANDLING: tuple[tuple[str, Callable[[Repetition], str]], ...] = (
    ("pause between trials", lambda repetition: duration_text(repetition.pause)),
    ("warm-ups", lambda repetition: str(repetition.warm_ups)),
)
"""Parts of a plan's repetition that change the state of the host at the start of a trial."""


def _file_system(step: Step, facts: Facts) -> str:
    """Return the type of the file system of each of the step's directories, or an empty string."""
    return ", ".join(filter(None, (known(directory.kind) for directory in _directories_of(step, facts))))


def _device(step: Step, facts: Facts) -> str:
    """Return the block device of each of the step's directories: model or name, size and scheduler."""
    return ", ".join(filter(None, (_device_text(directory, facts) for directory in _directories_of(step, facts))))


def _device_text(directory: Directory, facts: Facts) -> str:
    name = known(directory.device)
    device = None if name is None else facts.block_device(name)
    if device is None:
        return name or ""
    size, rotational = known(device.size), known(device.rotational)
    scheduler = known(device.scheduler)
    parts = (
        known(device.model) or device.name,
        "" if size is None else quantity(size),
        "rotational" if rotational else "",
        "" if scheduler is None else f"scheduler {scheduler}",
    )
    return " ".join(part for part in parts if part)


_STORAGE: tuple[tuple[str, Callable[[Step, Facts], str]], ...] = (("file system", _file_system), ("device", _device))


def host_differences(steps: Iterable[Step], facts: Iterable[Facts]) -> Iterator[tuple[str, list[str]]]:
    """Yield what differs between hosts that run `steps`, with the known values: machine, tool versions and storage."""
    read = tuple(facts)
    for what, of_facts in _MACHINE:
        yield what, _distinct(str(value) for each in read if (value := known(of_facts(each))) is not None)
    for step in steps:
        versions = (known(each.tool(tool_of(step)).version) for each in read)
        yield tool_of(step), _distinct(version for version in versions if version)
        for what, of_step in _STORAGE:
            yield what, _distinct(text for each in read if (text := of_step(step, each)))


def _distinct(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))


def _directories_of(step: Step, facts: Facts) -> list[Directory]:
    """Return the facts of the step's directories; none for a step without one."""
    step = step.on(facts.host)
    try:
        suite = step.suite
    except UnknownSuiteError:
        return []
    if suite.directory_parameter not in step.values:  # a stored step can predate the parameter
        return []
    paths = (work_directory(suite, part, facts) for part in suite.volumes(step.whole_values()))
    return [found for path in paths if (found := facts.directory(path)) is not None]


def _instances(side: Profile) -> set[str]:
    return {value for facts in side.facts if (value := known(facts.cloud.instance_id)) is not None}


def _hosts(side: Profile) -> str:
    return side.hosts[0] if len(side.hosts) == 1 else f"{len(side.hosts)} hosts"


def _joined(values: Iterable[str]) -> str:
    return " and ".join(sorted(values, key=natural_key))
