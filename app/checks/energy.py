"""Energy of trials from the host's counters (RAPL), without domains whose figures contradict each other."""

import itertools
import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from app.checks.evidence import MEASURING_ERROR
from remote.telemetry.telemetry_rates import MOST_WATTS
from suites.checks import CheckOutcome, after_check
from suites.evidence import HostWatch, OutcomeCheck, StepOutcomeEvidence
from suites.quantities import duration_text, figure_text
from suites.units import Unit, convert, same_dimension
from suites.vocab import MetricKind, Severity

POWER = "power"

COVERED = 0.9
"""Least share of the measured time that the readings of a domain must cover."""

OPTIONAL = frozenset({"uncore"})
"""Domains that may use no energy: a graphics unit that is off."""

IN_PACKAGE = frozenset({"core", "uncore"})
"""Domains within a package; DRAM is a plane of its own (Intel SDM, volume 3B, RAPL)."""


@dataclass(frozen=True, slots=True)
class EnergyDomain:
    """The mean power of one counter over the measured time; `doubt` is why it is not believable, empty if it is.

    `zone` is the kernel's, whose parts have its name and a number: intel-rapl:0 and intel-rapl:0:1.
    """

    zone: str
    name: str
    watts: float
    doubt: str = ""

    @property
    def text(self) -> str:
        """The name and power: ``package-0 14.2 W``."""
        return f"{self.name} {watts_text(self.watts)}"


def watts_text(watts: float) -> str:
    """Return power with three digits: ``14.2 W``."""
    return f"{watts:.3g} W" if watts < 1000 else f"{watts:.0f} W"


def domains_of(watch: HostWatch) -> list[EnergyDomain]:
    """Return the energy domains of a host during a trial, those that are not believable with the reason."""
    found = []
    for at in watch.labels_of(POWER):
        names = dict(at)
        watts, name = watch.mean(POWER, **names), names.get("domain", "")
        if watts is not None:
            covered = len(watch.points_at(POWER, at)) * watch.interval / watch.seconds if watch.seconds else 0.0
            found.append(EnergyDomain(names.get("zone", ""), name, watts, _alone(name, watts, covered)))
    doubts = dict(itertools.chain(_parts(found), _platform(found)))
    return [EnergyDomain(one.zone, one.name, one.watts, one.doubt or doubts.get(one.zone, "")) for one in found]


def _alone(name: str, watts: float, covered: float) -> str:
    """Return why the figure of one domain is not believable."""
    if covered < COVERED:
        return f"read in {covered:.0%} of the measured time"
    if watts == 0 and name not in OPTIONAL:
        return "0 J: the counter does not count"
    if watts > MOST_WATTS and name != "psys":
        return f"{watts_text(watts)} is more than {watts_text(MOST_WATTS)}"
    return ""


def _parts(found: Sequence[EnergyDomain]) -> Iterator[tuple[str, str]]:
    """Yield by zone the packages and their parts where the parts use more than the package."""
    for whole in found:
        parts = [one for one in found if one.zone.startswith(f"{whole.zone}:") and one.name in IN_PACKAGE]
        used = sum(one.watts for one in parts if not one.doubt)
        if not whole.doubt and used > whole.watts * (1 + MEASURING_ERROR):
            names = " + ".join(one.name for one in parts)
            for one in (whole, *parts):
                yield one.zone, f"{names} {watts_text(used)}, more than the {watts_text(whole.watts)} of {whole.name}"


def _platform(found: Sequence[EnergyDomain]) -> Iterator[tuple[str, str]]:
    """Yield by zone the platforms that use less than their packages, or more than is possible."""
    packages = [one for one in found if one.name.startswith("package")]
    used = sum(one.watts for one in packages if not one.doubt)
    for one in found:
        if one.name == "psys" and used > one.watts * (1 + MEASURING_ERROR):
            yield one.zone, f"{watts_text(one.watts)}, less than the {watts_text(used)} of the packages"
        elif one.name == "psys" and one.watts > MOST_WATTS * max(1, len(packages)):
            yield one.zone, f"{watts_text(one.watts)} is more than {watts_text(MOST_WATTS)} for each package"


