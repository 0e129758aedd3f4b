"""Bounded buffer of a time series that keeps peaks when it is thinned."""

import math

import numpy as np
from numpy.typing import NDArray

Numbers = NDArray[np.float64]

CAPACITY = 131_072
"""Most points of a series: 36 hours at one sample a second, 2 MB."""

_FIRST = 64
_BLOCK = 4

SUMMARY = 16
"""Points of which a minimum and a maximum are kept, so that long series are drawn without reading all of them."""

_NO_NUMBERS: Numbers = np.empty(0)


class SeriesBuffer:
    """Times (s) and values. When full, the older half is thinned to the minimum and maximum of each four points.

    A value that is not finite is a gap in the curve. A point without a finite time is dropped. Points may arrive out
    of order. Not thread-safe.
    """

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = max(capacity, 4 * _BLOCK)
        self._times: Numbers = np.empty(min(_FIRST, self._capacity))
        self._values: Numbers = np.empty_like(self._times)
        self._count = 0
        self._sorted = True
        self._lows, self._highs = _NO_NUMBERS, _NO_NUMBERS  # of complete blocks of SUMMARY points
        self.taken = 0
        """Number of points ever added, to detect new ones."""

    def __len__(self) -> int:
        return self._count

    def append(self, time: float, value: float) -> None:
        """Add one point."""
        if not math.isfinite(time):
            return
        if self._count == len(self._times):
            self._thin_out()
        if self._count and time < self._times[self._count - 1]:
            self._sorted = False
        self._times[self._count] = time
        self._values[self._count] = value if math.isfinite(value) else math.nan
        self._count += 1
        self.taken += 1

    def times(self) -> Numbers:
        """Return the times, ascending, as a view valid until the next append."""
        self._sort()
        return self._times[: self._count]

    def values(self) -> Numbers:
        """Return the values in the order of times(), as a view valid until the next append."""
        self._sort()
        return self._values[: self._count]

    def summary(self) -> tuple[Numbers, Numbers, Numbers]:
        """Return the first time, the minimum and the maximum of each SUMMARY points; those of gaps alone are NaN."""
        times, values = self.times(), self.values()
        known, complete = len(self._lows), self._count // SUMMARY
        if known < complete:
            blocks = values[known * SUMMARY : complete * SUMMARY].reshape(-1, SUMMARY)
            self._lows = np.concatenate([self._lows, np.fmin.reduce(blocks, axis=1)])
            self._highs = np.concatenate([self._highs, np.fmax.reduce(blocks, axis=1)])
        lows, highs, rest = self._lows, self._highs, values[complete * SUMMARY :]
        if len(rest):
            lows, highs = np.append(lows, np.fmin.reduce(rest)), np.append(highs, np.fmax.reduce(rest))
        return times[::SUMMARY], lows, highs

    def last(self) -> tuple[float, float] | None:
        """Return the latest point that is not a gap, or None."""
        times, values = self.times(), self.values()
        for index in range(self._count - 1, -1, -1):
            if math.isfinite(values[index]):
                return float(times[index]), float(values[index])
        return None

    def nearest(self, time: float) -> tuple[float, float] | None:
        """Return the point nearest to `time`, or None if the buffer is empty."""
        if not self._count:
            return None
        times = self.times()
        right = int(np.searchsorted(times, time))
        near = [index for index in (right - 1, right) if 0 <= index < self._count]
        best = min(near, key=lambda index: abs(times[index] - time))
        return float(times[best]), float(self.values()[best])

    def _sort(self) -> None:
        if self._sorted:
            return
        order = np.argsort(self._times[: self._count], kind="stable")
        self._times[: self._count] = self._times[: self._count][order]
        self._values[: self._count] = self._values[: self._count][order]
        self._sorted = True
        self._lows, self._highs = _NO_NUMBERS, _NO_NUMBERS

    def _thin_out(self) -> None:
        if self._count < self._capacity:
            size = min(self._count * 2, self._capacity)
            self._times, self._values = _grown(self._times, size), _grown(self._values, size)
            return
        self._sort()
        self._lows, self._highs = _NO_NUMBERS, _NO_NUMBERS
        half = self._count // 2 // _BLOCK * _BLOCK
        times, values = _thinned(self._times[:half], self._values[:half])
        count = len(times) + self._count - half
        self._times[:count] = np.concatenate([times, self._times[half : self._count]])
        self._values[:count] = np.concatenate([values, self._values[half : self._count]])
        self._count = count


def _grown(numbers: Numbers, size: int) -> Numbers:
    larger: Numbers = np.empty(size)
    larger[: len(numbers)] = numbers
    return larger


def _thinned(times: Numbers, values: Numbers) -> tuple[Numbers, Numbers]:
    """Return the minimum and maximum of each block, in order of time."""
    blocks = values.reshape(-1, _BLOCK)
    gaps = np.isnan(blocks)
    least = np.where(gaps, np.inf, blocks).argmin(axis=1)
    greatest = np.where(gaps, -np.inf, blocks).argmax(axis=1)
    chosen = np.sort(np.stack([least, greatest], axis=1), axis=1)
    rows = np.arange(len(blocks))[:, None]
    return times.reshape(-1, _BLOCK)[rows, chosen].ravel(), blocks[rows, chosen].ravel()
