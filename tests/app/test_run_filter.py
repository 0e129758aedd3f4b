"""The filter language of the library: what is read, what it selects, and what is refused."""

from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from app.library_rows import LibraryRows
from app.run_filter import FilterError, RunFilter, Term, parse_filter
from app.run_matching import matcher, metric_names, values_of_field
from app.store.store import Store
from suites.units import Unit
from suites.vocab import Better, Figure, Metric, MetricKind
from tests.app import run_events
from tests.app.stores import RUN, any_store, postgresql, record, store_in_both
from tests.perf.large_library import START, make_library

__all__ = ["any_store", "postgresql", "store_in_both"]  # a fixture

NAMES = st.from_regex(r"[a-z][a-z_]{0,6}", fullmatch=True)
OPERATORS = st.sampled_from([":", "=", ">", "<", ">=", "<="])
TEXTS = st.text(min_size=1, max_size=8).filter(lambda text: "\r" not in text)
TERMS = st.one_of(
    st.builds(Term, st.just(""), st.just(""), st.lists(TEXTS, min_size=1, max_size=2).map(tuple), st.booleans()),
    st.builds(Term, NAMES, OPERATORS, st.lists(TEXTS, min_size=1, max_size=3).map(tuple), st.booleans()),
)


@given(st.lists(TERMS, max_size=4))
@example([Term("", "", ("-tag",))])
@example([Term("", "", ("rw=read",)), Term("tag", ":", ('a "b\\', "-c,d"), negated=True)])
def test_a_filter_is_written_as_it_is_read(terms: list[Term]) -> None:
    wanted = RunFilter(tuple(terms))
    assert parse_filter(str(wanted)) == wanted


@given(st.text(max_size=30))
def test_any_text_is_a_filter_or_has_a_place_of_its_fault(text: str) -> None:
    try:
        parsed = parse_filter(text)
    except FilterError as error:
        fault = error
    else:
        assert parse_filter(str(parsed)) == parsed
        return
    assert 0 <= fault.start <= fault.end <= len(text)


def test_a_term_is_added_to_its_field_and_removed() -> None:
    wanted = parse_filter("host=web-1 -tag:old")
    more = wanted.with_term(Term("host", "=", ("db-1",))).with_term(Term("suite", "=", ("fio",)))
    assert str(more) == "host=web-1,db-1 -tag:old suite=fio"
    assert str(more.without(more.terms[0])) == "-tag:old suite=fio"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> tuple[LibraryRows, Store]:
    path: Path = tmp_path_factory.mktemp("filter") / "runs.sqlite3"
    make_library(path, 60, recorded=40)
    store = Store(path)
    return store.library(), store


def selected(library: tuple[LibraryRows, Store], text: str) -> int:
    rows, store = library
    return len(matcher(parse_filter(text), rows, store.metric_values, START)(rows.rows))


@pytest.mark.quick(8)
@pytest.mark.parametrize(
    ("text", "same"),
    [
        ("host:web", "host=web-1,web-2"),
        ("type:m5.large", "host:web-2"),
        ("rw:rand", "-rw=read,write"),
        ("iodepth>=32", "iodepth=32,64"),
        ("bs=4k", "block_size:KiB"),
        ("bs<1M suite:fio", ""),
        ("iops>10k", "value>=10000.5"),
        ('iops>"10,000"', "value>=10000.5"),
        ("latency_p99<2.5ms", "latency_p99<2500us"),
        ("verdict:caveats", "-verdict=valid,doubtful"),
        ("issues>0", "warnings=1"),
        ("tag:no", "-tag:yes"),
        ("since:5h until:2026-11-30", "since:2026-11-26T04:00:00+00:00"),
        ('"web-1" randread', "randread host=web-1"),
        ("bin:no", ""),
        ("HOST:web Bin:no", "host:web"),
        ("rw!=read", "-rw=read"),
        ("-rw!=randread", "rw==randread"),
        ("started>=2026-11-26", "since:2026-11-26"),
        ("started<=2026-11-26", "until:2026-11-26"),
        ("started<2026-11-26", "-since:2026-11-26"),
        ("started>2026-11-25", "since:2026-11-26"),
        ("started:2026-11-26", "since:2026-11-26 until:2026-11-26"),
        ("started>5h", "since:5h"),
        ("verdict:valid", "verdict=valid"),
        ("web-1,web-2", '"web-1","web-2"'),
        ("state:done trials=6", ""),
        ("-state:partial", '-state:"ended early"'),
    ],
)
def test_filters_that_mean_the_same(library: tuple[LibraryRows, Store], text: str, same: str) -> None:
    found = selected(library, text)
    assert found == selected(library, same)
    assert found > 0


