"""JSON from a tool that may be broken or hostile."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from suites.strict_json import read_json


def test_reads_what_json_holds() -> None:
    assert read_json('{"a": [1, 2.5, "x", true, null]}') == {"a": [1, 2.5, "x", True, None]}


@pytest.mark.parametrize("text", ["[NaN]", "[Infinity]", "[-Infinity]", "[1e999]", "[-1e999]"])
def test_refuses_what_is_no_figure(text: str) -> None:
    with pytest.raises(ValueError, match="not a number"):
        read_json(text)


def test_refuses_a_number_of_a_hundred_thousand_digits() -> None:
    with pytest.raises(ValueError, match="100000 digits"):
        read_json("[" + "9" * 100_000 + "]")


def test_refuses_what_is_nested_too_deep() -> None:
    with pytest.raises(ValueError, match="too deep"):
        read_json("[" * 100_000 + "]" * 100_000)


def test_refuses_two_values_of_one_name() -> None:
    with pytest.raises(ValueError, match="“iops” twice"):
        read_json('{"iops": 1, "iops": 2}')


def test_keeps_a_value_said_twice_and_options_given_twice() -> None:
    assert read_json('{"0.00": 0, "0.00": 0}') == {"0.00": 0}
    assert read_json('{"bs": "4k", "bs": "64k"}') == {"bs": "64k"}


@given(st.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        read_json(text)
    except ValueError:
        return
