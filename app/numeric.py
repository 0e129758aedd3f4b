"""numpy, pandas and scipy, each imported on first use: window and command line start before they are needed; means."""

import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    import pandas as pd
    from scipy import optimize, special, stats

    Numbers = np.ndarray[Any, np.dtype[np.float64]]
else:
    from importlib import import_module

    class _Module:
        """A module that is imported when an attribute is first read."""

        def __init__(self, name: str) -> None:
            self._name = name

        def __getattr__(self, attribute: str) -> Any:
            value = getattr(import_module(self._name), attribute)
            setattr(self, attribute, value)
            return value

    np, pd = _Module("numpy"), _Module("pandas")
    optimize, special, stats = (_Module(f"scipy.{name}") for name in ("optimize", "special", "stats"))
    Numbers = Any


def mean_of(values: Sequence[float]) -> float:
    """Return the geometric mean of values; the arithmetic mean if one of them is not above zero."""
    least = min(values)
    if least == max(values):
        return least  # exactly
    return statistics.geometric_mean(values) if least > 0 else statistics.fmean(values)


def balanced_mean(values: Sequence[float], on_first: Sequence[bool]) -> float:
    """Return the mean of the trials of a duet, both halves of the CPUs with equal weight; mean_of() without halves."""
    if not on_first:
        return mean_of(values)
    halves = [[value for value, first in zip(values, on_first, strict=True) if first is half] for half in (True, False)]
    return mean_of([mean_of(half) for half in halves if half])


__all__ = ["Numbers", "mean_of", "np", "optimize", "pd", "special", "stats"]
