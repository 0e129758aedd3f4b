"""Tables of figures from anybody's file: read whole, or refused with the reason."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from app.baselines.reference import ReferenceTableError
from app.baselines.reference_file import (
    PARSERS,
    parse_csv,
    parse_toml,
    read_reference,
    reference_from,
    reference_to_json,
)
from suites.errors import BenchwrightError
from suites.units import Unit
from suites.vocab import labels


def test_a_csv_file_is_read_with_labels_range_source_and_doubts(tmp_path: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_text(
        "\ufeffmetric,unit,value,low,high,n,labels,source,doubts\n"
        "iops,1/s,500,450,550,3,operation=read;jobs=4,my lab,warm\n"
        "latency_p99,us,80,,,,,my lab,\n",
        encoding="utf-8",
    )
    table = read_reference(path)
    first, second = table.figures
    assert (table.name, table.source, table.doubts) == ("mine", "my lab", ("warm",))
    assert (first.value, first.low, first.high, first.n) == (500.0, 450.0, 550.0, 3)
    assert first.labels == labels(operation="read", jobs="4")
    assert (second.unit, second.low, second.n) == (Unit.MICROSECOND, None, None)
    assert reference_from(reference_to_json(table), "x") == table


FIGURE = '[[figure]]\nmetric = "iops"\nunit = "1/s"\nvalue = 1.0\n'


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "no figure"),
        ("x = 1", "has no “x”"),
        (FIGURE + FIGURE, "twice"),
        (FIGURE.replace("1.0", "nan"), "not a finite number"),
        (FIGURE.replace("1.0", "1e301"), "not a finite number"),
        (FIGURE.replace("1.0", "true"), "not a finite number"),
        (FIGURE.replace("1.0", "9" * 5000), "not valid TOML"),
        (FIGURE + "n = 0", "not a whole number"),
        (FIGURE + "low = 0.5", "only one of low and high"),
        (FIGURE + "low = 2.0\nhigh = 3.0", "is not between"),
        (FIGURE.replace("1/s", "MBps"), "not a unit"),
        (FIGURE.replace('"iops"', '"a\\u001b[31m"'), "one line of text"),
        (FIGURE + "labels = { " + ", ".join(f'l{n} = "x"' for n in range(9)) + " }", "at most 8"),
        ('measured = "soon"\n' + FIGURE, "not a date"),
        ('format = "benchwright-reference/2"\n' + FIGURE, "this program reads"),
        ("x = " + "[" * 20000, "nested too deeply|not valid TOML"),
        (FIGURE * 5001, "too many"),
    ],
)
def test_what_is_no_table_is_refused_with_the_reason(text: str, shown: str) -> None:
    with pytest.raises(BenchwrightError, match=shown):
        parse_toml(text, "name")


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("", "lacks metric, unit, value"),
        ("metric,unit\n", "lacks value"),
        ("metric,unit,value,colour\n", "no “colour”"),
        ("metric,unit,value\niops,1/s,=1+1\n", "not a number"),
        ("metric,unit,value\niops,1/s,1,2\n", "more cells"),
        ('metric,unit,value\n"iops,1/s,1\n', "not valid CSV"),
        ("metric,unit,value\niops,1/s,\n", "no value"),
        ("metric,unit,value,n\niops,1/s,1,1.5\n", "not a whole number"),
    ],
)
def test_what_is_no_table_of_csv_is_refused(text: str, shown: str) -> None:
    with pytest.raises(ReferenceTableError, match=shown):
        parse_csv(text, "name")


def test_a_file_too_large_or_not_text_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "large.csv"
    path.write_bytes(b"x" * (1024 * 1024 + 1))
    with pytest.raises(ReferenceTableError, match="larger than 1 MiB"):
        read_reference(path)
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(ReferenceTableError, match="not a text file"):
        read_reference(path)
    with pytest.raises(ReferenceTableError, match="cannot be read"):
        read_reference(tmp_path / "none.toml")


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_and_nothing_else(text: str) -> None:
    for parse in PARSERS.values():
        try:
            parse(text, "name")
        except BenchwrightError:
            continue
