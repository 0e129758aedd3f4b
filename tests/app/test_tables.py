"""CSV tables, imported as runs through a mapping of their columns."""

import hashlib
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import pytest
from click.testing import CliRunner, Result

from app.cli.main import benchwright
from app.outputs.files import judged_bytes
from app.outputs.tables import GivenMapping
from app.rejudging.rejudge import NotJudgedError, new_verdicts
from app.saved_mappings import MAPPINGS_FILE, SavedMappings
from app.store.run_writer import RunWriter
from app.store.store import Store
from suites.read_only.csv_table import MOST_ROWS, read_table, table_results
from suites.read_only.table_mapping import Decimal, TableError, TableMapping, mapping_of
from tests.messages import messages

TABLE = """Host;Date;bs;IOPS;p99 (ms);Note
web-1;2026-11-01 10:00;4k;1.234,5;0,8;a
web-1;2026-11-01 10:00;4k;1.250,0;0,9;b
web-2;2026-11-02 10:00;8k;1,2k;;c
"""
ROLES = (
    *("--decimal", "comma", "--map", "Host=host", "--map", "Date=date", "--map", "bs=config"),
    *("--map", "IOPS=iops:IOPS:higher", "--map", "p99 (ms)=latency_p99:ms:lower", "--map", "*=ignore"),
)
MESSAGES = messages("app", "test_tables")
DD = Path(__file__).parents[1] / "data/dd/9.1/urandom_progress.stderr"
ONE = {"x": "speed:MB/s:higher", "*": "ignore"}