def test_the_parts_of_a_library_are_selected(library: tuple[LibraryRows, Store]) -> None:
    whole = selected(library, "")
    assert whole == 60
    for term in ("host:web-1", "rw=randread", "iops>10k", "verdict:valid", "tag:before", "since:10h", "baseline:yes"):
        part = selected(library, term)
        assert 0 < part < whole, term
        assert part + selected(library, f"-{term}") == whole, term


@pytest.mark.parametrize(
    ("unit", "value", "found"),
    [
        (Unit.MBIT_PER_SECOND, 499.0, False),
        (Unit.MBIT_PER_SECOND, 501.0, True),
        (Unit.MIB_PER_SECOND, 476.0, False),
        (Unit.MIB_PER_SECOND, 477.0, True),
        (Unit.PER_SECOND, 4.9e8, False),
        (Unit.PER_SECOND, 5.1e8, True),
    ],
)
def test_a_prefix_alone_is_of_the_unit_of_the_metric(
    library: tuple[LibraryRows, Store], unit: Unit, value: float, *, found: bool
) -> None:
    metric = Metric("rate", "Rate", unit, Better.HIGHER, MetricKind.RATE)
    rows = replace(library[0], metrics={"rate": metric})
    values = {row.id: (value,) for row in rows.rows}
    selected_rows = matcher(parse_filter("rate>500M"), rows, lambda _: values, START)(rows.rows)
    assert len(selected_rows) == (60 if found else 0)


@pytest.mark.parametrize(
    ("text", "fault", "place"),
    [
        ("iodept>=32", "iodepth?", (0, 10)),
        ("host:web-1 hosst:x", "host?", (11, 18)),
        ("host>web", "host:VALUE", (0, 8)),
        ("since:soon", "since:7d", (0, 10)),
        ("iops>fast", "100k", (0, 9)),
        ("iops>3ms", "1/s", (0, 8)),
        ("iops>1,500", "Write 1500", (0, 10)),
        ("trials>1,500", "Write 1500", (0, 12)),
        ('tag:"old', '"', (4, 8)),
        ("suite:", "suite:", (0, 6)),
        ("trials>many", "trials>10", (0, 11)),
        ("iodepth>deep", "iodepth>=32", (0, 12)),
        ("latency_p99>5", "unit", (0, 13)),
        ("(host:web-1 OR host:web-2)", "host:a,b", (0, 11)),
        ("host:web-1 OR", "host:a,b", (11, 13)),
        ("rw =read", "operator", (3, 8)),
        ("--serach x", "no word", (0, 8)),
        ("web-1, web-2", "a,b", (0, 6)),
        ("bin:maybe", "bin:yes", (0, 9)),
        ("verdict:bogus", "doubtful", (0, 13)),
        ("headline>100k", "value?", (0, 13)),
        ("run:2026", "id?", (0, 8)),
    ],
)
def test_a_fault_names_its_place(
    library: tuple[LibraryRows, Store], text: str, fault: str, place: tuple[int, int]
) -> None:
    with pytest.raises(FilterError) as refused:
        selected(library, text)
    assert fault in str(refused.value)
    assert (refused.value.start, refused.value.end) == place
    assert f"(column {place[0] + 1})" in refused.value.message


def test_the_values_that_exist_are_counted(library: tuple[LibraryRows, Store]) -> None:
    rows, _ = library
    assert dict(values_of_field(rows.rows, "host"))["web-1"] == selected(library, "host=web-1")
    assert {value for value, _ in values_of_field(rows.rows, "iodepth")} == {"1", "4", "32", "64"}
    assert metric_names(parse_filter("iops>1 host:web rw=read"), rows) == ("iops",)


def test_a_rate_matches_its_total_of_a_mixed_run(store: Store) -> None:
    total = replace(run_events.IOPS, name="total_iops")
    both = [Figure(total, 24_000.0), Figure(run_events.IOPS, 16_000.0, run_events.READ)]
    first, *_, last = run_events.run_events(RUN)
    record(store, RUN, [first, *run_events.trial_events(run_events.trial(1), both), last])
    assert [selected((store.library(), store), f"iops>{limit}k") for limit in (20, 25)] == [1, 0]
