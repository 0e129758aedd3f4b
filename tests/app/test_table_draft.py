"""Drafts of mappings: what the header proposes, and what a draft does with the rows."""

from dataclasses import replace

import pytest

from app.outputs.table_draft import MEASURED, MOST_NAMES, ColumnDraft, check_draft, known_draft, proposed_draft
from suites.read_only.csv_table import read_table
from suites.read_only.table_mapping import Decimal, Role, TableMapping

METRIC = ColumnDraft(MEASURED, "speed", "MB/s", "higher")


@pytest.mark.parametrize(
    ("header", "cells", "proposed"),
    [
        ("p99 (ms)", "0.8", ColumnDraft(MEASURED, "p99", "ms", "lower")),
        ("IOPS", "1.2k", ColumnDraft(MEASURED, "IOPS", "IOPS", "higher")),
        ("Write [MiB/s]", "12", ColumnDraft(MEASURED, "Write", "MiB/s", "higher")),
        ("latency_us", "12", ColumnDraft(MEASURED, "latency", "us", "lower")),
        ("Bandwidth Mbits/sec", "940", ColumnDraft(MEASURED, "Bandwidth", "Mbit/s", "higher")),
        ("Durée", "1.5 ms", ColumnDraft(MEASURED, "Duree", "ms", "lower")),
        ("CPU (%)", "41", ColumnDraft(MEASURED, "CPU", "%")),
        ("Host", "web-1", ColumnDraft(Role.HOST)),
        ("Date", "2026-11-01 10:00", ColumnDraft(Role.DATE)),
        ("date", "31.12.2026", ColumnDraft(Role.DATE, form="%d.%m.%Y")),
        ("date", "01/02/2026", ColumnDraft()),  # of January or of February
        ("time", "12", ColumnDraft()),
        ("latency", "12", ColumnDraft()),
        ("Run 1", "12", ColumnDraft()),
        ("bs", "4k", ColumnDraft()),
        ("Phase (s)", "warm up", ColumnDraft()),
    ],
)
def test_a_role_is_proposed_only_where_the_header_or_the_cells_state_it(
    header: str, cells: str, proposed: ColumnDraft
) -> None:
    assert proposed_draft(read_table(f"{header};x\n{cells};1\n")).columns[header] == proposed


@pytest.mark.parametrize(
    "draft",
    [
        ColumnDraft(),
        replace(METRIC, name=""),
        replace(METRIC, name="9th!"),
        replace(METRIC, unit=""),
        replace(METRIC, unit="parsecs"),
        replace(METRIC, better=""),
    ],
)
def test_a_column_without_role_name_unit_or_direction_has_a_problem(draft: ColumnDraft) -> None:
    table = read_table("x\n1\n")
    found = check_draft(table, proposed_draft(table).having("x", draft))
    assert found.problems.keys() == {"x"}
    assert not found.usable
    assert check_draft(table, proposed_draft(table).having("x", METRIC)).usable


def test_rows_that_cannot_be_read_are_named_and_the_others_counted() -> None:
    table = read_table("host,x\na,1\na,inf\nb,2\nb\nb,-\n")
    draft = proposed_draft(table).having("x", METRIC)
    found = check_draft(table, draft)
    assert found.errors.keys() == {3, 5}
    assert (found.runs, found.trials, found.usable) == (2, 2, False)


def test_roles_that_cannot_be_used_together_are_a_problem_of_all() -> None:
    table = read_table("x,y\n1,2\n")
    draft = proposed_draft(table).having("x", METRIC).having("y", METRIC)
    assert check_draft(table, draft).problem
    assert check_draft(table, draft.having("x", ColumnDraft(Role.IGNORED)).having("y", ColumnDraft(Role.HOST))).problem
    assert not check_draft(table, draft.having("x", ColumnDraft(Role.IGNORED))).problem


def test_each_name_in_a_column_of_metrics_is_mapped_with_the_unit_beside_it() -> None:
    table = read_table("what,number,in\nspeed,1.5,MB/s\np99,800,us\n")
    draft = proposed_draft(table)
    for name, role in (("what", Role.METRIC), ("number", Role.VALUE), ("in", Role.UNIT)):
        draft = check_draft(table, draft.having(name, ColumnDraft(role))).draft
    assert proposed_draft(read_table("metric,value,unit\nspeed,1,s\n")).columns["unit"].role == Role.UNIT
    assert proposed_draft(read_table("metric,unit\nspeed,s\n")).columns["unit"].role == ""
    found = check_draft(table, draft)
    assert found.draft.names == {
        "speed": ColumnDraft(MEASURED, "speed", "MB/s", "higher"),
        "p99": ColumnDraft(MEASURED, "p99", "us", "lower"),
    }
    assert (found.usable, found.trials) == (True, 1)
    unnamed = read_table("what,number,in\nspeed,1.5,MB/s\n,800,us\n")
    assert check_draft(unnamed, draft).errors.keys() == {3}
    ignored = found.draft.having("p99", ColumnDraft(Role.IGNORED), in_rows=True)
    assert check_draft(table, ignored).usable
    many = read_table("what,number\n" + "".join(f"name{number},1\n" for number in range(MOST_NAMES + 1)))
    assert check_draft(many, proposed_draft(many).having("what", ColumnDraft(Role.METRIC))).problem


def test_the_draft_of_a_mapping_is_that_mapping() -> None:
    columns = {"h": "host", "d": "date:%d.%m.%Y %H:%M", "m": "metric", "v": "value", "p99": "latency:ms:lower"}
    mapping = TableMapping(frozenset({"h", "d", "m", "v"}), columns, Decimal.COMMA, "mine")
    assert known_draft(mapping).mapping("mine") == mapping
