"""Natural order of host names, addresses, kernels and step labels."""

import pytest

from app.natural_order import natural_key


@pytest.mark.parametrize(
    "ordered",
    [
        ["web-2", "web-10", "web-10b", "Web-11"],
        ["10.20.30.2", "10.20.30.10", "10.100.0.1"],
        ["6.1.0-9-amd64", "6.1.0-28-amd64", "6.12.0"],
        ["", "4k qd1", "4k qd32", "16k qd1", "randread"],
        ["9" * 17, "1" + "0" * 17],
    ],
)
def test_numbers_in_texts_count_as_numbers(ordered: list[str]) -> None:
    as_text = sorted(ordered)
    assert sorted(as_text, key=natural_key) == ordered


def test_any_text_has_a_key() -> None:
    hostile = ["9" * 10_000, "²", "٣", "-1", "\ud800", "1.5e9"]
    assert len(sorted(hostile, key=natural_key)) == len(hostile)
