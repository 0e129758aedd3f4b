"""A calibration in words, for the window and the command line."""

from app.calibration.calibration import Calibration, Instrument, aged
from app.calibration.false_alarms import DEFAULT_MARGIN
from app.wording import label_text, quantity, share_text
from suites.units import Unit

UNKNOWN = "not known"


def _time(seconds: float | None) -> str:
    return UNKNOWN if seconds is None else quantity(seconds, Unit.SECOND)


def _times(middle: float | None, worst: float | None) -> str:
    return UNKNOWN if middle is None else f"{_time(middle)} (worst {_time(worst)})"


def instrument_rows(found: Instrument) -> list[list[str]]:
    """Return what measuring costs, a line for each thing: its name, and the figure or why there is none."""
    why = found.absent.get("clock", "")
    cost = UNKNOWN if found.telemetry_cost is None else f"{share_text(found.telemetry_cost)} of one core"
    rows = [
        ["Clock read from", found.clock_source or UNKNOWN],
        ["Smallest step of the clock", _time(found.clock_resolution)],
        ["Reading the clock", _time(found.clock_cost)],
        ["A sleep of 1 ms ends late by", _times(found.sleep_late, found.sleep_late_worst)],
        ["A command that does nothing, there and back", _times(found.round_trip, found.round_trip_worst)],
        ["Watching the host", cost],
    ]
    return [*rows, *([["Clock and timers", why]] if why else [])]


def noise_rows(found: Calibration) -> list[list[str]]:
    """Return how each metric repeats: its name, trials, CoV, and the least difference that 6, 10 and 20 trials show."""
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
    """Return what the A/A test says, in sentences; the margin first."""
    alarms = found.alarms
    lines = [
        _margin_line(found),
        (
            f"{alarms.splits} random splits of {2 * alarms.trials} trials of one thing: with a margin of "
            f"{share_text(DEFAULT_MARGIN)}, {share_text(alarms.rate)} claim a difference; with none, "
            f"{share_text(alarms.rate_without)}."
        ),
        (
            f"Two stretches of time instead of random halves: {share_text(alarms.rate_apart)} claim a difference of "
            f"more than {share_text(DEFAULT_MARGIN)}."
        ),
        (
            f"At most 5 % of either claim one from a margin of {share_text(alarms.quiet_margin)} on; that there is no "
            f"larger difference is shown in 80 % of splits from {share_text(alarms.shown_margin)} on."
        ),
    ]
    return [*lines, telemetry_line(found), f"The trials are the run {found.run}."]


def _margin_line(found: Calibration) -> str:
    if not found.quiet:
        return (
            f"{found.suite} needs a margin of {share_text(found.margin)} here: the host was disturbed. None is taken "
            f"from this; comparisons stay at {share_text(DEFAULT_MARGIN)}. Calibrate it again when it is quiet."
        )
    return f"Margin for {found.suite} on this host: {share_text(found.margin)}. Differences up to it are none."


def telemetry_line(found: Calibration) -> str:
    """Return in a sentence what watching the host does to the figure."""
    effect = found.telemetry
    if effect is None or effect.low is None or effect.high is None:
        return "What telemetry does to the figure is not known: its trials gave no interval."
    change = f"{'+' if effect.ratio >= 1 else '−'}{share_text(abs(effect.ratio - 1))}"
    low, high = (f"{'+' if edge >= 1 else '−'}{share_text(abs(edge - 1))}" for edge in (effect.low, effect.high))
    seen = "no effect is shown" if effect.low <= 1 <= effect.high else "an effect is shown"
    return f"With telemetry the figure is {change} of that without (95 % CI {low} to {high}): {seen}."


def standing(found: Calibration) -> list[str]:
    """Return a line of a table: when, which suite, CoV, margin, run, and whether it still counts."""
    made = found.made[:16].replace("T", " ")
    why = "too old" if aged(found) else "" if found.quiet else "disturbed: not used"
    return [
        made,
        found.suite,
        share_text(found.cov),
        share_text(found.margin),
        found.run,
        why,
    ]


def margin_origin(found: list[Calibration]) -> str:
    """Return whose a margin is: ``this host’s own of 12 Nov``."""
    if not found:
        return ""
    newest = max(found, key=lambda one: one.made)
    whose = "this host’s own" if len({one.host for one in found}) == 1 else "these hosts’ own"
    return f"{whose} of {newest.day}"
