"""A fact longer than the texts of documents: cut when it is stored, and read from libraries that have it whole."""

import json
import sqlite3
from contextlib import closing
from dataclasses import replace

import pytest

from app.events import FactsRead
from app.formats import FACTS_FORMAT, facts_from_json, facts_to_json, stored_facts_from_json
from app.json_converter import TEXT_LIMIT
from app.store.run_reader import facts_before
from app.store.store import Store
from suites.facts import Absent, Facts
from tests.app import run_events
from tests.app.stores import record, store

__all__ = ["store"]

RUN = "20261120-141530-k3f9"
LENGTH = TEXT_LIMIT + 5_000
MARK = f"… (cut: {LENGTH:,} characters)"


def with_long(facts: Facts) -> Facts:
    """Return facts with a long value and a long reason."""
    system = replace(facts.system, command_line="x" * LENGTH, container=Absent("y" * LENGTH))
    return replace(facts, system=system)


def long_texts(facts: Facts) -> tuple[str, str]:
    line, container = facts.system.command_line, facts.system.container
    assert isinstance(line, str)
    assert isinstance(container, Absent)
    return line, container.reason


def test_a_long_fact_is_cut_when_it_is_stored(store: Store) -> None:
    events = run_events.run_events(RUN, [1.0, 2.0])
    changed = [replace(one, facts=with_long(one.facts)) if isinstance(one, FactsRead) else one for one in events]
    record(store, RUN, changed)
    texts = long_texts(store.load(RUN).facts_before["web-1"])
    assert all(len(text) == TEXT_LIMIT and text.endswith(MARK) for text in texts)
    with closing(sqlite3.connect(store.path)) as connection:
        for (content,) in connection.execute("SELECT content FROM facts"):
            assert len(content) < 3 * TEXT_LIMIT


def test_a_long_fact_of_an_older_version_is_read(store: Store) -> None:
    record(store, RUN, run_events.run_events(RUN, [1.0, 2.0]))
    whole = facts_to_json(run_events.facts("web-1"))
    whole["system"] |= {"command_line": {"value": "x" * LENGTH, "unit": ""}, "container": {"absent": "y" * LENGTH}}
    with closing(sqlite3.connect(store.path)) as connection, connection:
        connection.execute("UPDATE facts SET content = ?", (json.dumps(whole),))
    with store.database.reading() as reading:
        (of_history,) = facts_before(reading, RUN, ["web-1"])
    for facts in (store.load(RUN).facts_before["web-1"], of_history):
        assert all(text.endswith(MARK) for text in long_texts(facts))


@pytest.mark.parametrize("length", [TEXT_LIMIT - 1, TEXT_LIMIT])
def test_a_text_within_the_limit_stays(length: int) -> None:
    facts = run_events.facts("web-1")
    facts = replace(facts, system=replace(facts.system, command_line="x" * length))
    assert facts_from_json(facts_to_json(facts)) == facts


def test_deep_nesting_in_stored_facts_is_no_error_of_its_own() -> None:
    deep: dict[str, object] = {}
    for _ in range(900):
        deep = {"a": deep}
    found = stored_facts_from_json({"format": FACTS_FORMAT, "host": "web-1", "read_at": "", "unknown": deep})
    assert found.host == "web-1"
