"""benchwright compare, history, best, noise, scaling, burst, heatmap, rounds, agree: analyse stored runs."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, wraps
from pathlib import Path
from typing import Any

import click

from app.bursts import BURST_COLUMNS, burst_chart, burst_rows, burst_to_json, under_load
from app.chart import Chart
from app.cli.common import OutputFile, given_files, json_option, plain, print_json, print_table, verb
from app.cli.tables import (
    print_agreements,
    print_bursts,
    print_comparison,
    print_distributions,
    print_noise,
    print_scaling,
)
from app.comparison.comparison import comparison_to_json
from app.comparison.criteria import ComparisonCriteria
from app.comparison.family import ALL_METRICS
from app.crosscheck.agreement import Agreement
from app.crosscheck.report import agreement_to_json
from app.distributions.distribution import distributions_to_json
from app.export import write_csv
from app.history import SHOWN, History, HistoryQuery, change_columns, history_to_json, notes_of, summary_of
from app.margins import MarginError, Margins, parse_margins
from app.noise import NOISE_COLUMNS, noise_charts, noise_entry_rows, noise_to_json
from app.output import write_whole
from app.ranking.candidates import (
    RankingCriteria,
    RankingGoal,
    Threshold,
    limit_of,
    parse_pairs,
    read_prices,
    weights_of,
)
from app.ranking.ranking import Ranking
from app.ranking.report import HEAD, closing_lines, ranking_csv, ranking_rows, ranking_to_json, shown_columns, title
from app.scaling.scaling import SCALING_COLUMNS, scaling_charts, scaling_rows, scaling_to_json
from app.services import Workstation
from suites.errors import BenchwrightError
from suites.quantities import count_text, direction_text, figure_text, parse_quantity, range_text
from suites.verdict import NOT_JUDGED, trust_mark
from suites.vocab import Labels

runs_argument = click.argument("runs", nargs=-1, required=True)


def _margins(context: click.Context, parameter: click.Parameter, words: tuple[str, ...]) -> Margins:
    try:
        return parse_margins(words)
    except MarginError as error:
        raise click.BadParameter(str(error), context, parameter) from error


margin_option = click.option(
    "--margin",
    "margins",
    multiple=True,
    metavar="[METRIC=]PERCENT",
    callback=_margins,
    help="Equivalence margin, of all metrics or of one, as in latency_p99=10; repeatable.  [default: your own (see "
    "benchwright margins), else 5, and 10 from p99 up]",
)
overrule_option = click.option(
    "--overrule",
    default="",
    metavar="REASON",
    help="Compare despite differences that make runs incomparable; the reason is shown.",
)

metrics_option = click.option(
    "--metric", "metrics", multiple=True, metavar="NAME",
    help="Test this metric too, as named in “show --json”; repeatable.",
)  # fmt: skip
tested_option = click.option("--all", "everything", is_flag=True, help="Test every metric.")


def tested_of(metrics: tuple[str, ...], *, everything: bool) -> frozenset[str]:
    """Return the metrics that --metric and --all select for a verdict."""
    return frozenset({*metrics, ALL_METRICS} if everything else metrics)


@dataclass(frozen=True, slots=True)
class Study:
    """Result of an analysis, printable as text, JSON, CSV or charts."""

    show: Callable[[], None]
    content: Callable[[], object] | None = None
    write_csv: Callable[[Path], object] | None = None
    charts: Callable[[], Sequence[Chart]] | None = None


def print_study(found: Study, *, as_json: bool) -> None:
    """Print a study as JSON or as text."""
    if as_json and found.content is not None:
        print_json(found.content())
    else:
        found.show()


def study(
    *schemas: str, csv: str = "", png: str = "", png_required: bool = False
) -> Callable[[Callable[..., Study | None]], Callable[..., None]]:
    """Add the output options to a command that returns a Study (None: nothing found), and apply them.

    With --json it prints JSON of one of `schemas`; without any it has no such option.
    `csv` and `png` are the help texts of their options; an empty one omits the option.
    """

    def decorated(command: Callable[..., Study | None]) -> Callable[..., None]:
        @wraps(command)
        def given(*arguments: Any, **named: Any) -> None:
            csv_path, png_path = named.pop("csv_path", None), named.pop("png_path", None)
            as_json = named.pop("as_json", False)
            given_files({"csv": csv_path, "png": png_path})
            found = command(*arguments, **named)
            if found is None:
                return
            if csv_path is not None and found.write_csv is not None:
                found.write_csv(csv_path)
            if png_path is not None and found.charts is not None:
                from app.report_image.plots import write_charts

                write_charts(found.charts(), png_path)
            print_study(found, as_json=as_json)
            for path in filter(None, () if as_json else (csv_path, png_path)):
                click.echo(plain(f"Wrote {path}."), err=True)

        made = verb(given)
        made = json_option(*schemas)(made) if schemas else made
        file = OutputFile()
        made = click.option("--png", "png_path", type=file, required=png_required, help=png)(made) if png else made
        return click.option("--csv", "csv_path", type=file, help=csv)(made) if csv else made

    return decorated


@click.command()
@runs_argument
@margin_option
@overrule_option
@metrics_option
@tested_option
@click.option("--levels", is_flag=True, help="Show variance components: in trials, between trials, sessions, hosts.")
@click.option("--distribution", metavar="METRIC", help="Show percentiles of METRIC and their differences.")
@study("compare", "distribution")
def compare(
    workstation: Workstation,
    runs: tuple[str, ...],
    margins: Margins,
    overrule: str,
    metrics: tuple[str, ...],
    everything: bool,
    levels: bool,
    distribution: str | None,
) -> Study:
    """Compare RUNS with the first of them: headline and tail metric of each step, and those of --metric.

    Every metric that is tested makes the others harder to decide (Holm's correction); --json has all metrics.

    A side is a run, or several joined by commas. RUN@HOST and RUN:STEP select one host or one step of a run;
    baseline:NAME and baseline:NAME@VERSION select a baseline. One run alone, if it is a duet, compares its two steps.
    """
    runs = (workstation.duet_sides(runs[0]) if len(runs) == 1 else ()) or runs
    if len(runs) < 2:
        raise BenchwrightError("A comparison needs two runs.", "Name two or more; the first is the baseline.")
    if distribution is not None:
        found = workstation.analyses.distributions(runs, distribution, overrule)
        return Study(partial(print_distributions, found), partial(distributions_to_json, found))
    criteria = ComparisonCriteria(margins, overrule, tested_of(metrics, everything=everything))
    comparison = workstation.compare(runs, criteria)
    unknown = {*metrics, *margins.given} - {row.metric.name for row in comparison.rows}
    if unknown:
        known = ", ".join(dict.fromkeys(row.metric.name for row in comparison.rows))
        raise BenchwrightError(f"No metric {', '.join(sorted(unknown))} in these runs.", f"Name one of: {known}.")
    shown = partial(print_comparison, comparison, selectors=runs, levels=levels, everything=everything)
    return Study(shown, partial(comparison_to_json, comparison))


@click.command()
@click.argument("host")
@click.option("--metric", required=True, metavar="NAME", help="Name of the metric, as in “show --json”.")
@click.option("--step", default="", metavar="NAME", help="Step, if several have the metric.")
@click.option("--label", "given", multiple=True, metavar="NAME=VALUE", help="Label of the figure; repeatable.")
@margin_option
@click.option("--all", "everything", is_flag=True, help=f"Print all runs instead of the newest {SHOWN}.")
@study("history")
def history(
    workstation: Workstation,
    host: str,
    metric: str,
    step: str,
    given: tuple[str, ...],
    margins: Margins,
    everything: bool,
) -> Study:
    """Show the changes of a metric of HOST over all comparable runs, then the runs.

    HOST may be several hosts joined by commas: a group with equal weights.
    """
    hosts = tuple(name.strip() for name in host.split(",") if name.strip())
    found = workstation.history(HistoryQuery(hosts, metric, step, labels_of(given), margins))
    return Study(partial(_print_history, found, everything=everything), partial(history_to_json, found))


def labels_of(given: tuple[str, ...]) -> Labels | None:
    """Return the labels of --label; None for the first ones."""
    pairs = [word.partition("=") for word in given]
    if any(not name or not mark for name, mark, _ in pairs):
        raise BenchwrightError("A label is not NAME=VALUE.", "Write --label operation=read, for example.")
    return tuple(sorted((name, value) for name, _, value in pairs)) if pairs else None


def _print_history(found: History, *, everything: bool) -> None:
    """Print the changes of a history, then its runs."""
    click.echo(plain(f"{found.title}; {direction_text(found.metric.better)}"))
    click.echo(plain(summary_of(found)))
    if found.marked:
        print_table(*change_columns(found))
    for drift in found.drifts:
        click.echo(
            plain(f"Drift since {drift.first.start_text(drift.first.started[:10])} ({drift.first.run}): {drift.text}")
        )
    shown = found.points if everything else found.points[-SHOWN:]
    rows = []
    for point in shown:
        reach = ""
        if point.low is not None and point.high is not None:
            reach = range_text(found.metric, point.low, point.high, value=point.value) + (
                "" if point.interval else " (range)"
            )
        doubt = NOT_JUDGED if point.trust is None else trust_mark(point.trust)
        value = figure_text(found.metric, point.value)
        rows.append([point.run, point.utc_text, value, reach, str(point.n), doubt])
    head = ["Run", "Started (UTC)", "Value", "95 % interval", "n", "Verdict"]
    kept = [number for number, name in enumerate(head) if name != "Verdict" or any(row[number] for row in rows)]
    click.echo()
    print_table([head[number] for number in kept], [[row[number] for number in kept] for row in rows], right=[2, 4])
    if len(shown) < len(found.points):
        click.echo(plain(f"The newest {SHOWN} of {count_text(len(found.points), 'run')}; --all prints all."))
    for line in notes_of(found):
        click.echo(plain(f"Note: {line}"))


all_option = click.option("--all", "everything", is_flag=True, help="All metrics instead of the first of each step.")


@click.command()
@runs_argument
@all_option
@study("noise", csv="Write the entries to this file.", png="Write the chart to this file.")
def noise(workstation: Workstation, runs: tuple[str, ...], everything: bool) -> Study:
    """Rank the results of RUNS by repeatability (CoV). Runs joined by commas form a group."""
    found = workstation.analyses.noise(runs, everything=everything)
    return Study(
        partial(print_noise, found),
        partial(noise_to_json, found),
        partial(write_csv, noise_entry_rows(found), NOISE_COLUMNS),
        partial(noise_charts, found),
    )


@click.command()
@runs_argument
@all_option
@study("scaling", csv="Write the points to this file.", png="Write the chart to this file.")
def scaling(workstation: Workstation, runs: tuple[str, ...], everything: bool) -> Study:
    """Show the scaling of RUNS: knee, efficiency, and a model if there are enough points.

    Runs joined by commas count as one; steps that differ in one parameter are its points.
    """
    found = [one for run in runs for one in workstation.analyses.scaling(run, everything=everything)]
    return Study(
        partial(print_scaling, found),
        partial(scaling_to_json, found),
        partial(write_csv, scaling_rows(found), SCALING_COLUMNS),
        lambda: [chart for one in found for chart in scaling_charts(one)],
    )


@click.command()
@click.argument("run")
@click.option("--load", metavar="RATE", help="Show how long a full bucket serves this rate: 2000, or “100 MB/s”.")
@study("burst", csv="Write the drains to this file.", png="Write the chart to this file.")
def burst(workstation: Workstation, run: str, load: str | None) -> Study:
    """Measure the token bucket of RUN: burst and base rate, size and refill, from drains with rests between them.

    Each trial is a drain that lasts until the rate has fallen to its base; the pause of the plan is the rest.
    """
    found = workstation.analyses.bursts(run)
    if load is not None:
        found = under_load(found, load)
    return Study(
        partial(print_bursts, found),
        partial(burst_to_json, found),
        partial(write_csv, burst_rows(found), BURST_COLUMNS),
        lambda: list(map(burst_chart, found)),
    )


@click.command()
@runs_argument
@click.option("--metric", "metrics", multiple=True, required=True, metavar="NAME[=WEIGHT]",
              help="Metric to rank by; several give a weighted geometric mean of ratios.")  # fmt: skip
@click.option("--step", default="", metavar="NAME", help="Step, if several have the metric.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Label of the figure; repeatable.")
@click.option("--at-least", metavar="X", help="Lower threshold: 20000, or “20000 MB/s”.")
@click.option("--at-most", metavar="X", help="Upper threshold.")
@click.option(
    "--limit", metavar="CONDITION", help="For a sweep, use the best point that meets it: “latency_p99 <= 1 ms”."
)
@click.option(
    "--highest",
    "goal",
    flag_value=RankingGoal.HIGHEST.value,
    default=True,
    help="Rank by the best figure (the default).",
)
@click.option(
    "--cheapest",
    "goal",
    flag_value=RankingGoal.CHEAPEST.value,
    help="Rank by the lowest price that reaches the threshold.",
)
@click.option("--per-price", "goal", flag_value=RankingGoal.PER_PRICE.value, help="Rank by the best figure per price.")
@click.option("--geomean", is_flag=True, help="Combine several metrics into one score.")
@click.option("--price", "pairs", multiple=True, metavar="HOST=PRICE", help="Price per hour, as in web-1=0.34.")
@click.option(
    "--prices", type=click.Path(path_type=Path), help="CSV file of prices: host or instance_type, price, currency."
)
@margin_option
@overrule_option
@study("best", csv="Write the table to this file.")
def best(workstation: Workstation, /, runs: tuple[str, ...], margins: Margins, **given: object) -> Study:
    """Rank RUNS by one metric or several.

    Each host of a run is a candidate; runs joined by commas, or a group baseline, are one. Candidates without a
    significant difference share a rank.
    """
    found = workstation.rank(runs, criteria_of(given, margins))
    return Study(
        partial(_print_ranking, found),
        partial(ranking_to_json, found),
        lambda path: write_whole(path, ranking_csv(found).encode()),
    )


def _print_ranking(ranking: Ranking) -> None:
    click.echo(plain(title(ranking)))
    columns = shown_columns(ranking)
    rows = [[row[column] for column in columns] for row in ranking_rows(ranking)]
    print_table([HEAD[column] for column in columns], rows, right=[2, 4])
    for line in closing_lines(ranking):
        click.echo(plain(f"Note: {line}"))


def criteria_of(given: dict[str, object], margins: Margins) -> RankingCriteria:
    """Return the ranking criteria of the options."""
    weights = weights_of(_texts(given["metrics"]))
    if len(weights) > 1 and not given["geomean"]:
        raise BenchwrightError(
            "Several metrics need --geomean.", "Add --geomean to combine them into one score, or name one metric."
        )
    file = given["prices"]
    prices = {**(read_prices(file) if isinstance(file, Path) else {}), **parse_pairs(_texts(given["pairs"]))}
    return RankingCriteria(
        weights,
        RankingGoal(str(given["goal"])),
        threshold_of(given["at_least"], given["at_most"]),
        limit_of(str(given["limit"])) if given["limit"] else None,
        labels_of(_texts(given["labels"])),
        str(given["step"]),
        prices,
        margins,
        str(given["overrule"]),
    )


def _texts(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, tuple) else ()


def threshold_of(at_least: object, at_most: object) -> Threshold | None:
    """Return the threshold of --at-least or --at-most."""
    if at_least is not None and at_most is not None:
        raise BenchwrightError("--at-least and --at-most exclude each other.", "Give one threshold.")
    text = at_least if at_least is not None else at_most
    if text is None:
        return None
    value, unit = parse_quantity(str(text))
    return Threshold(value, at_least is not None, unit)


@click.command()
@click.argument("run")
@study(png="Write the chart to this file, one map per trial.", png_required=True)
def heatmap(workstation: Workstation, run: str) -> Study | None:
    """Draw a latency heat map of each trial of RUN, if its tool records a histogram over time.

    The map shows bimodal latency, periodic stalls and growing tails, which percentiles hide.
    """
    charts = workstation.analyses.heat(run)
    if not charts:
        click.echo("No trial of the run has a latency histogram over time; fio records them.", err=True)
        return None
    return Study(partial(_print_charts, charts, "{0.title}: {1}."), charts=lambda: charts)


@click.command()
@click.argument("run")
@study(png="Write the chart to this file, one chart per trial.", png_required=True)
def rounds(workstation: Workstation, run: str) -> Study | None:
    """Draw the tracked metric of each trial of RUN over its rounds, with range and fitted line of the last five.

    A window within its range but with a falling line is a slow decay; compare it with the five rounds before.
    """
    charts = workstation.analyses.rounds(run)
    if not charts:
        click.echo("No trial of the run has rounds; fio-snia records them.", err=True)
        return None
    return Study(partial(_print_charts, charts, "{0.title}: {0.note}"), charts=lambda: charts)


def _print_charts(charts: Sequence[Chart], line: str) -> None:
    for chart in charts:
        click.echo(plain(line.format(chart, chart.note.partition(". ")[0])))


@click.command()
@click.argument("run")
@margin_option
@study("agree")
def agree(workstation: Workstation, run: str, margins: Margins) -> Study:
    """Show whether equivalent tools of RUN agree, and why not."""
    found = workstation.agreements(run, margins)
    if not found:
        raise BenchwrightError(f"{run} has no equivalent tools.", f"Propose one with: benchwright second-opinion {run}")
    return agreement_study(found, workstation.load(run).summary.id)


def agreement_study(found: Sequence[Agreement], run_id: str) -> Study:
    """Return the agreements of a run's tools as a study."""

    def show() -> None:
        click.echo(plain(f"Run {run_id}"))
        print_agreements(found)

    return Study(show, lambda: {"run": run_id, "agreements": [agreement_to_json(one) for one in found]})
