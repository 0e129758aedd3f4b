"""What a step's sweep shows now: figures of the trials that count, or of the trial under way so far. No Qt."""

from collections.abc import Iterator

import numpy as np

from app.scaling.sweep_panels import SweepPanel, panels_of
from app.scaling.sweeps import curves_of
from suites.vocab import Figure
from widgets.live.model import Place, RunModel, TrialView


def sweep_of(model: RunModel, place: Place, front: TrialView | None) -> tuple[SweepPanel, ...]:
    """Return the plots of the sweep at `place`; none where nothing was swept.

    A trial that is under way is shown by the medians of its samples so far; one that does not count, alone.
    """
    if front is None:
        return ()
    if front.counts:
        return panels_of(
            curves_of([figure for view in model.trials_at(place) if view.counts for figure in view.figures])
        )
    return panels_of(curves_of(front.figures or list(_so_far(front))))


def _so_far(view: TrialView) -> Iterator[Figure]:
    """Yield the median of every series whose labels may belong to a sweep."""
    seen = [Figure(series.metric, 0.0, series.labels) for series in view.series.values() if series.labels]
    metrics = {curve.metric for curve in curves_of(seen)}
    for series in list(view.series.values()):
        if series.metric in metrics and len(values := series.counted()):
            yield Figure(series.metric, float(np.median(values)), series.labels)
