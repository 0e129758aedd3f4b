"""Which step on which host of one run answers to which of another, and whether the two may be compared."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from app.events import State
from app.plan import Step
from app.records import RunRecord
from suites.errors import UnknownSuiteError
from suites.facts import known
from suites.parameters import Parameter, Value


@dataclass(frozen=True, slots=True)
class Place:
    """A step on a host, as one run has it."""

    step: Step = field(hash=False)  # its values are a mapping
    host: str


def places(record: RunRecord) -> list[Place]:
    """Return the places of a run in the order of its plan."""
    return [Place(step, host) for step in record.plan.steps for host in record.plan.hosts]


def paired(baseline: RunRecord, other: RunRecord) -> dict[Place, Place]:
    """Return the places of `other` by the baseline's they answer to.

    Steps answer to each other by suite and name, else by suite and fingerprint. Hosts by name; where one is left
    on each side, these two answer to each other.
    """
    steps = paired_steps(baseline.plan.steps, other.plan.steps)
    hosts = _paired_hosts(baseline.plan.hosts, other.plan.hosts)
    return {
        place: Place(steps[place.step.name], hosts[place.host])
        for place in places(baseline)
        if place.step.name in steps and place.host in hosts
    }


def paired_steps(baseline: Sequence[Step], other: Sequence[Step]) -> dict[str, Step]:
    """Return the steps of `other` by the names of the baseline's they answer to."""
    left = list(other)
    found: dict[str, Step] = {}
    for alike in (_same_name, _same_work):
        for step in baseline:
            match = None if step.name in found else next((each for each in left if alike(step, each)), None)
            if match is not None:
                found[step.name] = match
                left.remove(match)
    return found


def _same_name(one: Step, other: Step) -> bool:
    return (one.suite_id, one.name) == (other.suite_id, other.name)


def _same_work(one: Step, other: Step) -> bool:
    return one.suite_id == other.suite_id and one.fingerprint() == other.fingerprint()


def _paired_hosts(baseline: Sequence[str], other: Sequence[str]) -> dict[str, str]:
    found = {host: host for host in baseline if host in other}
    left = [host for host in baseline if host not in found], [host for host in other if host not in found]
    if len(left[0]) == len(left[1]) == 1:
        found[left[0][0]] = left[1][0]
    return found


def obstacles(baseline: RunRecord, ours: Place, other: RunRecord, theirs: Place) -> list[str]:
    """Return what makes two places measure different things: parameters and versions of the tool."""
    found = _differences(ours.step, theirs.step, identity=True)
    one, two = tool_versions(baseline, ours), tool_versions(other, theirs)
    if one and two and one != two:
        found.append(f"{_tool(ours.step)} {' and '.join(two)} against {' and '.join(one)}")
    return found


def remarks(baseline: RunRecord, ours: Place, other: RunRecord, theirs: Place) -> Iterator[str]:
    """Yield what differs between two places and does not forbid to compare them."""
    for difference in _differences(ours.step, theirs.step, identity=False):
        yield f"{ours.step.name}: {difference}"
    if theirs.step.peer != ours.step.peer:
        yield f"{ours.step.name}: the other end is {theirs.step.peer} against {ours.step.peer}"
    if not (tool_versions(baseline, ours) and tool_versions(other, theirs)):
        yield f"{ours.step.name}: the version of {_tool(ours.step)} is not known on both sides"
    if theirs.host != ours.host:
        yield (
            f"{theirs.host} against {ours.host}: the ratios are between these two machines. "
            "For their types, measure at least three of each."
        )
    for difference in _fact_differences(baseline, ours.host, other, theirs.host):
        yield f"{theirs.host}: {difference}"


def left_out(record: RunRecord) -> Iterator[str]:
    """Yield the trials of a run that do not count, with the reason. Warm-ups are not meant to."""
    for trial in record.trials:
        if trial.state is not State.DONE and not trial.trial.warm_up:
            where = f"trial {trial.trial.number} of {trial.trial.step} on {trial.trial.host}"
            yield f"{record.summary.id}: {where} is left out, {trial.state}: {trial.reason or 'no reason is known'}"


def tool_versions(record: RunRecord, place: Place) -> list[str]:
    """Return the versions of the tool in the trials that count, sorted; empty where one is not known."""
    versions = {trial.trial.tool_version for trial in record.trials_of(place.step.name, place.host)}
    return [] if None in versions else sorted(version for version in versions if version is not None)


def _differences(ours: Step, theirs: Step, *, identity: bool) -> list[str]:
    """Return the parameters that differ, of those that decide what is measured, or of the others."""
    parameters = _parameters(ours)
    one, two = (step.identity() if identity else _incidental(step) for step in (ours, theirs))
    return [
        f"{name} {_written(parameters, name, two)} against {_written(parameters, name, one)}"
        for name in dict.fromkeys([*one, *two])
        if one.get(name) != two.get(name)
    ]


def _incidental(step: Step) -> dict[str, Value]:
    names = {name for name, parameter in _parameters(step).items() if not parameter.identity}
    return {name: value for name, value in step.values.items() if name in names}


def _written(parameters: Mapping[str, Parameter], name: str, values: Mapping[str, Value]) -> str:
    if name not in values:
        return "not set"
    return parameters[name].format(values[name]) if name in parameters else str(values[name])


def _parameters(step: Step) -> dict[str, Parameter]:
    try:
        return {parameter.name: parameter for parameter in step.suite.parameters}
    except UnknownSuiteError:  # of an older run; its values then stand as they were stored
        return {}


def _tool(step: Step) -> str:
    try:
        return step.suite.tool
    except UnknownSuiteError:
        return step.suite_id


def _fact_differences(baseline: RunRecord, ours: str, other: RunRecord, theirs: str) -> Iterator[str]:
    one, two = baseline.facts_before.get(ours), other.facts_before.get(theirs)
    if one is None or two is None:
        return
    for name, mine, its in (
        ("instance type", one.cloud.instance_type, two.cloud.instance_type),
        ("CPU", one.cpu.model, two.cpu.model),
        ("kernel", one.system.kernel, two.system.kernel),
    ):
        if known(mine) is not None and known(its) is not None and mine != its:
            yield f"{name} {its} against {mine}"
