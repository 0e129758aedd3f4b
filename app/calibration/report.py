"""Text of a calibration, for the window and the command line."""

from app.calibration.calibration import DEFAULT_MARGIN, aged
from app.records import Calibration, Instrument
from suites.quantities import label_text, quantity, share_text
from suites.units import Unit

UNKNOWN = "unknown"


def _time(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else quantity(seconds, Unit.SECOND)


def _times(middle: float | None, worst: float | None) -> str:
    return UNKNOWN if middle is None else f"{_time(middle)} (worst {_time(worst)})"


def instrument_rows(found: Instrument) -> list[list[str]]:
    """Return a row for each instrument figure: its name, and its value or why it is absent."""
    why = found.absent.get("clock", "")
    cost = UNKNOWN if found.telemetry_cost is None else f"{share_text(found.telemetry_cost)} of one core"
    rows = [
        ["Clock source", found.clock_source or UNKNOWN],
        ["Clock resolution", _time(found.clock_resolution)],
        ["Clock read time", _time(found.clock_cost)],
        ["Timer latency (sleep of 1 ms)", _times(found.sleep_late, found.sleep_late_worst)],
        ["Round trip of a no-op command", _times(found.round_trip, found.round_trip_worst)],
        ["CPU cost of telemetry", cost],
    ]
    return [*rows, *([["Clock and timers", why]] if why else [])]


NOISE_HEAD = ("Metric", "n", "CoV", "Detectable, 6 trials per side", "10", "20")
"""Column titles of noise_rows(); the last three are numbers of trials."""


def noise_rows(found: Calibration) -> list[list[str]]:
    """Return a row per metric: name, trials, CoV, least detectable difference with 6, 10 and 20 trials per side."""
    return [
        [
            f"{one.title}{f' ({label_text(one.labels)})' if one.labels else ''}",
            str(one.n),
            share_text(one.cov),
            *(share_text(one.detectable[count]) if count in one.detectable else "" for count in (6, 10, 20)),
        ]
        for one in found.noise
    ]


def alarm_lines(found: Calibration) -> list[str]:
    """Return the results of the A/A test as sentences, the margin first."""
    alarms = found.alarms
    lines = [
        _margin_line(found),
        (
            f"False alarms in {alarms.splits} random splits of {2 * alarms.trials} equal trials: "
            f"{share_text(alarms.rate)} with a margin of {share_text(DEFAULT_MARGIN)}, "
            f"{share_text(alarms.rate_without)} without a margin."
        ),
        (
            f"False alarms between consecutive halves (drift): {share_text(alarms.rate_apart)} with a margin of "
            f"{share_text(DEFAULT_MARGIN)}."
        ),
        (
            f"Margin for at most 5 % false alarms: {share_text(alarms.quiet_margin)}; to show equivalence in 80 % of "
            f"splits: {share_text(alarms.shown_margin)}."
        ),
    ]
    return [*lines, telemetry_line(found), f"The trials are stored as run {found.run}."]


def _margin_line(found: Calibration) -> str:
    if not found.quiet:
        return (
            f"{found.suite} needs a margin of {share_text(found.margin)}: the host was disturbed. Comparisons use "
            f"{share_text(DEFAULT_MARGIN)} instead. Calibrate again when the host is quiet."
        )
    return f"Margin for {found.suite} on this host: {share_text(found.margin)}."


def telemetry_line(found: Calibration) -> str:
    """Return the effect of telemetry on the figure as a sentence."""
    effect = found.telemetry
    if effect is None or effect.low is None or effect.high is None:
        return "Effect of telemetry unknown: its trials gave no interval."
    change = f"{'+' if effect.ratio >= 1 else '−'}{share_text(abs(effect.ratio - 1))}"
    low, high = (f"{'+' if edge >= 1 else '−'}{share_text(abs(edge - 1))}" for edge in (effect.low, effect.high))
    result = "not significant" if effect.low <= 1 <= effect.high else "significant"
    return f"Effect of telemetry on the figure: {change} (95 % CI {low} to {high}), {result}."


def calibration_row(found: Calibration) -> list[str]:
    """Return a table row: time, suite, CoV, margin, run, and why it is not used, if so."""
    made = found.made[:16].replace("T", " ")
    why = "too old" if aged(found) else "" if found.quiet else "disturbed: not used"
    return [made, found.suite, share_text(found.cov), share_text(found.margin), found.run, why]