@pytest.fixture(autouse=True)
def config(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path / "config/benchwright" / MAPPINGS_FILE


def call(folder: Path, *words: str) -> Result:
    return CliRunner().invoke(benchwright, ["--store", str(folder / "runs.sqlite3"), *words])


def file_of(folder: Path, text: str = TABLE, name: str = "results.csv") -> str:
    path = folder / name
    path.write_bytes(text.encode())
    return str(path)


def values(text: str, columns: dict[str, str], decimal: Decimal | None = None) -> list[dict[str, float]]:
    table = read_table(text)
    mapping = GivenMapping(columns, decimal).of(table.header)
    assert mapping is not None
    found = table_results(table, mapping)
    return [{figure.metric.name: figure.value for figure in one.output.parsed.figures} for one in found]


def test_a_table_is_a_run_of_each_host_and_date_and_its_rows_are_trials(tmp_path: Path) -> None:
    ran = call(tmp_path, "import", "--json", file_of(tmp_path), *ROLES)
    first, second = json.loads(ran.stdout)["imported"]
    assert (first["trust"], first["mapping"], first["problem"]) == ("unverified", "results", "")
    stored = Store(tmp_path / "runs.sqlite3")
    one, other = stored.load(first["run"]), stored.load(second["run"])
    assert (one.plan.hosts, other.plan.hosts) == (("web-1",), ("web-2",))
    assert one.summary.started == "2026-11-01T10:00:00+00:00"
    found = [{each.metric.name: each.value for each in trial.figures} for trial in one.trials]
    assert found == [{"iops": 1234.5, "latency_p99": 0.8}, {"iops": 1250.0, "latency_p99": 0.9}]
    assert [{each.metric.name: each.value for each in trial.figures} for trial in other.trials] == [{"iops": 1200.0}]
    assert other.trials[0].notes == (MESSAGES["missing"],)
    assert one.plan.steps[0].values["configuration"] == "bs=4k"
    assert one.read_from is not None
    assert one.read_from.sha256 == hashlib.sha256(TABLE.encode()).hexdigest()
    assert stored.imported_content(first["run"]) == TABLE.encode()
    stored.close()


def test_a_run_of_many_rows_is_stored_at_once(tmp_path: Path) -> None:
    text = "Host;IOPS\n" + "".join(f"web-1;{1000 + number}\n" for number in range(20))
    roles = ("--map", "Host=host", "--map", "IOPS=IOPS:IOPS:higher")
    with patch.object(RunWriter, "write", autospec=True, side_effect=RunWriter.write) as write:
        assert call(tmp_path, "import", file_of(tmp_path, text), *roles).exit_code == 0
    assert write.call_count == 1  # two for each row took milliseconds each


def test_the_next_table_with_the_same_columns_needs_no_mapping(tmp_path: Path) -> None:
    call(tmp_path, "import", file_of(tmp_path), *ROLES, "--map-name", "disk")
    swapped = "\n".join(";".join(reversed(line.split(";"))) for line in TABLE.replace("0,8", "0,7").splitlines())
    ran = call(tmp_path, "import", file_of(tmp_path, swapped, "next.csv"))
    assert ran.exit_code == 0
    assert "mapping “disk”" in ran.output
    again = json.loads(call(tmp_path, "import", "--json", str(tmp_path / "next.csv")).stdout)["imported"]
    assert [one["present"] for one in again] == [True, True]
    (kept,) = json.loads(call(tmp_path, "mappings", "--json").stdout)["mappings"]
    assert (kept["name"], kept["decimal"], kept["columns"]["Note"]) == ("disk", "comma", "ignore")
    assert call(tmp_path, "mappings", "forget", "disk").exit_code == 0
    refused = call(tmp_path, "import", file_of(tmp_path, TABLE.replace("0,9", "0,6"), "third.csv"))
    assert refused.exit_code == 1
    assert "“p99 (ms)”" in refused.output


def test_a_table_is_judged_again_through_the_mapping_stored_with_its_run(tmp_path: Path, config: Path) -> None:
    done = json.loads(call(tmp_path, "import", "--json", file_of(tmp_path), *ROLES).stdout)["imported"]
    config.unlink()
    stored = Store(tmp_path / "runs.sqlite3")
    for run in (one["run"] for one in done):
        record = stored.load(run)
        assert not new_verdicts(record, stored.samples(run), {}, TABLE.encode()).differ
        swapped = replace(record, summary=replace(record.summary, started="2020-01-01T00:00:00+00:00"))
        with pytest.raises(NotJudgedError, match="Other tests"):
            new_verdicts(swapped, stored.samples(run), {}, TABLE.encode())
    stored.close()


def test_a_table_of_one_figure_a_row(tmp_path: Path) -> None:
    text = "what\tnumber\tin\nspeed\t1.5\tMB/s\np99\t800\tus\nspeed\t1.6 GB/s\t\np99\t\t\n"
    columns = {"what": "metric", "number": "value", "in": "unit", "p99": "latency_p99:ms:lower"}
    with pytest.raises(TableError, match=r"metric “speed” has no unit"):
        values(text, columns)
    columns["speed"] = "speed:MB/s:higher"
    with pytest.raises(TableError, match="line 4: its unit is empty"):
        values(text, columns)
    text = text.replace("1.6 GB/s\t", "1.6\tGB/s")
    assert values(text, columns) == [{"speed": 1.5, "latency_p99": pytest.approx(0.8)}, {"speed": 1600.0}]


@pytest.mark.parametrize(
    ("role", "message"),
    [
        ("speed", "has no unit"),
        ("speed:higher", "has no unit"),
        ("speed:MB/s", "whether higher or lower"),
        ("speed:parsecs:higher", "not a unit"),
        ("Speed!:MB/s:higher", "not a name"),
        ("value", "go together"),
        ("ignore", "No metric"),
    ],
)
def test_a_mapping_without_unit_or_direction_is_refused(role: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        values("x\n1\n", {"x": role})


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x\n1\0\n", "NUL"),
        ("x,x\n1,2\n", "Two columns are named"),
        ("x,\n1,2\n", "Column 2 has no name"),
        ("x\n", "no rows"),
        ("", "is empty"),
        ("x\ninf\n", "line 2: “inf” of Speed is not a number"),
        ("x\n1e999\n", "too large|not a number"),
        ("x,z\n1,2,3\n", "it has 3 cells, the header 2"),
        ("x\n=1+2\n", "not a number"),
        ('x\n"1\n', "not CSV"),
        ("x\n5 ms\n", "line 2: ms is time"),
        ('x\n"1,5"\n', "decimal comma"),
        ("x\n-\n", "No row has a value"),
        (f"x\n{'1' * 200_000}\n", "field limit|cell of more than"),
        (f"x,z\n{'1,' * 1_000_000}\n", "columns"),
        ("x\n" + "1\n" * (MOST_ROWS + 1), "more than 20,000 rows"),
    ],
)
def test_a_hostile_table_is_refused_with_its_line(text: str, message: str) -> None:
    with pytest.raises(TableError, match=message):
        values(text, ONE)


