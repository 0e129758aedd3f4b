"""Energy of trials from the host's counters (RAPL) and power meter, without figures that contradict each other."""

import itertools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from app.checks.evidence import COVERED, MEASURING_ERROR
from remote.telemetry.telemetry_rates import MOST_WATTS
from suites.checks import CheckOutcome, after_check
from suites.evidence import HostWatch, OutcomeCheck, StepOutcomeEvidence
from suites.quantities import duration_text, figure_text
from suites.units import Unit, convert, same_dimension
from suites.vocab import Figure, Labels, Metric, MetricKind, Severity

POWER = "power"

OPTIONAL = frozenset({"uncore"})
"""Domains that may use no energy: a graphics unit that is off."""

SERVER = "server"
"""Domain of a power meter of the whole host: what its power supplies draw. It is not added to others."""

NO_READING = 65_535.0
"""Watts of a meter with all bits of the 16-bit field set (DCMI 1.5, Get Power Reading), or of a wider one."""

MOVED = 0.1
"""Least change of the packages, as a share of a meter's reading, which the meter must show."""

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
            doubt = _alone(name, watts, watch.covered(POWER, **names)) or (_meter(watch, at) if name == SERVER else "")
            found.append(EnergyDomain(names.get("zone", ""), name, watts, doubt))
    doubts = dict(itertools.chain(_parts(found), _whole(found)))
    return [EnergyDomain(one.zone, one.name, one.watts, one.doubt or doubts.get(one.zone, "")) for one in found]


def _alone(name: str, watts: float, covered: float) -> str:
    """Return why the figure of one domain is not believable."""
    if covered < COVERED:
        return f"read in {covered:.0%} of the measured time"
    if watts == 0 and name not in OPTIONAL:
        return "0 J: the counter does not count"
    if watts > MOST_WATTS and name not in {"psys", SERVER}:
        return f"{watts_text(watts)} is more than {watts_text(MOST_WATTS)}"
    return ""


def _meter(watch: HostWatch, at: Labels) -> str:
    """Return why the readings of a power meter are not believable."""
    averaged = int(dict(at).get("averaged_ms", "0")) / 1000
    if averaged / 2 > (1 - COVERED) * watch.seconds:  # half of the first average is from before
        return f"averaged over {duration_text(averaged)}, too long for {duration_text(watch.seconds)}"
    for _, value in watch.points_at(POWER, at):
        if not 0 < value < NO_READING:
            return f"a reading of {watts_text(value)}"
    points = watch.series[POWER, at]
    packages = [dict(other) for other in watch.labels_of(POWER) if dict(other).get("domain", "").startswith("package")]
    if len(points) > 3 and len({value for _, value in points}) == 1:
        spans = [replace(watch, start=start, end=end) for (start, _), (end, _) in itertools.pairwise(points[:-1])]
        means = [[span.mean(POWER, **each) for each in packages] for span in spans]
        used = [sum(filter(None, each)) for each in means if each and None not in each]
        if used and max(used) - min(used) > MOVED * points[0][1]:
            ends = f"{watts_text(min(used))} to {watts_text(max(used))}"
            return f"always {watts_text(points[0][1])}, while the packages use {ends}"
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


def _whole(found: Sequence[EnergyDomain]) -> Iterator[tuple[str, str]]:
    """Yield by zone the platforms and servers that use less than their packages, or more than is possible."""
    packages = [one for one in found if one.name.startswith("package")]
    used = sum(one.watts for one in packages if not one.doubt)
    for one in found:
        if one.name in {"psys", SERVER} and used > one.watts * (1 + MEASURING_ERROR):
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


WORK = {"operation": (Unit.PER_SECOND, 1.0), "GB": (Unit.BYTES_PER_SECOND, 1e9)}
"""What joules are counted for: the unit of the rate, and how many of it."""


