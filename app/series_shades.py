"""Shades of a palette for more series than it has colours, the same in the window and in reports."""

from collections.abc import Sequence

SHADES = (0.0, 0.5, 0.25, 0.7, 0.15, 0.6)
"""Shares of ink in the colours of a palette each time it is used again."""


def shaded(colours: Sequence[str], index: int, ink: str) -> str:
    """Return the colour of the series `index`, in hex: with more `ink` where `colours` repeat, distinct for 36."""
    share = SHADES[index // len(colours) % len(SHADES)]
    pairs = ((int(each[at : at + 2], 16) for each in (colours[index % len(colours)], ink)) for at in (1, 3, 5))
    return "#" + "".join(f"{round(own + share * (other - own)):02X}" for own, other in pairs)
