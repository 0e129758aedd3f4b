"""Statistics of a calibration: false alarms of the A/A test, its validity for a run, and the margin from it."""

import math
import statistics
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta

from app.comparison.estimates import CONFIDENCE, ERROR, FEWEST_TRIALS, welch
from app.numeric import Numbers, np, special
from app.records import Calibration, FalseAlarms, RunRecord
from suites.errors import BenchwrightError
from suites.facts import Absent, Facts, known

DEFAULT_MARGIN = 0.05
"""Equivalence margin without one from the user or a calibration of the host."""

SPLITS = 4000
"""Number of random splits: gives a rate of 5 % to ±0.7 %."""

POWER = 0.8
"""Power: the share of A/A splits in which equivalence within the margin must be shown (Cohen 1988)."""

LEAST_MARGIN = 0.01
"""Least margin of a host: memory layout alone, which does not vary within one calibration, changes figures by more
(Mytkowicz et al. 2009, “Producing wrong data without doing anything obviously wrong!”)."""

STEP = 0.001
"""Margins are rounded up to 0.1 %, their precision."""

UNWATCHED = "not watched"
"""The end of the name of the step that runs without telemetry."""

FOR_TRIALS = (6, 10, 20, 50)
"""Trials per side for which the least detectable difference is computed."""


def false_alarms(values: Sequence[float], splits: int = SPLITS) -> FalseAlarms:
    """Return the false alarm rates and margin of an A/A test with `values` in running order.

    Each split is evaluated like a comparison: Welch's interval on the logarithms wholly beyond the margin claims a
    difference; wholly within it, it shows equivalence.

    Raise BenchwrightError for fewer than FEWEST_TRIALS per side, or figures not above zero.
    """
    side = len(values) // 2
    if side < FEWEST_TRIALS:
        raise BenchwrightError(f"Too few trials for an A/A test: {len(values)}.", f"Run at least {2 * FEWEST_TRIALS}.")
    if min(values) <= 0:
        raise BenchwrightError("An A/A test needs figures above zero.", "Choose another suite.")
    logs = np.log(np.asarray(values[: 2 * side], dtype=float))
    drawn = np.random.default_rng(0).permuted(np.tile(logs, (splits, 1)), axis=1)
    # Cyclic shifts keep the order in time: their halves differ by drift, which random splits average out.
    turns = np.stack([np.roll(logs, -shift) for shift in range(side)])
    low, high = _intervals(drawn, side)
    claimed, shown = _claim_margins(low, high), np.maximum(high, -low)
    consecutive = _claim_margins(*_intervals(turns, side))
    edge = math.log1p(DEFAULT_MARGIN)
    quiet = max(_quantile(claimed, 1 - ERROR), _quantile(consecutive, 1 - ERROR))
    reach = _quantile(shown, POWER)
    return FalseAlarms(
        side,
        splits,
        float(np.mean(claimed > edge)),
        float(np.mean(claimed > 0)),
        float(np.mean(consecutive > edge)),
        math.expm1(quiet),
        math.expm1(reach),
        _rounded(max(math.expm1(quiet), math.expm1(reach), LEAST_MARGIN)),
    )


def _intervals(halves: Numbers, side: int) -> tuple[Numbers, Numbers]:
    """Return the bounds of Welch's interval of first half against second half, per row."""
    one, other = halves[:, :side], halves[:, side:]
    # Halves of equal values have no variance; 1e-30 avoids a division by zero.
    errors = [(np.maximum(half.var(axis=1, ddof=1) / side, 1e-30), side - 1) for half in (one, other)]
    low, high, _ = welch(one.mean(axis=1) - other.mean(axis=1), errors, CONFIDENCE)
    return low, high


def _claim_margins(low: Numbers, high: Numbers) -> Numbers:
    """Return per interval the margin (as a logarithm) below which it claims a difference; 0 for never."""
    return np.maximum(np.maximum(low, -high), 0.0)


def _quantile(values: Numbers, share: float) -> float:
    return float(np.quantile(values, share, method="higher"))


def _rounded(margin: float) -> float:
    return min(1.0, round(math.ceil(round(margin / STEP, 6)) * STEP, 6))


def log_spread(values: Sequence[float]) -> float:
    """Return the coefficient of variation of `values` from the variance of their logarithms: √(exp(s²) − 1).

    Raise StatisticsError for fewer than two values, ValueError for one not above zero.
    """
    return math.sqrt(math.expm1(statistics.variance([math.log(value) for value in values])))