def counted_domains(found: Sequence[EnergyDomain]) -> list[EnergyDomain]:
    """Return the domains whose sum is the energy: the platform, else all packages with their DRAM.

    None at all if one of the packages is not believable: a part of the packages is no total.
    """
    platform = [one for one in found if one.name == "psys" and not one.doubt]
    if platform:
        return platform[:1]
    packages = [one for one in found if one.name.startswith("package")]
    if any(one.doubt for one in packages):
        return []
    return [*packages, *(one for one in found if one.name == "dram" and not one.doubt)] if packages else []


def _work(step: StepOutcomeEvidence, watts: float) -> str:
    """Return the joules of an operation or a gigabyte, and the rate per watt; empty if the headline is no rate."""
    headline = step.headline
    if headline is None or headline.metric.kind is not MetricKind.RATE or watts <= 0:
        return ""
    metric = headline.metric
    rate = statistics.fmean(step.over_trials(metric.name, headline.labels))
    per_watt = f"{figure_text(metric, rate / watts)} per W"
    for unit, each, name in ((Unit.PER_SECOND, 1.0, "operation"), (Unit.BYTES_PER_SECOND, 1e9, "GB")):
        if rate > 0 and same_dimension(metric.unit, unit):
            return f"{_joules(watts * each / convert(rate, metric.unit, unit))} per {name}, {per_watt}"
    return ""


def _joules(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f} J"
    divisor, unit = next((one for one in ((1.0, "J"), (1e-3, "mJ")) if value >= one[0]), (1e-6, "µJ"))
    return f"{value / divisor:.3g} {unit}"


def _of_trials(watches: Sequence[HostWatch]) -> list[EnergyDomain]:
    """Return the domains with their mean power over trials; one that is doubtful in any of them is doubtful."""
    found: dict[str, list[EnergyDomain]] = {}
    for watch in watches:
        for one in domains_of(watch):
            found.setdefault(one.zone, []).append(one)
    return [
        EnergyDomain(
            zone,
            own[0].name,
            statistics.fmean(one.watts for one in own),
            next((one.doubt for one in own if one.doubt), "" if len(own) == len(watches) else "not read in all trials"),
        )
        for zone, own in found.items()
    ]


def _energy(step: StepOutcomeEvidence) -> CheckOutcome | None:
    if any(trial.uncounted for trial in step.trials):
        return None  # a duet: both sides use the energy
    watched = [(trial, trial.watch) for trial in step.done if trial.watch is not None and trial.watch.seconds]
    found = _of_trials([watch for _, watch in watched])
    if not found:
        return None
    counted, sentences = counted_domains(found), []
    if counted:
        zones = {one.zone for one in counted}
        watts = [sum(one.watts for one in domains_of(watch) if one.zone in zones) for _, watch in watched]
        used = [each * watch.seconds for each, (_, watch) in zip(watts, watched, strict=True)]
        several = f" a trial ({_joules(min(used))} to {_joules(max(used))})" if len(used) > 1 else ""
        parts = ", ".join(one.text for one in counted)
        work = _work(step, statistics.fmean(watts))
        seconds = duration_text(statistics.fmean(watch.seconds for _, watch in watched))
        sentences.append(
            f"{_joules(statistics.fmean(used))}{several} in {seconds}, {watts_text(statistics.fmean(watts))} ({parts})"
            f"{': ' if work else ''}{work}."
        )
    doubts = dict.fromkeys(one.doubt for one in found if one.doubt)
    for doubt in doubts:
        names = ", ".join(one.name for one in found if one.doubt == doubt)
        sentences.append(f"Not believable: {names} ({doubt}).")
    return CheckOutcome(" ".join(sentences))


ENERGY: OutcomeCheck = after_check(
    id="energy",
    severity=Severity.INFO,
    title="Energy",
    why="It is that of the CPU packages with DRAM, or of the platform (psys): not of all disks, fans and power supply.",
    remedy="Compare it between runs of the same host.",
    source="RAPL (kernel, power/powercap); the domains are checked against each other and the TDP.",
    evaluate=_energy,
    needs="energy counters in /sys/class/powercap, which root can read (CVE-2020-8694)",
)
