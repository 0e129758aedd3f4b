"""Which margin counts: the one that was given, else the hosts' own where all of them are calibrated."""

from collections.abc import Sequence
from dataclasses import dataclass

from app.calibration.calibration import Calibration
from app.calibration.false_alarms import DEFAULT_MARGIN
from app.calibration.words import margin_origin


@dataclass(frozen=True, slots=True)
class Margin:
    """The share of a figure that does not matter. `origin` says whose it is where it is hosts' own."""

    share: float
    origin: str = ""


def margin_of(given: float | None, calibrations: Sequence[Calibration | None]) -> Margin:
    """Return the margin by which hosts are held against each other, `calibrations` being theirs (None: has none).

    What the user has `given` counts before all. The widest of the hosts' own counts where each of them has one: one
    that is not calibrated may vary by more than all others. Else it is DEFAULT_MARGIN.
    """
    known = [one for one in calibrations if one is not None]
    if given is not None:
        return Margin(given)
    if not known or len(known) < len(calibrations):
        return Margin(DEFAULT_MARGIN)
    return Margin(max(one.margin for one in known), margin_origin(known))
