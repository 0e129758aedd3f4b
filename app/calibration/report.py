"""Text of a calibration, for the window and the command line."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, TypedDict

from app.calibration.calibration import DISTURBED, aged
from app.calibration.sessions import DESIGNS, MOST, SessionNoise
from app.formats import BareCalibration
from app.json_converter import Json, published
from app.margins import Margins
from app.records import Calibration, Instrument
from suites.quantities import ends_text, label_text, quantity, share_text
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


MISSING = "—"

NOISE_HEAD = (
    "Metric", "Sessions", "n", "CoV within", "CoV between", *(f"{k} x {n}" for k, n in DESIGNS),
    "To show the margin",
)  # fmt: skip
"""Column titles of noise_rows(); k x n are sessions and trials on each side."""


def noise_rows(noise: Sequence[SessionNoise], margins: Margins) -> list[list[str]]:
    """Return a row per metric: sessions, trials, CoV within and between sessions, detectable differences, design."""
    return [list(_cells(one, margins.of(one.metric).share)) for one in noise]


def _cells(one: SessionNoise, wanted: float) -> Iterator[str]:
    yield f"{one.metric.title}{f' ({label_text(one.labels)})' if one.labels else ''}"
    yield from (str(one.sessions), str(one.n), share_text(one.trial))
    shares = [one.session, *(one.detectable(*design) for design in DESIGNS)]
    yield from (MISSING if share is None else share_text(share) for share in shares)
    yield design_text(one, wanted)


ROUGH = 5
"""Sessions below which the variation between them is called rough: the 95 % interval of a standard deviation of four
reaches from 0.6 to 3.7 times its value (chi-square)."""


def design_text(noise: SessionNoise, wanted: float) -> str:
    """Return the sessions and trials that show a difference: ``5 %: 4 sessions of 6 trials``."""
    found, share = noise.design(wanted), share_text(wanted)
    if found is None:
        return f"{share}: more than {MOST} {'trials' if noise.session is None else 'sessions'}"
    sessions, trials = found
    return f"{share}: {f'{sessions} sessions of ' if sessions > 1 else ''}{trials} trials"


def noise_lines(found: Calibration, noise: Sequence[SessionNoise], margins: Margins) -> list[str]:
    """Return the result as sentences: the design for the headline metric, what the sessions support, telemetry."""
    if not noise:
        return ["No noise over sessions: the run of the calibration was deleted.", telemetry_line(found)]
    head = noise[0]
    lines = [f"{head.metric.title}, to show {design_text(head, margins.of(head.metric).share)} on each side."]
    if head.session is None:
        lines.append(
            "One session: the variation between sessions is not known, and every figure holds within one session. "
            "Calibrate again on another day."
        )
    elif head.sessions < ROUGH:
        lines.append(f"The variation between {head.sessions} sessions is rough. Calibrate again on another day.")
    lines.append("Columns k x n: smallest detectable difference (power 80 %) with k sessions of n trials on each side.")
    plan = f"Write a plan with: benchwright sample-size series:{found.run} --plan FILE"
    return [*lines, telemetry_line(found), f"The trials are stored as run {found.run}. {plan}"]


class DesignSize(TypedDict):
    """Sessions and trials of each side."""

    sessions: int
    trials: int


class SessionNoiseKeys(TypedDict):
    """Keys of a metric's noise beside those of SessionNoise; `detectable` is by sessions x trials, as in 4x6."""

    detectable: Mapping[str, float | None]
    margin: float
    design: DesignSize | None


SessionNoiseJson = Annotated[Json, SessionNoise, SessionNoiseKeys]


class CalibrationSessions(TypedDict):
    """Keys of a calibration with the noise over the sessions of its parameters."""

    sessions: list[SessionNoiseJson]


CalibrationJson = Annotated[BareCalibration, CalibrationSessions]


def noise_to_json(noise: Sequence[SessionNoise], margins: Margins) -> list[SessionNoiseJson]:
    """Return the public JSON of the noise over sessions; shares are fractions."""
    return [_noise_json(one, margins.of(one.metric).share) for one in noise]


def _noise_json(one: SessionNoise, wanted: float) -> SessionNoiseJson:
    design = one.design(wanted)
    return {
        **published(one),
        "detectable": {f"{k}x{n}": one.detectable(k, n) for k, n in DESIGNS},
        "margin": wanted,
        "design": None if design is None else {"sessions": design[0], "trials": design[1]},
    }


def telemetry_line(found: Calibration) -> str:
    """Return the effect of telemetry on the figure as a sentence."""
    effect = found.telemetry
    if effect is None or effect.low is None or effect.high is None:
        return "Effect of telemetry unknown: its trials gave no interval."
    change = f"{'+' if effect.ratio >= 1 else '−'}{share_text(abs(effect.ratio - 1))}"
    low, high = (f"{'+' if edge >= 1 else '−'}{share_text(abs(edge - 1))}" for edge in (effect.low, effect.high))
    result = "not significant" if effect.low <= 1 <= effect.high else "significant"
    return f"Effect of telemetry on the figure: {change} (95 % CI {ends_text(low, high)}), {result}."


LIST_HEAD = ("Made (UTC)", "Suite", "CoV", "Run", "")
"""Column titles of calibration_row()."""


def calibration_row(found: Calibration) -> list[str]:
    """Return a table row: time, suite, CoV within its session, run, and why it is not used, if so."""
    made = found.made[:16].replace("T", " ")
    why = "disturbed" if found.cov >= DISTURBED else ""
    return [made, found.suite, share_text(found.cov), found.run, "too old" if aged(found) else why]
