"""Numbers for people keep the digits the measurement supports, and say which way is better."""

import math
import re

import click
import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.cli.common import Number, Whole
from app.ranking.candidates import parse_price
from suites.errors import BenchwrightError, ParameterError
from suites.parameters import Parameter, Type
from suites.quantities import (
    NOT_KNOWN,
    clock_text,
    count_text,
    decimals,
    direction_text,
    duration_text,
    edges_text,
    ends_text,
    figure_text,
    first_upper,
    frequency_text,
    label_text,
    listed,
    metric_text,
    offset_text,
    parse_quantity,
    quantity,
    range_text,
    ratio_text,
    scale,
    share_text,
    shares_text,
    times_text,
    uncertainty_text,
)
from suites.registry import SUITES
from suites.units import Unit, convert, same_dimension, ungrouped
from suites.vocab import Better, Metric, MetricKind

IOPS = Metric("iops", "I/O operations", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
EVENTS = Metric("events", "Events", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
FLOPS = Metric("linpack", "LINPACK", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
LATENCY = Metric("latency", "Latency", Unit.MICROSECOND, Better.LOWER, MetricKind.TIME)

positive = st.floats(min_value=1e-9, max_value=1e15)


def test_only_the_first_letter_becomes_upper_case() -> None:
    assert (first_upper("read of fio"), first_upper("4 KiB"), first_upper("")) == ("Read of fio", "4 KiB", "")


@pytest.mark.parametrize(
    ("metric", "value", "interval", "text"),
    [
        (IOPS, 412337.19, None, "412k IOPS"),
        (IOPS, 412337.19, 3214.0, "412.3k IOPS"),
        (IOPS, 412337.19, 32140.0, "412k IOPS"),
        (IOPS, 3999.1, None, "3999 IOPS"),
        (EVENTS, 1234.5, 3.3, "1234.5/s"),
        (EVENTS, 12_345_678.0, None, "12.3M/s"),
        (LATENCY, 212.34, None, "212 µs"),
        (LATENCY, 1212.34, None, "1.21 ms"),
        (LATENCY, 0.0, None, "0 ns"),
        (LATENCY, math.nan, None, NOT_KNOWN),
    ],
)
def test_figure_shows_the_digits_its_interval_supports(
    metric: Metric, value: float, interval: float | None, text: str
) -> None:
    assert figure_text(metric, value, interval) == text


def test_spread_stands_in_the_prefix_of_its_value() -> None:
    assert uncertainty_text(IOPS, 412337.19, 3214.0) == "± 3.2k"
    assert uncertainty_text(EVENTS, 12.345e9, 21e6) == "± 0.021G"
    assert uncertainty_text(FLOPS, 7.123e9, 21e6) == "± 0.021"
    assert uncertainty_text(LATENCY, 212.3, 4.2) == "± 4.2"


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (1.5e9, Unit.BYTES_PER_SECOND, "1.5 GB/s"),
        (1500.0, Unit.MB_PER_SECOND, "1.5 GB/s"),
        (1024.0, Unit.MIB_PER_SECOND, "1.07 GB/s"),
        (941.5, Unit.MBIT_PER_SECOND, "942 Mbit/s"),
        (0.83, Unit.PERCENT, "0.83 %"),
        (3.14159, Unit.ONE, "3.14"),
        (2.5e-10, Unit.ONE, "2.5e-10"),
        (1e-12, Unit.PER_SECOND, "1e-12/s"),
    ],
)
def test_quantity_takes_the_prefix_of_its_unit(value: float, unit: Unit, text: str) -> None:
    assert quantity(value, unit) == text


def test_byte_rates_of_every_tool_are_shown_in_one_family_of_units() -> None:
    rates = [one for each in SUITES for one in each.metrics if same_dimension(one.unit, Unit.BYTES_PER_SECOND)]
    binary = {one.unit for one in rates} & {Unit.KIB_PER_SECOND, Unit.MIB_PER_SECOND}
    assert binary == {Unit.KIB_PER_SECOND, Unit.MIB_PER_SECOND}, "tools count in several"
    shown = {figure_text(one, convert(5e9, Unit.BYTES_PER_SECOND, one.unit)) for one in rates}
    assert shown == {"5.00 GB/s", "40.0 Gbit/s"}


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (41_000.0, Unit.PER_SECOND, "41.0k/s"),
        (19.0, Unit.PER_SECOND, "19.0/s"),
        (3700.0, Unit.PER_SECOND, "3700/s"),
        (0.0012, Unit.SECOND, "1.20 ms"),
        (2**33, Unit.BYTE, "8.00 GiB"),
        (0.0, Unit.PERCENT, "0 %"),
        (math.nan, Unit.SECOND, NOT_KNOWN),
    ],
)
def test_a_measured_quantity_keeps_its_three_digits(value: float, unit: Unit, text: str) -> None:
    assert quantity(value, unit, measured=True) == text