@pytest.mark.parametrize(
    ("cell", "decimal", "value"),
    [
        ("1,234.5", Decimal.POINT, 1234.5),
        ("1.234,5", Decimal.COMMA, 1234.5),
        ("1 234", None, 1234.0),
        ("1.2k", None, 1200.0),
        ("1.5 GB/s", None, 1500.0),
        ("-2e3", None, -2000.0),
    ],
)
def test_numbers_as_spreadsheets_write_them(cell: str, decimal: Decimal | None, value: float) -> None:
    assert values(f'\ufeffx\n"{cell}"\n', ONE, decimal) == [{"speed": pytest.approx(value)}]


def test_empty_cells_are_missing_and_no_zero() -> None:
    columns = {"x": "speed:MB/s:higher", "y": "share:%:lower"}
    assert values("x,y\n1,\nNaN,5 %\n,n/a\n0,0\n", columns) == [{"speed": 1}, {"share": 5}, {"speed": 0, "share": 0}]


def test_a_mapping_is_stored_exactly(tmp_path: Path) -> None:
    columns = {"a=b": "config", "d": "date:%d.%m.%Y %H:%M", "m": "metric", "v": "value", "p=9": "latency:ms:lower"}
    mapping = TableMapping(frozenset({"a=b", "d", "m", "v"}), columns, Decimal.COMMA, "mine")
    assert mapping_of(mapping.text()).text() == mapping.text()
    saved = SavedMappings(tmp_path / MAPPINGS_FILE)
    assert saved.keep(mapping) == mapping
    find = saved.finder()
    assert find(["v", "m", "d", "a=b"]) == mapping
    assert find(["v"]) is None
    with pytest.raises(TableError, match="No mapping is named"):
        saved.forget("other")
    (tmp_path / MAPPINGS_FILE).write_text("[mine]\nheader = 5\n")
    with pytest.raises(TableError, match="mine"):
        saved.read()


def test_damaged_mappings_keep_only_tables_from_being_read(tmp_path: Path) -> None:
    (tmp_path / MAPPINGS_FILE).write_text("[mine]\nheader = 5\n")
    find = SavedMappings(tmp_path / MAPPINGS_FILE).finder()
    table = judged_bytes("table.csv", b"host,ms\na,5\nb,6\n", mappings=find)
    assert not table.outputs
    assert not table.unmapped  # a new mapping cannot be stored either
    assert "mine" in table.problem
    assert judged_bytes("copy.txt", DD.read_bytes(), mappings=find).outputs


@pytest.mark.parametrize(
    ("column", "role", "title"),
    [
        ("IOPS", "IOPS:IOPS:higher", "IOPS"),
        ("rate", "read_IOPS:IOPS:higher", "Read IOPS"),
        ("Read IOPS", "read_iops:1/s:higher", "Read IOPS"),
        ("p99 (ms)", "p99:ms:lower", "p99"),
        ("x", "latency_p99:ms:lower", "Latency p99"),
    ],
)
def test_the_title_of_a_metric_has_the_case_typed(column: str, role: str, title: str) -> None:
    (measured,) = TableMapping(frozenset({column}), {column: role}).measured().values()
    assert measured.metric.title == title
    assert measured.metric.name == role.partition(":")[0].lower()


def test_prose_and_outputs_of_tools_are_no_tables() -> None:
    assert not judged_bytes("a.txt", b"Hello, world\nThis is it, then\n").unmapped
    assert judged_bytes("a.csv", b"a,b\nx,1\ny,2\n").unmapped
