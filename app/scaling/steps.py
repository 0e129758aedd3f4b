"""Curves over a parameter that steps or runs differ in, where one run did not sweep it itself."""

from collections.abc import Iterable, Sequence

from app.comparing.gate import parameters_of
from app.comparing.sides import Place, Side
from app.scaling.sweeps import FEWEST_POINTS, Curve, Point, number_of
from app.summary import MetricSummary
from suites.parameters import Parameter, Type, Value
from suites.units import convert
from suites.vocab import Labels

Entry = tuple[dict[str, Value], MetricSummary]
"""The parameters that decide what a step measures, and what it measured."""


def curves_of_steps(side: Side) -> dict[str, dict[str, list[Curve]]]:
    """Return the curves of a side by suite and host: steps of one suite that differ in one number are its points."""
    found: dict[str, dict[str, list[Curve]]] = {}
    for suite in dict.fromkeys(step.suite_id for step in side.steps):
        steps = [step for step in side.steps if step.suite_id == suite]
        if len(steps) < FEWEST_POINTS:
            continue
        name = swept([step.identity() for step in steps])
        if name is None:
            continue
        for host in side.hosts:
            entries = [
                (step.identity(), summary) for step in steps for summary in side.figures(Place(step, (host,))).values()
            ]
            found.setdefault(suite, {})[host] = list(_curves(name, parameters_of(steps[0]).get(name), entries))
    return found


def swept(values: Sequence[dict[str, Value]]) -> str | None:
    """Return the one parameter in which steps differ, where it is a number; None where there are others, too."""
    names = [name for name in values[0] if len({repr(one.get(name)) for one in values}) > 1]
    if len(names) != 1:
        return None
    numbers = [number_of(str(one.get(names[0]))) for one in values]
    return names[0] if None not in numbers and len(set(numbers)) == len(numbers) else None


def _curves(name: str, parameter: Parameter | None, entries: Iterable[Entry]) -> Iterable[Curve]:
    """Yield the curves of `entries` over the parameter `name`, which a suite that is gone no longer describes."""
    sizes = parameter is not None and parameter.type is Type.SIZE
    grouped: dict[tuple[str, Labels], list[Entry]] = {}
    for entry in entries:
        grouped.setdefault((entry[1].metric.name, entry[1].labels), []).append(entry)
    for (_, labels), found in grouped.items():
        metric = found[0][1].metric
        points = [
            Point(
                number_of(str(values[name])) or 0.0,
                str(values[name]) if parameter is None else parameter.format(values[name]),
                tuple(convert(value, summary.metric.unit, metric.unit) for value in summary.values),
            )
            for values, summary in found
        ]
        if len(points) >= FEWEST_POINTS:
            yield Curve(metric, name, labels, tuple(sorted(points, key=lambda point: point.x)), sizes)
