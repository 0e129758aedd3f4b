"""benchwright calibrate: what measuring itself costs on a host, and how far figures differ there by themselves."""

from collections.abc import Generator

import click

from app.calibration.calibrating import TRIALS, Calibrated, CalibrationFailedError, Wanted
from app.calibration.calibration import Calibration
from app.calibration.to_json import calibration_to_json
from app.calibration.words import alarm_lines, instrument_rows, noise_rows, standing
from app.cli.asking import TerminalAsker, asks
from app.cli.common import (
    FAILED,
    json_option,
    pass_workstation,
    plain,
    print_json,
    print_table,
    say_error,
    speaks_to_people,
)
from app.cli.telling import follow, minds_others
from app.comparing.intervals import FEWEST_TRIALS
from app.events import Event
from app.plans.plan import MAXIMUM_TRIALS
from app.runs.control import Busy, Control
from app.services import Workstation
from suites.errors import BenchwrightError


@click.command()
@click.argument("host")
@click.option("--suite", default="", help="Run this suite against itself (default: sysbench-cpu, or compute).")
@click.option("--set", "given", multiple=True, metavar="NAME=VALUE", help="A parameter of the suite; repeatable.")
@click.option(
    "--trials",
    type=click.IntRange(FEWEST_TRIALS, MAXIMUM_TRIALS),
    default=TRIALS,
    show_default=True,
    help="Trials on each of the two sides.",
)
@click.option("--list", "only_list", is_flag=True, help="Measure nothing: show the calibrations of HOST.")
@click.option("--forget", is_flag=True, help="Measure nothing: forget the calibrations of HOST.")
@asks
@minds_others
@json_option
@pass_workstation
@speaks_to_people
def calibrate(
    workstation: Workstation,
    host: str,
    suite: str,
    given: tuple[str, ...],
    trials: int,
    asker: TerminalAsker,
    busy: Busy,
    *,
    only_list: bool,
    forget: bool,
    as_json: bool,
) -> None:
    """Measure the instrument on HOST, so that margins are the host's own.

    Its clock and timers, the way to it, what telemetry costs, and a suite against itself: how far apart figures lie
    when nothing differs. Comparisons and verdicts use it until the host changes.
    """
    if forget:
        click.echo(plain(f"{workstation.forget_calibrations(host)} forgotten."))
        return
    if only_list:
        _list(workstation.calibrations(host), as_json=as_json)
        return
    control = Control(busy)
    made: list[Calibration] = []

    def events() -> Generator[Event]:
        for event in workstation.calibrate(host, Wanted(suite, trials, _pairs(given)), asker, control):
            if isinstance(event, Calibrated):
                made.append(event.calibration)
            else:
                yield event

    try:
        follow(events(), control, quiet=as_json)
    except CalibrationFailedError as error:
        say_error(str(error))
        raise SystemExit(FAILED) from None
    for found in made:
        _say(found, as_json=as_json)


def _pairs(given: tuple[str, ...]) -> tuple[tuple[str, str], ...]:
    for word in given:
        if "=" not in word:
            raise BenchwrightError(f"“{word[:60]}” sets nothing.", "Write NAME=VALUE.")
    return tuple((word.partition("=")[0], word.partition("=")[2]) for word in given)


def _list(found: tuple[Calibration, ...], *, as_json: bool) -> None:
    if as_json:
        print_json([calibration_to_json(one) for one in found])
        return
    if not found:
        click.echo("There is no calibration.")
        return
    print_table(("Made (UTC)", "Suite", "CoV", "Margin", "Run", ""), [standing(one) for one in found], right=(2, 3))


def _say(found: Calibration, *, as_json: bool) -> None:
    if as_json:
        print_json(calibration_to_json(found))
        return
    print_table(("Instrument", ""), instrument_rows(found.instrument))
    click.echo("")
    print_table(
        ("Metric", "n", "CoV", "Shows with 6 trials a side", "10", "20"), noise_rows(found), right=(1, 2, 3, 4, 5)
    )
    click.echo("")
    for line in alarm_lines(found):
        click.echo(plain(line))