@given(positive, st.sampled_from(list(Unit)))
def test_quantity_is_right_to_half_a_percent(value: float, unit: Unit) -> None:
    """Three significant digits err by 0.5 % at most, whatever prefix was chosen."""
    text = quantity(value, unit)
    number, prefixed = re.fullmatch(r"(-?[\d.]+) ?(\S*)", text).groups()  # type: ignore[union-attr]  # a miss fails
    if unit is Unit.ONE or unit is Unit.PER_SECOND:
        shown = float(number) * {"k/s": 1e3, "M/s": 1e6, "G/s": 1e9}.get(prefixed, 1.0)
    else:
        known = {
            "GB/s": 1e9,
            "Gbit/s": 1e9 / 8,
            "kbit/s": 1e3 / 8,
            "TiB": 2**40,
            "GiB": 2**30,
            "MiB": 2**20,
            "KiB": 2**10,
        }
        factor = known.get(prefixed)
        base = unit if unit is Unit.BYTE else Unit.BYTES_PER_SECOND
        shown = (
            convert(float(number) * factor, base, unit)
            if factor is not None
            else convert(float(number), Unit(prefixed.replace("µ", "u")), unit)
        )
    if value >= 1e-6:
        assert shown == pytest.approx(value, rel=0.0051, abs=1e-9)


@given(positive, positive)
def test_two_digits_of_the_interval_and_three_of_the_value_are_shown(value: float, interval: float) -> None:
    places = decimals(value, interval)
    if 0 < places < 9:
        least = (round(interval * 10**places, 6) / 10, round(value * 10**places, 6) / 100)
        assert min(least) >= 1
        assert min(least) < 10.1


@given(st.floats(min_value=1e-6, max_value=1e6), st.sampled_from(list(Better)))
def test_ratio_says_better_or_worse_unless_it_shows_as_one(ratio: float, better: Better) -> None:
    text = ratio_text(ratio, better)
    figures = float(text.split("x")[0])
    if figures == 1:
        assert "," not in text
    else:
        assert ("better" in text) == ((ratio > 1) == (better is Better.HIGHER))
        assert figures == pytest.approx(ratio, rel=0.05)


@pytest.mark.parametrize(
    ("ratio", "text"),
    [
        (1.04, "1.04x, better"),
        (0.96, "0.96x, worse"),
        (1.003, "1.00x"),
        (12.34, "12.3x, better"),
        (math.inf, NOT_KNOWN),
    ],
)
def test_ratio_text(ratio: float, text: str) -> None:
    assert ratio_text(ratio, Better.HIGHER) == text


def test_a_ratio_without_its_direction_keeps_all_its_digits() -> None:
    assert [times_text(ratio) for ratio in (0.5, 1.04, 2e6)] == ["0.50x", "1.04x", "over 1,000,000x"]


def test_lower_latency_is_better() -> None:
    assert ratio_text(1.04, Better.LOWER) == "1.04x, worse"
    assert ratio_text(0.5, Better.LOWER) == "0.50x, better"


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (0.42, "0.4 s"),
        (9.97, "10 s"),
        (59.6, "1 min"),
        (130, "2 min 10 s"),
        (3599.7, "1 h"),
        (3900, "1 h 5 min"),
        (47 * 3600, "47 h"),
        (3 * 86400 + 4 * 3600, "3 d 4 h"),
    ],
)
def test_duration_text(seconds: float, text: str) -> None:
    assert duration_text(seconds) == text


@given(st.floats(min_value=0, max_value=1e7))
def test_duration_is_right_to_the_unit_it_shows(seconds: float) -> None:
    factors = {"s": 1, "min": 60, "h": 3600, "d": 86400}
    words = duration_text(seconds).split()
    shown = sum(float(number) * factors[unit] for number, unit in zip(words[::2], words[1::2], strict=True))
    coarse = 1830.5 if "d" in words else 30.5
    assert abs(shown - seconds) <= (0.051 if "." in words[0] else 0.5 if seconds < 3599 else coarse)


@pytest.mark.parametrize(
    ("size", "text"), [(0, "0 B"), (512, "512 B"), (8 * 2**30, "8 GiB"), (16.5e9, "15.4 GiB"), (100 * 2**20, "100 MiB")]
)
def test_bytes_text(size: float, text: str) -> None:
    assert quantity(size) == text


