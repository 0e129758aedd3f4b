"""Sweeps over a setting such as threads: which values are measured, and where more of it no longer gives more."""

from collections.abc import Mapping

KNEE_SHARE = 0.95
"""The knee is the lowest setting that reaches this share of the best. Below 5 % a step up is within the noise of the
tests here: trials of one host differ by 1 to 5 %."""

FEWEST_POINTS = 3
"""Values of the setting below which there is no curve to have a knee."""


def thread_counts(most: int, sweep: str) -> tuple[int, ...]:
    """Return the thread counts of a sweep up to `most`, which is always among them.

    `sweep` is "every" (1, 2, 3 ..), "doubling" (1, 2, 4 ..) or "single" (`most` alone), as in probe.h.
    """
    if sweep == "every":
        return tuple(range(1, most + 1))
    if sweep == "doubling":
        return (*(1 << power for power in range(most.bit_length()) if 1 << power < most), most)
    return (most,)


def knee(values: Mapping[int, float]) -> int | None:
    """Return the lowest setting whose value reaches KNEE_SHARE of the best, None without a curve or where all is zero.

    `values` are of a metric of which more is better, by thread count or another setting.
    """
    if len(values) < FEWEST_POINTS:
        return None
    best = max(values.values())
    if best <= 0:  # nothing was done at all
        return None
    return min(threads for threads, value in values.items() if value >= KNEE_SHARE * best)


def knee_note(values: Mapping[int, float], what: str) -> list[str]:
    """Return the note that tells the knee of `what`, where there is one."""
    found = knee(values)
    if found is None:
        return []
    share = values[found] / max(values.values())
    if found == max(values):
        return [f"{what} still grows at {found} threads: there is no knee below that."]
    threads = "1 thread gives" if found == 1 else f"{found} threads give"
    return [f"The knee of {what} is at {found}: {threads} {share:.0%} of the best, and more threads hardly more."]


def setting_knee_note(values: Mapping[int, float], what: str, setting: str) -> list[str]:
    """Return the note that tells the knee of `what` over another setting, such as I/Os “in flight”."""
    found = knee(values)
    if found is None:
        return []
    if found == max(values):
        return [f"{what}: still growing with {found} {setting}; there is no knee below that."]
    share = values[found] / max(values.values())
    return [f"{what}: the knee is at {found} {setting}, with {share:.0%} of the best; more give hardly more."]
