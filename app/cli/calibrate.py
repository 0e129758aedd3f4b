"""benchwright calibrate: measure the overhead of measuring on a host, and its noise."""

from collections.abc import Generator

import click

from app.calibration.calibrate import TRIALS, CalibrationDone, CalibrationFailedError, CalibrationRequest
from app.calibration.report import (
    LIST_HEAD,
    NOISE_HEAD,
    CalibrationJson,
    calibration_row,
    instrument_rows,
    noise_lines,
    noise_rows,
    noise_to_json,
)
from app.cli.common import FAILED, Whole, json_verb, plain, print_error, print_json, print_table
from app.cli.progress import busy_options, follow
from app.cli.prompts import TerminalAsker, with_asker
from app.cli.studies import margin_option
from app.comparison.estimates import FEWEST_TRIALS
from app.events import Event
from app.formats import calibration_to_json
from app.margins import Margins
from app.plans.plan import MAXIMUM_TRIALS
from app.records import Calibration
from app.runs.control import BusyPolicy, Control
from app.services import Workstation
from app.verb_results import DeletedCalibrations
from suites.errors import BenchwrightError


@click.command()
@click.argument("host")
@click.option("--suite", default="", help="Suite to repeat.  [default: sysbench-cpu, or compute]")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the suite; repeatable.")
@click.option(
    "--trials",
    type=Whole(FEWEST_TRIALS, MAXIMUM_TRIALS),
    default=TRIALS,
    show_default=True,
    help="Trials with telemetry, and as many without.",
)
@click.option("--list", "only_list", is_flag=True, help="List the calibrations of HOST; measure nothing.")
@click.option("--forget", is_flag=True, help="Delete the calibrations of HOST; measure nothing.")
@margin_option
@with_asker
@busy_options
@json_verb("calibration", "calibrations", "calibrate-forget")
def calibrate(
    workstation: Workstation,
    host: str,
    suite: str,
    given: tuple[str, ...],
    trials: int,
    margins: Margins,
    asker: TerminalAsker,
    busy: BusyPolicy,
    *,
    only_list: bool,
    forget: bool,
    as_json: bool,
) -> None:
    """Calibrate HOST: measure its noise, and how many trials show a difference of the margin.

    Measures clock and timers, the connection, the overhead of telemetry, and a suite again and again. Each calibration
    is a session: several on different days give the variation between sessions.
    """
    if forget:
        deleted = workstation.forget_calibrations(host)
        if as_json:
            print_json(DeletedCalibrations(host=host, deleted=deleted))
        else:
            click.echo(plain(f"Calibrations deleted: {deleted}"))
        return
    if only_list:
        _list(workstation, host, margins, as_json=as_json)
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
        _print(workstation, found, margins, as_json=as_json)


def _pairs(given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for word in given:
        if "=" not in word:
            raise BenchwrightError(f"“{word[:60]}” is not NAME=VALUE.", "Write --set threads=4, for example.")
    return tuple((word.partition("=")[0], word.partition("=")[2]) for word in given)


def _list(workstation: Workstation, host: str, margins: Margins, *, as_json: bool) -> None:
    """Print the calibrations of a host, and the noise of each parameter set over its sessions."""
    found = workstation.calibrations(host)
    if as_json:
        print_json([_to_json(workstation, one, margins) for one in found])
        return
    if not found:
        click.echo("No calibrations.")
        return
    print_table(LIST_HEAD, [calibration_row(one) for one in found], right=(2,))
    newest = {(one.suite, one.parameters): one for one in reversed(found)}
    for one in reversed(newest.values()):
        click.echo(plain(f"\n{one.suite}, parameters of run {one.run}"))
        _print_noise(workstation, one, margins)


def _print(workstation: Workstation, found: Calibration, margins: Margins, *, as_json: bool) -> None:
    if as_json:
        print_json(_to_json(workstation, found, margins))
        return
    print_table(("Instrument", ""), instrument_rows(found.instrument))
    click.echo("")
    _print_noise(workstation, found, margins)


def _to_json(workstation: Workstation, found: Calibration, margins: Margins) -> CalibrationJson:
    sessions = noise_to_json(workstation.session_noise(found), workstation.margins(margins))
    return {**calibration_to_json(found), "sessions": sessions}


def _print_noise(workstation: Workstation, found: Calibration, margins: Margins) -> None:
    noise, wanted = workstation.session_noise(found), workstation.margins(margins)
    if noise:
        print_table(NOISE_HEAD, noise_rows(noise, wanted), right=range(1, len(NOISE_HEAD)))
    for line in noise_lines(found, noise, wanted):
        click.echo(plain(line))