@pytest.mark.parametrize(
    ("share", "text"),
    [(0.0083, "0.83 %"), (0.05, "5 %"), (0.1, "10 %"), (1.5, "150 %"), (0.0, "0 %"), (math.nan, NOT_KNOWN)],
)
def test_share_text(share: float, text: str) -> None:
    assert share_text(share) == text


def test_a_range_says_its_unit_once() -> None:
    assert range_text(IOPS, 97_430.0, 412_337.0, 3214.0) == "97.4k to 412.3k IOPS"
    assert range_text(IOPS, 962.8, 963.2, 10.0) == "963 IOPS"
    assert range_text(IOPS, 97_430.0, 97_431.0, 3214.0) == "97.4k IOPS"
    assert (ends_text("0.38", "0.41", " %"), ends_text("0.41", "0.41", " %")) == ("0.38 to 0.41 %", "0.41 %")
    assert range_text(IOPS, 2976.0, 3012.0, 10.0) == "2976 to 3012 IOPS"
    assert range_text(FLOPS, 7.02e9, 7.31e9) == "7.02 to 7.31 GFLOPS"
    assert range_text(LATENCY, 212.3, 1212.3) == "0.212 to 1.21 ms"
    assert range_text(LATENCY, 100.0, 3500.0, 1200.0, value=619.0) == "100 to 3500 µs"
    assert range_text(LATENCY, 4000.0, 994_000.0, 400_000.0) == "4.0 to 994 ms"


def test_an_axis_has_the_prefix_of_its_largest_figure() -> None:
    assert scale(IOPS, 412_337.0) == (1000.0, "k IOPS")
    assert scale(LATENCY, 900.0).suffix == "µs"
    assert scale(LATENCY, 900.0).divisor == pytest.approx(1.0)
    assert scale(EVENTS, 900.0) == (1.0, "/s")


def test_direction_is_an_arrow_and_words() -> None:
    assert direction_text(Better.HIGHER) == "↑ higher is better"
    assert direction_text(Better.LOWER) == "↓ lower is better"


def test_labels_name_what_their_value_does_not_say() -> None:
    assert label_text((("operation", "read"),)) == "read"
    assert label_text((("jobs", "4"), ("operation", "read"))) == "jobs 4, read"
    assert metric_text(IOPS, (("operation", "read"),)) == "I/O operations, read"
    assert metric_text(IOPS) == "I/O operations"


@pytest.mark.parametrize(
    ("low", "high", "texts"),
    [
        (0.9, 1.1, ("0.90", "1.10")),
        (0.905, 0.915, ("0.905", "0.915")),
        (1.00001, 1.00013, ("1.00001", "1.00013")),
        (1.0, 1.0, ("1.000000", "1.000000")),
        (0.5, 3e7, ("0.50", "over 1,000,000")),
    ],
)
def test_the_edges_of_an_interval_are_told_apart(low: float, high: float, texts: tuple[str, str]) -> None:
    assert edges_text(low, high) == texts


def test_shares_that_differ_read_differently_and_those_beyond_sense_are_over_it() -> None:
    assert shares_text(0.119, 0.121) == ("11.9", "12.1")
    assert shares_text(0.19, 0.21) == ("19", "21")
    assert shares_text(0.2, 0.2) == ("20", "20")
    assert shares_text(2e6, 3e6) == ("over 100,000,000", "over 100,000,000")
    assert ratio_text(2e6, Better.HIGHER) == "over 1,000,000x, better"


def test_a_clock_rate_and_a_stopwatch() -> None:
    assert (frequency_text(2.9e9), frequency_text(8e8)) == ("2.9 GHz", "800 MHz")
    assert (clock_text(41), clock_text(3723), clock_text(-1)) == ("00:41", "1:02:03", "00:00")


@pytest.mark.parametrize(
    ("offset", "uncertainty", "text"),
    [
        (0.0002, 0.0004, "+200 (−200 to +600) µs"),
        (-0.1241, 0.062, "−124 (−186 to −62) ms"),
        (3.5, 0.0004, "+3.50000 (+3.49960 to +3.50040) s"),
        (-0.25, None, "−250 ms"),
        (0.0012, 0.0004, "+1.20 (+0.80 to +1.60) ms"),
    ],
)
def test_a_clock_offset_has_the_digits_of_its_uncertainty(offset: float, uncertainty: float | None, text: str) -> None:
    assert offset_text(offset, uncertainty) == text


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 CPUs"), (1, "1 CPU"), (1.004, "1 CPU"), (1.5, "1.5 CPUs"), (2.0, "2 CPUs"), (1234567.2, "1234567 CPUs")],
)
def test_a_count_has_the_noun_that_goes_with_it(count: float, text: str) -> None:
    assert count_text(count, "CPU") == text


