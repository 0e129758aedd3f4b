"""The SQL views of a library in PostgreSQL are those of a file, whatever a record contains."""

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pandas as pd
import psycopg
import pytest

from app.events import FactsRead, Moment, State, TrialEnded
from app.library_location import ServerUrl, location_of
from app.services import Workstation
from app.store.roles import ROLES_SQL
from app.store.sql_views import POSTGRESQL, POSTGRESQL_VIEWS, definitions, with_old_order
from app.store.store import Store
from tests.app import run_events
from tests.app.stores import RUN, execute, opened, postgresql, record, url
from tests.app.stores import store_on_server as store
from tests.app.test_sql_views import filled as fill
from tests.app.test_sql_views import frame, texts
from tests.postgresql import Server
from tests.remote.test_facts_captured import captured, facts_of

__all__ = ["postgresql", "store", "url"]  # fixtures

VIEWS = ("runs", "metrics", "samples", "facts", "findings")


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Store]:
    for made in opened(tmp_path / "filled.sqlite3"):
        yield fill.__wrapped__(made)  # type: ignore[attr-defined]


def closed_up(text: str) -> str:
    return text.replace(", ", ",").replace(": ", ":")


@pytest.mark.slow
def test_the_views_are_those_of_a_file(filled: Store, url: ServerUrl, tmp_path: Path) -> None:
    execute(filled, "UPDATE runs SET state = 'partial' WHERE state = 'running'")  # only ended runs are copied
    with closing(Workstation(tmp_path / "own.sqlite3", tmp_path / "hosts.toml")) as workstation:
        *_, last = workstation.copy_library(filled.path, url)
        assert last.whole, last.text
    for view in VIEWS:
        in_file = frame(filled, f"SELECT * FROM results_{view}")
        with psycopg.connect(url.for_libpq) as connection:
            cursor = connection.execute(f"SELECT * FROM results.{view}".encode())
            on_server = pd.DataFrame(cursor.fetchall(), columns=[column.name for column in cursor.description or ()])
        assert list(on_server.columns) == list(in_file.columns)
        for flag in {"warm_up"} & set(on_server.columns):  # in a file, 0 and 1
            on_server[flag] = on_server[flag].astype(float)
            in_file[flag] = in_file[flag].astype(float)
        if view == "facts":
            assert len(in_file) > 600
            for found in (in_file, on_server):  # a file has 15 digits in the text of a number, and no spaces in lists
                rows = zip(found["value"], found["number"], strict=True)
                found["value"] = [
                    "" if pd.isna(value) or not pd.isna(number) else closed_up(value) for value, number in rows
                ]
        if view == "runs":
            in_file["headline"] = on_server["headline"]  # derived anew
        assert texts(on_server) == texts(in_file), view


def rows(store: Store, view: str, columns: str = "*") -> list[Any]:
    return execute(store, f"SELECT {columns} FROM results.{view}")


ODD = {
    "NUL": ("a\0b", "a\ufffdb"),
    "two": ("\0\0", "\ufffd\ufffd"),
    "high half": ("a\ud800b", "a\ufffdb"),
    "low half": ("a\udc9fb", "a\ufffdb"),
    "high high low": ("\ud800\U0001f41f", "\ufffd\U0001f41f"),
    "escape of an escape": ("\\u0000 \\\\ud800", "\\u0000 \\\\ud800"),
    "escape before a half": ("\\ud83d\udc1f", "\\ud83d\ufffd"),
    "pair": ("\0\U0001f41f\\", "\ufffd\U0001f41f\\"),
    "long": ("x\0" * 2**15, "x\ufffd" * 2**15),
}
"""Texts of hosts and tools, and how text in PostgreSQL holds them."""


@pytest.mark.quick(3)
@pytest.mark.parametrize(("text", "shown"), ODD.values(), ids=ODD)
def test_no_text_breaks_a_view_and_its_record_stays_whole(store: Store, text: str, shown: str) -> None:
    facts = facts_of(captured("aws-c7i"))
    facts = replace(facts, host="web-1", cpu=replace(facts.cpu, model=text))
    labels = (("operation", text), (text, "4k"))
    *begun, ended = run_events.run_events(RUN)
    made = [with_labels(event, labels) for event in begun]
    record(store, RUN, [*made, FactsRead("web-1", Moment.BEFORE, facts), ended])
    loaded = store.load(RUN)
    assert loaded.facts_before["web-1"].cpu.model == text
    assert {figure.labels for trial in loaded.trials for figure in trial.figures} == {labels}
    execute(store, "UPDATE runs SET hosts = ?, steps = ?", json.dumps(["b", text]), json.dumps([text]))
    assert rows(store, "runs", "hosts, steps") == [(f"b, {shown}", shown)]
    assert (shown,) in execute(store, "SELECT value FROM results.facts WHERE fact = 'cpu.model'")
    assert {label for (label,) in rows(store, "metrics", "labels")} == {f"operation={shown};{shown}=4k"}
    for view in VIEWS:
        assert rows(store, view)


def with_labels(event: Any, labels: tuple[tuple[str, str], ...]) -> Any:
    """Return an event whose figures have other labels."""
    if not isinstance(event, TrialEnded) or event.parsed is None:
        return event
    figures = tuple(replace(one, labels=labels) for one in event.parsed.figures)
    return replace(event, parsed=replace(event.parsed, figures=figures))


