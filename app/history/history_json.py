"""A history as the public JSON of “history”."""

from typing import Any

from app.history.history import FALSE_ALARMS, History, Marked, Point

FORMAT = "benchwright-history/1"

Json = dict[str, Any]


def history_to_json(history: History) -> Json:
    """Return the points, the changes of level, and what is to be known of both."""
    return {
        "format": FORMAT,
        "hosts": list(history.hosts),
        "step": history.step.name,
        "suite": history.step.suite_id,
        "metric": history.metric.name,
        "unit": history.metric.unit.value,
        "better": history.metric.better.value,
        "labels": dict(history.labels),
        "points": [_point(point) for point in history.points],
        "changes": [_change(marked) for marked in history.marked],
        "claimed": history.found.claimed,
        "correlation": history.found.hanging,
        "false_alarms": FALSE_ALARMS,
        "left_out": list(history.left_out),
    }


def _point(point: Point) -> Json:
    return {
        "run": point.run,
        "started": point.started,
        "value": point.value,
        "n": point.n,
        "low": point.low,
        "high": point.high,
        "interval": point.interval,
        "hosts": list(point.hosts),
        "tool_versions": list(point.versions),
    }


def _change(marked: Marked) -> Json:
    return {
        "run": marked.after.run,
        "before": marked.before.run,
        "started": marked.after.started,
        "ratio": marked.change.ratio,
        "level_before": marked.change.before,
        "level_after": marked.change.after,
        "p": marked.change.p,
        "text": marked.text,
        "differences": [
            {"what": each.what, "run": each.ours, "before": each.baseline, "weight": each.weight.value}
            for each in marked.differences
        ],
    }
