"""benchwright calibrate: measure the overhead of measuring on a host, and its noise (A/A test)."""

from collections.abc import Generator

import click

from app.calibration.calibrate import TRIALS, CalibrationDone, CalibrationFailedError, CalibrationRequest
from app.calibration.report import NOISE_HEAD, alarm_lines, calibration_row, instrument_rows, noise_rows
from app.cli.common import FAILED, json_verb, plain, print_error, print_json, print_table
from app.cli.progress import busy_options, follow
from app.cli.prompts import TerminalAsker, with_asker
from app.comparison.estimates import FEWEST_TRIALS
from app.events import Event
from app.formats import calibration_to_json
from app.plans.plan import MAXIMUM_TRIALS
from app.records import Calibration
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from suites.errors import BenchwrightError


@click.command()
@click.argument("host")
@click.option("--suite", default="", help="Suite of the A/A test.  [default: sysbench-cpu, or compute]")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the suite; repeatable.")
@click.option(
    "--trials",
    type=click.IntRange(FEWEST_TRIALS, MAXIMUM_TRIALS),
    default=TRIALS,
    show_default=True,
    help="Trials per side.",
)
@click.option("--list", "only_list", is_flag=True, help="List the calibrations of HOST; measure nothing.")
@click.option("--forget", is_flag=True, help="Delete the calibrations of HOST; measure nothing.")
@with_asker
@busy_options
@json_verb
def calibrate(
    workstation: Workstation,
    host: str,
    suite: str,
    given: tuple[str, ...],
    trials: int,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    only_list: bool,
    forget: bool,
    as_json: bool,
) -> None:
    """Calibrate HOST: measure its noise, so that comparisons use its own margin.

    Measures clock and timers, the connection, the overhead of telemetry, and a suite against itself (A/A test).
    Comparisons and verdicts use the result until the host changes.
    """
    if forget:
        click.echo(plain(f"Calibrations deleted: {workstation.forget_calibrations(host)}"))
        return
    if only_list:
        _list(workstation.calibrations(host), as_json=as_json)
        return
    control = Control(busy)
    calibrations: list[Calibration] = []

    def events() -> Generator[Event]:
        for event in workstation.calibrate(host, CalibrationRequest(suite, trials, _pairs(given)), asker, control):
            if isinstance(event, CalibrationDone):
                calibrations.append(event.calibration)
            else:
                yield event

    try:
        follow(events(), control, quiet=as_json)
    except CalibrationFailedError as error:
        print_error(str(error))
        raise SystemExit(FAILED) from None
    for found in calibrations:
        _print(found, as_json=as_json)


def _pairs(given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for word in given:
        if "=" not in word:
            raise BenchwrightError(f"“{word[:60]}” is not NAME=VALUE.", "Write --set threads=4, for example.")
    return tuple((word.partition("=")[0], word.partition("=")[2]) for word in given)


def _list(found: tuple[Calibration, ...], *, as_json: bool) -> None:
    if as_json:
        print_json([calibration_to_json(one) for one in found])
        return
    if not found:
        click.echo("No calibrations.")
        return
    print_table(
        ("Made (UTC)", "Suite", "CoV", "Margin", "Run", ""), [calibration_row(one) for one in found], right=(2, 3)
    )


def _print(found: Calibration, *, as_json: bool) -> None:
    if as_json:
        print_json(calibration_to_json(found))
        return
    print_table(("Instrument", ""), instrument_rows(found.instrument))
    click.echo("")
    print_table(NOISE_HEAD, noise_rows(found), right=(1, 2, 3, 4, 5))
    click.echo("")
    for line in alarm_lines(found):
        click.echo(plain(line))
