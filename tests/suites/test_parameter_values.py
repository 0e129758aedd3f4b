"""A value is taken as it was meant and written to its last digit; where a tool drops fractions they are refused."""

import math

import pytest

from suites.errors import ParameterError
from suites.parameters import Parameter, Type, format_duration, parse_duration
from suites.sysbench.output import TIME


@pytest.mark.parametrize("given", [1.5, "1.5", "1500 ms"])
def test_a_fraction_is_refused(given: object) -> None:
    with pytest.raises(ParameterError, match="whole number"):
        TIME.parse(given)


@pytest.mark.parametrize("given", [2, 2.0, "2", "2 s", "2000 ms"])
def test_a_whole_number_is_taken_however_written(given: object) -> None:
    assert TIME.parse(given) == 2


@pytest.mark.parametrize("seconds", [1234567.5, 100000.5, 1000001.0, 0.25, 604800.0, 0.00002, 0.0005])
def test_a_duration_is_written_to_the_last_digit(seconds: float) -> None:
    assert parse_duration(format_duration(seconds)) == seconds


@pytest.mark.parametrize("given", ["20 us", "20µs", "20 \u03bcs", "0.02 ms"])
def test_a_duration_is_read_in_microseconds(given: str) -> None:
    assert parse_duration(given) == 0.00002


def test_a_number_is_written_to_the_last_digit() -> None:
    pause = Parameter(name="pause", title="Pause", type=Type.NUMBER, default=0.0, help="", maximum=1e6)
    assert pause.parse(pause.format(123456.75)) == 123456.75
    assert pause.bounds() == "at most 1000000"


@pytest.mark.parametrize("kind", [Type.INTEGER, Type.NUMBER])
@pytest.mark.parametrize("given", [10**18 + 1, 2**63 - 1, 1e300, math.inf, math.nan])
def test_a_number_beyond_the_largest_is_refused_in_one_way(kind: Type, given: float) -> None:
    parameter = Parameter(name="pause", title="Pause", type=kind, default=0, help="")
    with pytest.raises(ParameterError, match="at most 10\\^18") as caught:
        parameter.parse(given)
    assert "finite" not in str(caught.value)
    assert parameter.parse(10**18) == 10**18


@pytest.mark.parametrize(
    ("name", "option", "label"),
    [
        ("table_count", "--tables", "tables"),
        ("runtime", "--runtime, --time_based", "runtime"),
        ("scale", "-s", "scale"),
    ],
)
def test_a_parameter_without_a_title_is_labelled_with_the_tools_token(name: str, option: str, label: str) -> None:
    assert Parameter(name=name, option=option, type=Type.INTEGER, default=1, help="").title == label