NUMBERS = {
    "1": 1.0, "-2.5e-7": -2.5e-7, "1.7e+300": 1.7e300, "12345678901234567890123": 12345678901234567890123.0,
    "9223372036854775808": 2.0**63, "9" * 400: None, "1e400": None, "1e-400": None, "1E999999": None,
    "0." + "0" * 400 + "1": None, "-0": 0.0,
}  # fmt: skip


def test_a_fact_that_no_double_holds_has_no_number(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN))
    content = {f"n{at}": {"value": 0} for at in range(len(NUMBERS))}
    text = json.dumps({"more": content})
    for at, number in enumerate(NUMBERS):
        text = text.replace(f'"n{at}": {{"value": 0}}', f'"n{at}": {{"value": {number}}}')
    execute(store, "INSERT INTO facts VALUES (?, 'web-9', 'before', ?)", RUN, text)
    found = execute(store, "SELECT value, number FROM results.facts WHERE host = 'web-9' ORDER BY length(fact), fact")
    assert found == list(NUMBERS.items())


@pytest.mark.parametrize("odd", ["NaN", "-Infinity", "[" * 5000 + "]" * 5000])
def test_a_copy_with_json_that_no_database_reads_is_refused(url: ServerUrl, tmp_path: Path, odd: str) -> None:
    path = tmp_path / "hostile.sqlite3"
    facts = replace(facts_of(captured("aws-c7i")), host="web-1")
    for made in opened(path):
        *begun, ended = run_events.run_events(RUN)
        record(made, RUN, [*begun, FactsRead("web-1", Moment.BEFORE, facts), ended])
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "UPDATE facts SET content = replace(content, '\"system\":', ?)", (f'"later": {odd}, "system":',)
        )
    with closing(Workstation(tmp_path / "own.sqlite3", tmp_path / "hosts.toml")) as workstation:
        *_, last = workstation.copy_library(path, url)
    assert (last.whole, f"{RUN}: The run {RUN} is malformed." in last.text) == (False, True), last.text


ORDERS = """SELECT DISTINCT (SELECT collname FROM pg_collation WHERE oid = attcollation) FROM pg_attribute
    WHERE attrelid IN (SELECT oid FROM pg_class WHERE relnamespace = 'results'::regnamespace) AND attcollation <> 0"""


def test_every_text_of_a_view_is_ordered_as_in_a_file(store: Store) -> None:
    """Whatever the locale of the server, which is that of no column."""
    assert store.runs() == []
    assert execute(store, ORDERS) == [("C",)]


def test_views_that_are_ordered_by_the_locale_are_replaced_too(postgresql: Server, url: ServerUrl) -> None:
    """PostgreSQL changes the order of no column of a view."""
    database = url.url.rpartition("/")[2]
    for made in opened(url):
        record(made, RUN, run_events.run_events(RUN))
        before = execute(made, "SELECT * FROM results.runs")
        for name, query in definitions(POSTGRESQL).items():
            replaced = f"DROP VIEW {name}; CREATE VIEW {name} AS {with_old_order(query)}"
            postgresql.execute(f"SET search_path TO benchwright; {replaced}", database)
        postgresql.execute("COMMENT ON SCHEMA results IS 'Benchwright, version 2'", database)
        assert len(execute(made, ORDERS)) == 2
    for made in opened(url):
        assert [row.id for row in made.runs()] == [RUN]
        assert execute(made, "SELECT obj_description('results'::regnamespace)") == [
            (f"Benchwright, version {POSTGRESQL_VIEWS}",)
        ]
        assert execute(made, "SELECT * FROM results.runs") == before


@pytest.mark.slow
def test_the_views_of_an_older_program_are_replaced_by_their_owner(
    postgresql: Server, url: ServerUrl, store: Store
) -> None:
    """Those who read them keep their rights, and views that depend on them stay."""
    name = url.url.rpartition("/")[2]
    record(store, RUN, run_events.run_events(RUN))
    store.close()
    postgresql.execute(ROLES_SQL, name)
    postgresql.execute("CREATE ROLE views_reader LOGIN IN ROLE benchwright_reader")
    definition = "SELECT pg_get_viewdef('results.runs'::regclass)"
    (new,) = execute(store, definition)
    for statement in (
        f"CREATE OR REPLACE VIEW results.runs AS {new[0].replace('runs.question', 'upper(runs.question) AS question')}",
        "COMMENT ON SCHEMA results IS NULL",
        "CREATE VIEW public.theirs AS SELECT run FROM results.runs",
    ):
        postgresql.execute(statement, name)
    try:
        for reader in opened(location_of(postgresql.url(name, "views_reader"))):
            assert [row.state for row in reader.runs()] == [State.DONE]
        assert execute(store, definition) != [new]  # a reader replaces nothing
        for owner in opened(url):
            assert owner.runs()
        assert execute(store, definition) == [new]
        assert execute(store, "SELECT obj_description('results'::regnamespace)") == [
            (f"Benchwright, version {POSTGRESQL_VIEWS}",)
        ]
        with postgresql.connect(name) as connection:
            connection.execute("SET ROLE views_reader")
            assert connection.execute("SELECT run FROM results.runs").fetchall() == [(RUN,)]
        execute(store, "UPDATE formats SET format = format - 1")
        for upgraded in opened(url):
            assert upgraded.runs()
        assert execute(store, "SELECT run FROM public.theirs") == [(RUN,)]
    finally:
        postgresql.drop(url)
        postgresql.execute("DROP ROLE views_reader")
        postgresql.execute(f"CREATE DATABASE {name}")  # for the fixture to drop
