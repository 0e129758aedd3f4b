"""Distributions as lines of text: percentiles with intervals, shifts, the worst moment of each trial."""

from collections.abc import Iterator, Sequence

import click

from app.cli.common import plain, print_json, print_table
from app.distributions.distribution import Distribution, SideDistribution
from app.distributions.percentiles import Percentile, Shift
from app.distributions.to_json import distributions_to_json
from app.plans.plan import host_words
from app.wording import direction_text, figure_text, range_text, run_letter
from suites.vocab import Metric

WORST = 3
"""Trials whose worst moment is printed; the JSON has all."""


def say_distributions(found: list[Distribution], *, as_json: bool) -> None:
    """Print distributions for machines or for people."""
    if as_json:
        print_json(distributions_to_json(found))
    else:
        print_distributions(found)


def print_distributions(found: Sequence[Distribution]) -> None:
    """Print distributions for people; the ECDF and the histogram are in the JSON and in the window."""
    for number, one in enumerate(found):
        if number:
            click.echo("")
        title = f"{one.title}, {one.step} on {host_words(one.host)} ({direction_text(one.metric.better)})"
        click.echo(plain(title))
        for line in _sides(one):
            click.echo(plain(line))
        print_table(_head(one), list(_rows(one)), right=range(1, 2 * len(one.sides)))
        for line in _worst(one):
            click.echo(plain(line))
        click.echo(plain(f"95 % intervals: {one.method}."))


def _sides(one: Distribution) -> Iterator[str]:
    for number, side in enumerate(one.sides):
        values = f", {side.count} {one.source.value}" if one.source.value != "trials" else ""
        trials = f"{side.n} trial{'' if side.n == 1 else 's'}"
        reason = f": {side.reason}" if side.reason else ""
        yield f"{run_letter(number)}  {side.run}  {trials}{values}{reason}"


def _head(one: Distribution) -> list[str]:
    head = ["Percentile"]
    for number in range(len(one.sides)):
        head += [run_letter(number)] if not number else [run_letter(number), f"{run_letter(number)} by A"]
    return head


def _rows(one: Distribution) -> Iterator[list[str]]:
    values = {each.percentile for side in one.sides for each in side.percentiles}
    shown = sorted(values | {each.percentile for side in one.sides for each in side.shift})
    for percentile in shown:
        row = [f"p{percentile:g}"]
        for number, side in enumerate(one.sides):
            row.append(_value(one.metric, _at(side, percentile)))
            if number:
                row.append(_shift(one.metric, next((s for s in side.shift if s.percentile == percentile), None)))
        yield row


def _at(side: SideDistribution, percentile: float) -> Percentile | None:
    return next((each for each in side.percentiles if each.percentile == percentile), None)


def _value(metric: Metric, found: Percentile | None) -> str:
    if found is None:
        return ""
    if found.low is None or found.high is None:
        return figure_text(metric, found.value)
    half = (found.high - found.low) / 2
    return (
        f"{figure_text(metric, found.value, half or None)} ({range_text(metric, found.low, found.high, half or None)})"
    )


def _shift(metric: Metric, found: Shift | None) -> str:
    if found is None:
        return ""
    if found.ratio is None:
        return figure_text(metric, found.difference)
    text = _percent(found.ratio)
    if found.ratio_low is None or found.ratio_high is None:
        return text
    return f"{text} ({_percent(found.ratio_low)} to {_percent(found.ratio_high)})"


def _percent(ratio: float) -> str:
    return f"{100 * (ratio - 1):+.1f} %"


def _worst(one: Distribution) -> Iterator[str]:
    for number, side in enumerate(one.sides):
        for each in side.worst[:WORST]:
            value = figure_text(one.metric, each.value)
            where = "" if each.host == one.host else f" on {host_words(each.host)}"
            yield f"Worst sample, {run_letter(number)}, trial {each.number}{where}: {value} at {each.time:.0f} s"
