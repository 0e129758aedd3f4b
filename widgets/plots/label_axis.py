"""The level axis of a sweep: the values of a label where they stand, instead of a clock."""

from widgets.plots.axis import TimeAxis

_LETTER = 7
"""Pixels that a character of a value takes, with some air."""


class LabelAxis(TimeAxis):
    """Names the values that were measured, as many as there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self._ticks: tuple[tuple[float, str], ...] = ()
        self._foot = ""

    def set_ticks(self, ticks: tuple[tuple[float, str], ...], foot: str) -> None:
        """Name these places along the foot; `foot` is what the label is called."""
        if (ticks, foot) != (self._ticks, self._foot):
            self._ticks, self._foot = ticks, foot
            self.picture = None
            self.update()

    @property
    def head(self) -> str:
        """The head of the axis's column in a table."""
        return self._foot

    def words(self, place: float, _step: float) -> str:
        """Return the label's name and the value that is nearest to `place`."""
        nearest = min(self._ticks, key=lambda tick: abs(tick[0] - place), default=(0.0, ""))
        return f"{self._foot} {nearest[1]}"

    def cell(self, place: float) -> str:
        """Return the value that stands at `place`, as it was written."""
        return next((text for there, text in self._ticks if abs(there - place) < 1e-9), f"{place:.9g}")

    def tickValues(self, minVal: float, maxVal: float, size: float) -> list[tuple[float, list[float]]]:  # noqa: N803 (pyqtgraph's names)
        """Return the places that are named, from left to right: none closer than its text."""
        scale = size / (maxVal - minVal) if maxVal > minVal else 1.0
        found: list[float] = []
        taken = float("-inf")
        for place, text in self._ticks:
            half = _LETTER * (len(text) + 1) / 2
            if minVal <= place <= maxVal and (place - minVal) * scale - half >= taken:
                found.append(place)
                taken = (place - minVal) * scale + half
        return [(1.0, found)]

    def tickStrings(self, values: list[float], _scale: float, _spacing: float) -> list[str]:
        """Return the values as they were written."""
        return [self.cell(value) for value in values]
