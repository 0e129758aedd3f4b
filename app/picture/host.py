"""What the hosts themselves did during the trials: how busy their CPUs were, on the trials' own clock."""

from collections.abc import Mapping, Sequence

from app.picture.curves import Curve, Panel, with_gaps
from app.records import RunRecord
from remote.telemetry.telemetry_metrics import CPU_IDLE
from suites.units import Unit
from suites.vocab import Better, Kind, Metric, Sample

CPU_BUSY = Metric("cpu_busy", "Host: busy share of all its CPUs", Unit.PERCENT, Better.LOWER, Kind.SHARE)

Telemetry = Mapping[str, Mapping[str, tuple[Sample, ...]]]
"""Samples by run and host; their time is the host's monotonic clock."""


def host_panel(records: Sequence[RunRecord], telemetry: Telemetry, beside: Panel) -> Panel | None:
    """Return how busy the hosts were during the trials that `beside` shows, in its colours; None where not known."""
    curves: dict[tuple[int, int], Curve] = {}
    for curve in beside.curves:
        if curve.trial is None or curve.trial in curves:
            continue
        number, trial_id = curve.trial
        trial = next(trial.trial for trial in records[number].trials if trial.trial.id == trial_id)
        watched = telemetry.get(records[number].summary.id, {}).get(trial.host, ())
        if trial.clock is None or not watched:
            continue
        end = trial.clock + max(max(each.times) for each in beside.curves if each.trial == curve.trial)
        idle = [
            sample for sample in watched if sample.metric.name == CPU_IDLE.name and trial.clock <= sample.time <= end
        ]
        times, values = with_gaps(
            [sample.time - trial.clock for sample in idle], [100.0 - sample.value for sample in idle]
        )
        if times:
            curves[curve.trial] = Curve(curve.name, curve.colour, times, values, faint=curve.faint, trial=curve.trial)
    if not curves:
        return None
    last = max(max(curve.times) for curve in beside.curves)
    return Panel(CPU_BUSY, tuple(curves.values()), judged=False, top=105.0, end=last)  # a curve at 100 % stays in sight