@dataclass(frozen=True, slots=True)
class EnergyUse:
    """The energy of the trials of a step on a host that `domains` used together; `watts` and `seconds` by trial id.

    `headline` has the mean over the trials; None if it is no rate.
    """

    domains: tuple[EnergyDomain, ...]
    watts: Mapping[int, float]
    seconds: Mapping[int, float]
    headline: Figure | None

    @property
    def text(self) -> str:
        """Joules a trial, watts, and joules of an operation or a gigabyte with the rate per watt."""
        used = [watts * self.seconds[trial] for trial, watts in self.watts.items()]
        low, high = _joules(min(used)), _joules(max(used))
        several = "" if len(used) < 2 else " a trial" if low == high else f" a trial ({low} to {high})"
        seconds, watts = statistics.fmean(self.seconds.values()), statistics.fmean(self.watts.values())
        server = self.domains[0].name == SERVER
        parts = "" if server else f" ({', '.join(one.text for one in self.domains)})"
        whole = f"{_joules(statistics.fmean(used))}{several} in {duration_text(seconds)}, {watts_text(watts)}{parts}"
        whole = f"Server: {whole}" if server else whole
        work = None if self.headline is None else _work(self.headline, watts)
        if self.headline is None or work is None:
            return f"{whole}."
        per_watt = figure_text(self.headline.metric, self.headline.value / watts)
        return f"{whole}: {_joules(work[1])} per {work[0]}, {per_watt} per W."

    def columns(
        self, metric: Metric, labels: Labels, trial: int | None = None, value: float = 0.0
    ) -> dict[str, str | float]:
        """Return the columns beside the headline: over all trials, or at its `value` in a `trial`; else none."""
        head = self.headline
        if head is None or (head.metric.name, head.labels) != (metric.name, labels):
            return {}
        watts = statistics.fmean(self.watts.values()) if trial is None else self.watts.get(trial, 0.0)
        work = _work(head if trial is None else Figure(metric, value, labels), watts)
        names = " ".join(one.name for one in self.domains)
        return {} if work is None else {"power_of": names, "watts": watts, f"joules_per_{work[0].lower()}": work[1]}


def _work(figure: Figure, watts: float) -> tuple[str, float] | None:
    """Return the joules of an operation or a gigabyte at this rate and power."""
    for name, (unit, each) in WORK.items():
        if figure.value > 0 and watts > 0 and same_dimension(figure.metric.unit, unit):
            return name, watts * each / convert(figure.value, figure.metric.unit, unit)
    return None


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


def energy_of(step: StepOutcomeEvidence) -> tuple[list[EnergyUse], list[EnergyDomain]]:
    """Return what the counted domains used together and what each meter of the whole host did, and all domains.

    Nothing for a duet: both sides use the energy.
    """
    if any(trial.uncounted for trial in step.trials):
        return [], []
    watched = {trial.id: trial.watch for trial in step.done if trial.watch is not None and trial.watch.seconds}
    found, head = _of_trials(list(watched.values())), step.headline
    if head is not None and head.metric.kind is MetricKind.RATE:
        head = replace(head, value=statistics.fmean(step.over_trials(head.metric.name, head.labels)))
    else:
        head = None
    uses = []
    for domains in (counted_domains(found), *([one] for one in found if one.name == SERVER and not one.doubt)):
        zones = {one.zone for one in domains}
        watts = {
            trial: sum(one.watts for one in domains_of(watch) if one.zone in zones) for trial, watch in watched.items()
        }
        if domains:
            uses.append(EnergyUse(tuple(domains), watts, {trial: one.seconds for trial, one in watched.items()}, head))
    return uses, found


def _energy(step: StepOutcomeEvidence) -> CheckOutcome | None:
    uses, found = energy_of(step)
    sentences = [one.text for one in uses]
    for doubt in dict.fromkeys(one.doubt for one in found if one.doubt):
        names = ", ".join(one.name for one in found if one.doubt == doubt)
        sentences.append(f"Not believable: {names} ({doubt}).")
    return CheckOutcome(" ".join(sentences)) if sentences else None


ENERGY: OutcomeCheck = after_check(
    id="energy",
    severity=Severity.INFO,
    title="Energy",
    why=(
        "It is that of the CPU packages with DRAM, or of the platform (psys): not of all disks, fans and power supply. "
        "A meter of the whole server is shown beside it, not added."
    ),
    remedy="Compare it between runs of the same host.",
    source="RAPL (kernel, power/powercap), acpi_power_meter (hwmon); checked against each other and the TDP.",
    evaluate=_energy,
    needs="energy counters in /sys/class/powercap, which root can read (CVE-2020-8694), or a power meter in hwmon",
)
