"""The colour of a run in a comparison: the baseline is grey, the others take the series' colours in turn."""

from PySide6.QtGui import QColor

from widgets.theme import palette, series_colour


def run_colour(number: int) -> QColor:
    """Return the colour of the run `number`; 0 is the baseline. Pictures give the same."""
    return series_colour(number - 1) if number else QColor(palette().baseline)
