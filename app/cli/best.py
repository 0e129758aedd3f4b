"""benchwright best: which is best, as the user defines it."""

from pathlib import Path

import click

from app.amounts import amount_of, limit_of, weights_of
from app.cli.common import json_option, pass_workstation, plain, print_json, print_table, speaks_to_people
from app.cli.comparing import margin_option, overrule_option, share_of
from app.cli.history import labels_of
from app.ranking.prices import parse_pairs, read_prices
from app.ranking.ranking import Goal, Question, Threshold
from app.ranking.ranking_json import ranking_to_json
from app.ranking.ranking_text import HEAD, closing_lines, ranking_csv, ranking_rows, shown_columns, title
from app.services import Workstation
from app.writing import write_whole
from suites.errors import BenchwrightError


@click.command()
@click.argument("runs", nargs=-1, required=True)
@click.option("--metric", "metrics", multiple=True, required=True, metavar="NAME[=WEIGHT]",
              help="What counts; given again, the weighted geometric mean of ratios.")  # fmt: skip
@click.option("--step", default="", metavar="NAME", help="The step, where several have the metric.")
@click.option("--label", "labels", multiple=True, metavar="NAME=VALUE", help="Which figure of it; may be given again.")
@click.option("--at-least", metavar="X", help="A threshold: 20000, or “20000 MB/s”.")
@click.option("--at-most", metavar="X", help="A threshold from above.")
@click.option(
    "--limit", metavar="CONDITION", help="Of a sweep the best point at which it holds: “latency_p99 <= 1 ms”."
)
@click.option("--highest", "goal", flag_value=Goal.HIGHEST.value, default=True, help="The best figure (the default).")
@click.option("--cheapest", "goal", flag_value=Goal.CHEAPEST.value, help="The lowest price that reaches the threshold.")
@click.option("--per-price", "goal", flag_value=Goal.PER_PRICE.value, help="The best figure for the money.")
@click.option("--geomean", is_flag=True, help="Say that several metrics are meant to be one score.")
@click.option("--price", "pairs", multiple=True, metavar="HOST=PRICE", help="What an hour costs, as in web-1=0.34.")
@click.option("--prices", type=click.Path(path_type=Path), help="A CSV file: host or instance_type, price, currency.")
@margin_option
@overrule_option
@click.option("--csv", "csv_path", type=click.Path(path_type=Path), help="Write the table here.")
@json_option
@pass_workstation
@speaks_to_people
def best(workstation: Workstation, /, runs: tuple[str, ...], **given: object) -> None:
    """Rank RUNS by what you call best.

    A run gives a candidate for each of its hosts; runs joined by commas, or a group baseline, are one. Those that
    cannot be told apart share a place.
    """
    ranking = workstation.rank(runs, question_of(given))
    if isinstance(path := given["csv_path"], Path):
        write_whole(path, ranking_csv(ranking).encode())
    if given["as_json"]:
        print_json(ranking_to_json(ranking))
        return
    click.echo(plain(title(ranking)))
    columns = shown_columns(ranking)
    rows = [[row[column] for column in columns] for row in ranking_rows(ranking)]
    print_table([HEAD[column] for column in columns], rows, right=[2, 4])
    for line in closing_lines(ranking):
        click.echo(plain(f"Note: {line}"))


def question_of(given: dict[str, object]) -> Question:
    """Return what the options ask."""
    weights = weights_of(_texts(given["metrics"]))
    if len(weights) > 1 and not given["geomean"]:
        raise BenchwrightError("Several metrics are given.", "Say --geomean to make one score of them, or name one.")
    file = given["prices"]
    prices = {**(read_prices(file) if isinstance(file, Path) else {}), **parse_pairs(_texts(given["pairs"]))}
    return Question(
        weights,
        Goal(str(given["goal"])),
        threshold_of(given["at_least"], given["at_most"]),
        limit_of(str(given["limit"])) if given["limit"] else None,
        labels_of(_texts(given["labels"])),
        str(given["step"]),
        prices,
        None if given["margin"] is None else share_of(float(str(given["margin"]))),
        str(given["overrule"]),
    )


def _texts(given: object) -> tuple[str, ...]:
    return tuple(map(str, given)) if isinstance(given, tuple) else ()


def threshold_of(at_least: object, at_most: object) -> Threshold | None:
    """Return the threshold of --at-least or --at-most."""
    if at_least is not None and at_most is not None:
        raise BenchwrightError("Both --at-least and --at-most are given.", "A ranking has one threshold.")
    text = at_least if at_least is not None else at_most
    if text is None:
        return None
    value, unit = amount_of(str(text))
    return Threshold(value, at_least is not None, unit)
