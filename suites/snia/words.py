"""What a SNIA test says of itself in words: how steady it was, and in what it departs from the standard."""

from collections.abc import Iterator, Sequence

from suites.disk import amount
from suites.fio.device import on_device
from suites.parameters import Values
from suites.snia.parameters import BOTH, NONE, SATURATION, departures, points, tracked
from suites.snia.steady import PTS_RANGE, PTS_SLOPE, WINDOW, WINDOWS_AGREE, Window, steady_round, window_of

ON_A_FILE = "on a file, whose device can be neither purged nor written over as a whole"
NOT_PURGED = "not purged"


def window_words(window: Window) -> str:
    """Return how steady the last rounds were: what they range over, change by, and differ from those before."""
    apart = "" if window.apart is None else f"; {100 * window.apart:.1f} % from the five before"
    rounds = f"the last {len(window.values)} rounds" if len(window.values) > 1 else "one round"
    return f"{rounds} range over {100 * window.range:.1f} % and change by {100 * window.slope:.1f} %{apart}"


def ended_notes(values: Values, found: Sequence[float], written: float, most: int) -> Iterator[str]:
    """Yield whether the steady state was reached, after how many rounds, and by what."""
    window = window_of(found)
    if window is None:
        return
    point = points(values)[tracked(values)].words
    if values["test"] == SATURATION:
        yield f"{amount(written)} written in {len(found)} rounds; {window_words(window)}."
        return
    after = steady_round(found, both=values["criterion"] == BOTH)
    if after is not None:
        yield f"Steady state was reached in round {after}, by {point}: {window_words(window)}."
        if not window.steady:
            yield (
                "That is by the window of the standard alone, which also calls a slow decay steady, far too high: no "
                "two windows agree."
            )
        return
    yield (
        f"Steady state was not reached in {len(found)} of {most} rounds, by {point}: {window_words(window)} (at most "
        f"{100 * PTS_RANGE:.0f}, {100 * PTS_SLOPE:.0f} and {100 * WINDOWS_AGREE:.0f} %). The figures are the means of "
        f"the last {min(WINDOW, len(found))}."
    )


def standard_notes(values: Values) -> Iterator[str]:
    """Yield in what the test was none of the standard's, if in anything."""
    said = [*departures(values), *circumstances(values)]
    if said:
        yield f"Not by the standard: {'; '.join(said)}."


def circumstances(values: Values) -> Iterator[str]:
    """Yield what keeps it from the standard that no shorter time is to blame for."""
    if not on_device(values):
        yield ON_A_FILE
    elif values["purge"] == NONE:
        yield NOT_PURGED
    if on_device(values) and int(values["size"]):
        yield f"on the first {amount(int(values['size']))} of the device"
    if not values["direct"]:
        yield "through the page cache"
