"""The models of scaling: linear, Amdahl's law, and Gunther's universal scalability law (USL)."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

    Numbers = np.ndarray[Any, np.dtype[np.float64]]

ONE, SERIAL, CROSSTALK = "value at 1", "serial share", "crosstalk"
"""What the models' parameters are called: lambda, sigma and kappa of the USL."""


@dataclass(frozen=True, slots=True)
class Model:
    """A model: its name, its parameters, and the logarithm of what it predicts of n for them.

    The first parameter is the logarithm of the value at 1; the others are bounded from below by 0.
    """

    name: str
    parameters: tuple[str, ...]
    predict: "Callable[..., Numbers]"
    source: str

    @property
    def bounds(self) -> tuple[list[float], list[float]]:
        """The least and largest that each parameter may be."""
        free = len(self.parameters) - 1
        return [-math.inf, *[0.0] * free], [math.inf, *[1.0] * free]


def _linear(n: "Numbers", one: float) -> "Numbers":
    import numpy as np

    return np.asarray(one + np.log(n), dtype=float)


def _amdahl(n: "Numbers", one: float, serial: float) -> "Numbers":
    import numpy as np

    return np.asarray(one + np.log(n) - np.log1p(serial * (n - 1)), dtype=float)


def _usl(n: "Numbers", one: float, serial: float, crosstalk: float) -> "Numbers":
    import numpy as np

    return np.asarray(one + np.log(n) - np.log1p(serial * (n - 1) + crosstalk * n * (n - 1)), dtype=float)


LINEAR = Model("linear", (ONE,), _linear, "n times the value at 1")
AMDAHL = Model("Amdahl", (ONE, SERIAL), _amdahl, "Amdahl 1967: a share of the work that only one can do")
USL = Model("USL", (ONE, SERIAL, CROSSTALK), _usl, "Gunther 2007: a serial share, and a cost for each pair")


def peak_of(serial: float, crosstalk: float) -> float | None:
    """Return the n at which the USL has its peak, sqrt((1 - serial) / crosstalk); None where it has none."""
    return math.sqrt((1 - serial) / crosstalk) if crosstalk > 0 and serial < 1 else None
