"""Every number of the command line and of plan files is finite and bounded, or refused by name."""

import math
from collections.abc import Iterator
from typing import Any

import click
import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.plans.plan import make_step
from app.plans.plan_file import format_plan, parse_plan
from suites.errors import BenchwrightError
from suites.parameters import Type
from suites.registry import SUITES
from tests.program import BAD_INPUT

HOSTILE = ("nan", "inf", "-inf", "1e308", "9" * 400, "-1e9", "")
"""Never the value of an option, in any of its units."""


def _commands(command: click.Command, words: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            if inner := command.get_command(context, name):
                yield from _commands(inner, (*words, name))
    else:
        yield words, command


NUMBERS = [
    (words, option)
    for words, command in _commands(benchwright)
    for option in command.params
    if isinstance(option.type, click.types.IntParamType | click.types.FloatParamType)
]
IDS = [" ".join((*words, option.opts[-1])) for words, option in NUMBERS]


def test_every_number_of_the_command_line_is_bounded() -> None:
    assert len(NUMBERS) >= 16
    for words, option in NUMBERS:
        assert isinstance(option.type, click.IntRange | click.FloatRange), (words, option.name)
        assert option.type.min is not None, (words, option.name)
        assert option.type.max is not None, (words, option.name)


@pytest.mark.parametrize(("words", "option"), NUMBERS, ids=IDS)
@pytest.mark.parametrize("text", HOSTILE, ids=["nan", "inf", "-inf", "1e308", "400 digits", "-1e9", "empty"])
def test_a_number_that_is_none_is_refused_by_the_options_name(
    words: tuple[str, ...], option: click.Parameter, text: str
) -> None:
    given = ["--", "iops", text] if isinstance(option, click.Argument) else [f"{option.opts[-1]}={text}"]
    ran = CliRunner().invoke(benchwright, [*words, *given])
    assert (ran.exit_code, ran.stdout) == (BAD_INPUT, "")
    assert option.opts[-1] in ran.stderr.lower()


@pytest.mark.parametrize(("words", "option"), NUMBERS, ids=IDS)
def test_minus_zero_is_zero_or_refused(words: tuple[str, ...], option: click.Parameter) -> None:
    try:
        value = option.type.convert("-0", option, None)
    except click.UsageError:
        return
    assert math.copysign(1, value) == 1


def _plan(table: str, line: str) -> str:
    return f'hosts = ["local"]\n[[step]]\nsuite = "fio"\n{table}\n{line}\n'


FIELDS = ("trials", "warm_ups", "pause", "precision", "margin", "confidence", "minimum", "cap", "budget")
POLICY = {
    **dict.fromkeys(("precision", "minimum", "cap"), "until-interval"),
    **dict.fromkeys(("margin", "confidence"), 'until-verdict"\nbaseline = "first'),
    "budget": "budget",
}


@pytest.mark.parametrize("name", FIELDS)
@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "1e308", "-1e308", "9" * 400, "0x" + "f" * 6000, "-1"])
def test_a_number_of_a_repetition_is_refused_by_name(name: str, text: str) -> None:
    policy = POLICY.get(name, "fixed")
    with pytest.raises(BenchwrightError, match=r"a whole number|" + name) as caught:
        parse_plan(_plan("[repetition]", f'policy = "{policy}"\n{name} = {text}'))
    assert len(str(caught.value)) < 300


@pytest.mark.parametrize("name", ["pause", "warm_ups"])
def test_minus_zero_is_written_as_zero(name: str) -> None:
    made = parse_plan(_plan("[repetition]", f"{name} = -0{'.0' if name == 'pause' else ''}"))
    assert "-0" not in format_plan(made)


@pytest.mark.parametrize("text", ["nan", "inf", "-inf", "9" * 400, "0x" + "f" * 6000])
def test_a_number_of_a_goal_is_finite(text: str) -> None:
    with pytest.raises(BenchwrightError):
        parse_plan(_plan("[[goal]]", f'metric = "iops"\nat_least = {text}'))


def _numbers_of_suites() -> Iterator[tuple[str, str]]:
    for suite in SUITES:
        for parameter in suite.parameters:
            if parameter.type in {Type.INTEGER, Type.NUMBER, Type.DURATION, Type.SIZE}:
                yield suite.id, parameter.name


@pytest.mark.parametrize(("suite", "name"), [*_numbers_of_suites()])
def test_a_number_of_a_step_is_finite_and_not_minus_zero(suite: str, name: str) -> None:
    for value in (math.nan, math.inf, -math.inf, 1e308, -1e308, 10**400, -(16**6000), "nan", "inf", "1e308", "9" * 400):
        given: Any = value
        with pytest.raises(BenchwrightError, match=name) as caught:
            make_step(suite, {name: given})
        assert len(str(caught.value)) < 400
    try:
        kept = make_step(suite, {name: -0.0}).values[name]
    except BenchwrightError:
        return
    assert math.copysign(1, float(kept)) == 1
