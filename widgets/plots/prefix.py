"""In which prefix a column or an axis of figures is written."""

from suites.units import Display, Unit, display

_COUNTED_BELOW = 10_000.0
"""Events a second are written out up to this, as their tools print them."""


def prefix(greatest: float, unit: Unit) -> Display:
    """Return the prefix for figures up to `greatest` in `unit`."""
    if unit is Unit.PER_SECOND and abs(greatest) <= _COUNTED_BELOW:
        return Display(1.0, "/s")
    return display(greatest, unit)
