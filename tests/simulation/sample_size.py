"""What comparisons of proposed designs show, on simulated hosts, sessions and trials whose components are known."""

from dataclasses import dataclass

import numpy as np

from app.comparison.compare import compare
from app.comparison.power import NestedVariance, PlannedTest, SampleDesign
from app.comparison.variance import components_of
from app.comparison.verdicts import DIFFERENT, Level
from app.margins import Margins
from app.records import RunRecord
from app.sample_size.designs import DesignLimits, sufficient_designs
from tests.app.run_events import run_record
from tests.simulation.experiments import Share, generators, share
from tests.simulation.noise import Numbers


@dataclass(frozen=True, slots=True)
class Setting:
    """Coefficients of variation of hosts, sessions and trials, the difference to show, and the limits."""

    host: float
    session: float
    trial: float
    wanted: float = 0.05
    limits: DesignLimits = DesignLimits()
    paired: bool = False

    @property
    def noise(self) -> NestedVariance:
        """The variances of the logarithms."""
        trial, session, host = (float(np.log1p(cov**2)) for cov in (self.trial, self.session, self.host))
        return NestedVariance(trial, session, host)

    def cheapest(self, noise: NestedVariance | None = None) -> SampleDesign | None:
        """Return the proposed design with the fewest trials, by these variances or by `noise`."""
        found = sufficient_designs(noise or self.noise, self.wanted, self.limits, PlannedTest(paired=self.paired))
        return min(found, key=lambda one: (one.hosts * one.sessions * one.trials, one.sessions), default=None)


ONE_HOST = DesignLimits(hosts=1)
ONE_SESSION = DesignLimits(hosts=1, sessions=1)

SETTINGS = {
    "hosts, sessions and trials": Setting(0.03, 0.02, 0.02),
    "hosts that dominate": Setting(0.05, 0.01, 0.01, 0.08),
    "hosts of little variation": Setting(0.005, 0.03, 0.03),
    "sessions on one host": Setting(0.0, 0.03, 0.02, limits=ONE_HOST),
    "trials of one session": Setting(0.0, 0.0, 0.04, limits=ONE_SESSION),
    "pairs of hosts": Setting(0.08, 0.02, 0.02, 0.03, paired=True),
}

FROM_PILOTS = Setting(0.05, 0.01, 0.01, 0.08, DesignLimits(hosts=80, sessions=2))
"""A setting whose designs may become large, as those of pilots that overestimate are."""


def trials_of(rng: np.random.Generator, noise: NestedVariance, design: SampleDesign, levels: Numbers) -> Numbers:
    """Return the trials of hosts of the given levels (logarithms), by host, session and trial."""
    session, trial = ((variance or 0.0) ** 0.5 for variance in (noise.session, noise.trial))
    shape = (design.hosts, design.sessions, design.trials)
    sessions = session * rng.normal(size=(*shape[:2], 1))
    return np.asarray(1000 * np.exp(levels[:, None, None] + sessions + trial * rng.normal(size=shape)))


def runs_of(values: Numbers, prefix: str, hosts: str) -> list[RunRecord]:
    """Return simulated trials as stored runs, one for each session of each host."""
    return [
        run_record(f"{prefix}{host}-{session}", list(map(float, trials)), host=f"{hosts}{host}")
        for host, sessions in enumerate(values)
        for session, trials in enumerate(sessions)
    ]


def _shows(rng: np.random.Generator, setting: Setting, design: SampleDesign, difference: float) -> bool:
    """Return whether compare() claims the difference in its direction, without a margin."""
    noise, spread = setting.noise, float(np.sqrt(setting.noise.host or 0.0))
    levels = spread * rng.normal(size=design.hosts)
    others = levels if setting.paired or design.level is not Level.HOST else spread * rng.normal(size=design.hosts)
    before, after = trials_of(rng, noise, design, levels), trials_of(rng, noise, design, others) * (1 + difference)
    same = setting.paired or design.level is not Level.HOST
    sides = runs_of(before, "a", "web-"), runs_of(after, "b", "web-" if same else "db-")
    found = next(row.against[0] for row in compare(sides, Margins(0.0)).rows if row.against[0].level is design.level)
    return found.verdict in DIFFERENT and (found.ratio or 0.0) > 1


def power(setting: Setting, tries: int, seed: int = 51) -> Share:
    """Return how often compare() shows the wanted difference with the proposed design."""
    design = setting.cheapest()
    assert design is not None
    return share(_shows(rng, setting, design, setting.wanted) for rng in generators(tries, seed))


def power_of_pilots(
    setting: Setting, pilot: SampleDesign, tries: int, *, cautious: bool = False, seed: int = 52
) -> Share:
    """Return the same with designs from simulated pilots; `cautious` takes the upper limits of their components.

    A pilot without a design within the limits shows nothing: it says so.
    """

    def answer(rng: np.random.Generator) -> bool:
        levels = float(np.sqrt(setting.noise.host or 0.0)) * rng.normal(size=pilot.hosts)
        found = components_of([trials_of(rng, setting.noise, pilot, levels).tolist()])
        values = [one.upper if cautious else one.variance for one in found]
        design = setting.cheapest(NestedVariance(values[0] or 0.0, *values[1:]))
        return design is not None and _shows(rng, setting, design, setting.wanted)

    return share(map(answer, generators(tries, seed)))