def test_a_wide_interval_is_a_factor_for_no_rate_is_below_zero() -> None:
    rate = Metric("rate", "Rate", Unit.PER_SECOND, Better.HIGHER, MetricKind.RATE)
    assert uncertainty_text(rate, 1000.0, 190.0).startswith("± ")
    assert uncertainty_text(rate, 25_500.0, 9000.0) == "×/÷ 1.35"
    assert uncertainty_text(rate, 1000.0, 4905.0) == "×/÷ 5.9"
    assert uncertainty_text(rate, 207.0, 3.4e11) == "×/÷ over 1,000"


def test_large_counts_have_a_prefix_and_the_digits_of_their_interval() -> None:
    issued = Metric("issued_ios", "I/Os", Unit.ONE, Better.HIGHER, MetricKind.COUNT)
    assert figure_text(issued, 124471.0, 58275.0) == "124k"
    assert range_text(issued, 84779.0, 182746.0, 58275.0, value=124471.0) == "85k to 183k"
    assert figure_text(issued, 1345.0) == "1345"
    assert figure_text(issued, 4.0) == "4"
    assert figure_text(issued, 4.25) == "4.25"
    assert figure_text(issued, 4.0, 1.0) == "4.00"
    assert figure_text(issued, math.nan) == NOT_KNOWN
    index = Metric("index", "Index", Unit.ONE, Better.HIGHER, MetricKind.RATE)
    assert figure_text(index, 12345.0) == "12345"


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("1,500 IOPS", "1500 IOPS"),
        ("1\u202f500", "1500"),
        ("1 500 MB/s", "1500 MB/s"),
        ("1 500 000 1/s", "1500000 1/s"),
        ("600 1/s", "600 1/s"),
        ("12\u2009345\u2009678.5", "12345678.5"),
        ("1\u00a0500\u00a0MB/s", "1500\u00a0MB/s"),
        ("1.5", "1.5"),
        ("1500", "1500"),
        ("4k, 1m", "4k, 1m"),
    ],
)
def test_separators_of_thousands_are_taken_away(text: str, plain: str) -> None:
    assert ungrouped(text) == plain


@pytest.mark.parametrize("text", ["1,5", "0,500", "1,50,000", "1500,000", "1,500\u202f000", "1.500,000", "1,500,00"])
def test_an_ambiguous_comma_is_refused_with_both_ways_to_write_it(text: str) -> None:
    for parse in (ungrouped, parse_quantity, Number(0, 1e9).convert, Whole(0, 10**9).convert):
        with pytest.raises((BenchwrightError, click.BadParameter), match=r"ambiguous.*1\.5;.*1,500"):
            parse(text, *[None] * (parse not in {ungrouped, parse_quantity}) * 2)
    for kind in (Type.INTEGER, Type.NUMBER, Type.SIZE, Type.DURATION):
        with pytest.raises(ParameterError, match=r"1\.5;.*1,500"):
            Parameter(name="rate", title="Rate", type=kind, default=0, help="").parse(text)


def test_every_place_takes_thousands() -> None:
    values = {Type.INTEGER: 1500, Type.NUMBER: 1500.0, Type.SIZE: 1500 * 1024, Type.DURATION: 1500.0}
    for kind, value in values.items():
        parameter = Parameter(name="rate", title="Rate", type=kind, default=0, help="")
        assert parameter.parse("1,500 KiB" if kind is Type.SIZE else "1,500") == value
    assert parse_quantity("1,500 MB/s") == (1500.0, Unit.MB_PER_SECOND)
    assert parse_quantity("1,500 IOPS") == parse_quantity("1.5k") == (1500.0, Unit.PER_SECOND)
    assert parse_price("1,500 USD").amount == 1500.0
    assert Number(0, 1e9).convert("1,500", None, None) == Whole(0, 10**9).convert("1,500", None, None) == 1500
    text = Parameter(name="sizes", title="Sizes", type=Type.TEXT, default="", help="")
    assert text.parse("1,500") == "1,500"


@pytest.mark.parametrize(("names", "expected"), [
    ("", ""), ("a", "a"), ("ab", "a and b"), ("abc", "a, b and c"), ("abcd", "a, b, c and 1 more"),
])  # fmt: skip
def test_names_are_listed_in_a_sentence(names: str, expected: str) -> None:
    assert listed([*names], 3) == expected