def least_detectable(cov: float, trials: int) -> float:
    """Return the least difference, as a share, that `trials` per side detect with a power of 80 %.

    (t(0.975) + t(0.8)) · s · √(2 / n) on the logarithms, with 2n − 2 degrees of freedom (power of Student's t-test).
    """
    spread, freedom = math.sqrt(math.log1p(cov**2)), 2 * trials - 2
    quantiles = float(special.stdtrit(freedom, (1 + CONFIDENCE) / 2) + special.stdtrit(freedom, POWER))
    return math.expm1(min(quantiles * spread * math.sqrt(2 / trials), 50.0))


OLDEST = timedelta(days=90)
"""Age from which a calibration is not used, equal to a baseline's default maximum age."""


_FACTS: Mapping[str, Callable[[Facts], object]] = {
    "kernel": lambda facts: facts.system.kernel,
    "processor": lambda facts: facts.cpu.model,
    "usable CPUs": lambda facts: facts.cpu.usable,
    "CPU quota": lambda facts: facts.cpu.quota,
    "governor": lambda facts: facts.cpu.governor,
    "memory": lambda facts: facts.memory.total,
    "instance type": lambda facts: facts.cloud.instance_type,
    "instance": lambda facts: facts.cloud.instance_id,
    "virtualisation": lambda facts: facts.system.virtualisation,
}


def fingerprint_of(facts: Facts, tool: str) -> dict[str, str]:
    """Return the facts on which a calibration depends, and the version of the suite's tool."""
    found = {name: read(facts) for name, read in _FACTS.items()} | {tool: facts.tool(tool).version}
    return {name: str(value) for name, value in found.items() if not isinstance(value, Absent)}


def changed(calibration: Calibration, facts: Facts | None) -> str:
    """Return what changed on the host since, as text; empty for nothing. Missing facts count as a change."""
    if facts is None:
        return "the host’s facts are unknown"
    names = calibration.fingerprint
    now = {name: read(facts) for name, read in _FACTS.items()}
    now |= {name: facts.tool(name).version for name in names if name not in now}
    for name, before in names.items():
        after = known(now[name])
        if str(after) != before:
            return f"{name} {before} then, {'unknown' if after is None else after} now"
    return ""


def aged(calibration: Calibration, moment: str = "") -> bool:
    """Return whether it is more than OLDEST from `moment` (UTC, ISO 8601; empty: now), before or after."""
    at = datetime.fromisoformat(moment) if moment else datetime.now(UTC)
    return abs(at - datetime.fromisoformat(calibration.made)) > OLDEST


def applying(
    calibrations: Iterable[Calibration], host: str, suite: str, facts: Facts | None, moment: str = ""
) -> Calibration | None:
    """Return the newest of `calibrations` (sorted newest first) of `suite` on `host`; None if it is not valid.

    It is not valid if the host was disturbed, has changed since, or if it is too old.
    """
    for one in calibrations:
        if (one.host, one.suite) == (host, suite):
            valid = one.quiet and not aged(one, moment) and not changed(one, facts)
            return one if valid else None
    return None


def counted_calibration(record: RunRecord, host: str, suite: str) -> Calibration | None:
    """Return the calibration of `suite` on `host` valid at the start of a run; None without one."""
    moment = record.summary.started
    return applying(record.calibrations, host, suite, record.facts_before.get(host), moment)


@dataclass(frozen=True, slots=True)
class Margin:
    """Equivalence margin as a share; `origin` names its calibrated hosts, if any."""

    share: float
    origin: str = ""


def margin_of(given: float | None, calibrations: Sequence[Calibration | None]) -> Margin:
    """Return the margin for comparing hosts with these `calibrations` (None: not calibrated).

    That is the one `given` by the user, else the widest of the hosts' own if all are calibrated, else DEFAULT_MARGIN:
    an uncalibrated host may vary more than all others.
    """
    known = [one for one in calibrations if one is not None]
    if given is not None:
        return Margin(given)
    if not known or len(known) < len(calibrations):
        return Margin(DEFAULT_MARGIN)
    return Margin(max(one.margin for one in known), margin_origin(known))


def margin_origin(found: list[Calibration]) -> str:
    """Return the origin of a margin: ``this host’s own of 12 Nov``."""
    if not found:
        return ""
    newest = max(found, key=lambda one: one.made)
    owner_text = "this host’s own" if len({one.host for one in found}) == 1 else "these hosts’ own"
    return f"{owner_text} of {newest.day}"
