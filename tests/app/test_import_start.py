"""When an imported run began: the time that its output states, else its import, which is then named as such."""

import json
import re
import sqlite3
from contextlib import closing
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from app.cli.main import benchwright
from app.history import HistoryQuery, notes_of, read_history
from app.outputs.pasted_text import decoded
from app.outputs.recognition import recognise
from app.records import RunRecord
from app.store.store import Store
from suites.output_times import ISO, start_in
from suites.verdict import NOT_JUDGED, Trust
from tests.messages import messages

MESSAGES = messages("app", "test_import_start")
DATA = Path(__file__).parents[1] / "data"
FIO = DATA / "fio/3.33/sweep.stdout"
CPU = DATA / "sysbench/1.0.20/cpu_default.stdout"
UNIXBENCH = DATA / "unixbench/6.0.0/index_c1.stdout"


def call(library: Path, *words: str) -> str:
    ran = CliRunner().invoke(benchwright, ["--store", str(library), *words])
    assert ran.exit_code == 0, ran.output
    return ran.stdout


def imported(library: Path, *words: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(call(library, "import", "--json", *words))["imported"]
    return found


def loaded(library: Path, run: str) -> RunRecord:
    with closing(Store(library)) as store:
        return store.load(run)


@pytest.mark.parametrize(
    ("file", "start", "zone"),
    [
        ("fio/3.33/sweep.stdout", "2026-11-20T17:39:29", True),
        ("fio/2.21/json_final.stdout", "2026-11-20T13:42:17", True),
        ("fio/3.7/normal_final.stdout", "2026-11-20T13:42:38", False),
        ("fio-client/3.33/two_servers_json.stdout", "2026-11-28T20:25:02", True),
        ("iperf3/3.12/udp_json.stdout", "2026-11-20T14:35:47", True),
        ("iperf3/3.12/tcp_verbose_text.stdout", "2026-11-20T17:37:54", True),
        ("iperf3/iperf-2.1.8/tcp_e.stdout", "2026-11-23T18:13:20", True),
        ("unixbench/6.0.0/index_c1.stdout", "2026-11-20T13:31:11", False),
        ("pyperf/2.11.0/timeit_sorted.stdout", "2026-11-28T20:25:38", False),
        ("yabs/documented-2020-09-21.txt", "2020-09-21T00:31:13", False),
        ("yabs/documented-2022-08-17.json", "2022-08-17T03:50:33", False),
        ("sysbench/1.0.20/cpu_default.stdout", "", False),
    ],
)
def test_the_start_is_read_of_captured_outputs(file: str, start: str, zone: object) -> None:
    begun = recognise(decoded((DATA / file).read_bytes())).found[0].output.begun
    assert ("" if begun is None else begun.moment.isoformat()[:19]) == start
    assert begun is None or begun.zone is zone


_FLENT = {
    "metadata": {"NAME": "ping", "TIME": "2026-05-22T14:09:38.120000Z", "SERIES_META": {"Ping": {"UNITS": "ms"}}},
    "results": {"Ping": [1.0, 2.0]},
    "x_values": [0, 1],
}
_ELBENCHO = (
    "ISO date,label,path type,paths,hosts,threads,file size,block size,direct IO,IO depth,operation,IOPS [last]\n"
    "2026-05-22T16:09:38+0200,,dir,1,1,8,268435456,1048576,1,4,READ,480\n"
)
_PHORONIX = """\
<PhoronixTestSuite>
  <System><Identifier>host</Identifier><TimeStamp>2026-05-22 14:09:38</TimeStamp></System>
  <Result><Title>7-Zip</Title><Scale>MIPS</Scale><Proportion>HIB</Proportion>
    <Data><Entry><Value>51234</Value><RawString>51000:51300</RawString></Entry></Data></Result>
</PhoronixTestSuite>
"""
_CRYSTAL = """\
CrystalDiskMark 8.0.4 x64 (C) 2007-2021 hiyohiyo
[Read]
  SEQ    1MiB (Q=  8, T= 1):   384.064 MB/s [    366.3 IOPS] < 21765.43 us>
   Test: 64 GiB (x5) [D: 0% (0/238GiB)]
   Date: 2026/05/22 14:09:38
"""


@pytest.mark.parametrize(
    ("text", "zone"),
    [(json.dumps(_FLENT), True), (_ELBENCHO, True), (_PHORONIX, False), (_CRYSTAL, False)],
    ids=["flent", "elbencho", "phoronix", "diskmark"],
)
def test_the_start_is_read_of_documented_outputs(text: str, zone: object) -> None:
    begun = recognise(text).found[0].output.begun
    assert begun is not None
    assert begun.moment.isoformat()[:19] == "2026-05-22T14:09:38"
    assert begun.zone is zone


@pytest.mark.parametrize(
    "text", ["9999-99-99 10:00:00", "2026-02-30T10:00:00Z", "2026-05-22 10:00:00 +9959", "0000-01-01 10:00:00"]
)
def test_what_is_no_date_is_none(text: str) -> None:
    assert start_in(ISO)(text) is None


def test_the_run_begins_when_its_output_says_and_keeps_its_import_time(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(FIO))
    record = loaded(library, one["run"])
    assert one["run"].startswith("20261120-173929-")
    assert record.summary.started == "2026-11-20T17:39:29+00:00"
    assert record.trials[0].trial.started == record.summary.started
    assert record.summary.imported is not None
    assert datetime.now(UTC) - datetime.fromisoformat(record.summary.imported) < timedelta(minutes=5)
    assert not record.summary.is_undated
    assert (record.summary.ended, record.trials[0].ended) == (None, None)  # not the time of the import
    (listed,) = json.loads(call(library, "list", "--json"))
    assert (listed["started"], listed["imported"]) == (record.summary.started, record.summary.imported)
    assert listed["duration"] is None
    (again,) = imported(library, str(FIO))
    assert (again["present"], again["run"]) == (True, one["run"])
    call(library, "rejudge", "--all")
    judged = loaded(library, one["run"])
    assert judged.summary == record.summary
    assert judged.verdict == record.verdict


@pytest.mark.slow
def test_an_import_without_a_date_is_marked_wherever_its_start_is_shown(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    undated, dated = (one["run"] for one in imported(library, str(CPU), str(UNIXBENCH)))
    summary = loaded(library, undated).summary
    assert summary.is_undated
    assert summary.utc_text == f"imported {summary.started[:16].replace('T', ' ')}"
    marked = re.compile(r"[Ii]mported (?:\d{4}-\d\d-\d\d|\d{1,2} [A-Z]\w+ \d{4},) \d\d:\d\d")
    for words in (("list",), ("show", undated), ("compare", undated, dated)):
        assert len(marked.findall(call(library, *words))) == 1, words
    assert not marked.search(call(library, "show", dated))
    for run, number in ((undated, 1), (dated, 0)):
        reports = {kind: tmp_path / f"{run}.{kind}" for kind in ("html", "markdown", "ticket", "svg")}
        call(library, "export", run, *(f"--{kind}={report}" for kind, report in reports.items()))
        for kind, report in reports.items():
            assert len(marked.findall(report.read_text())) == number, kind


def test_a_run_without_a_stored_verdict_is_not_judged_yet(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    imported(library, str(CPU))
    assert NOT_JUDGED not in call(library, "list")
    with closing(sqlite3.connect(library)) as connection, connection:
        connection.execute("DELETE FROM verdicts")
        connection.execute("DELETE FROM run_summaries")
    assert NOT_JUDGED in call(library, "list")
    history = call(library, "history", "elsewhere", "--metric", "events_per_second")
    assert NOT_JUDGED not in history  # it computes the verdict
    assert str(Trust.UNVERIFIED) in history


def test_a_history_by_time_says_which_runs_have_none(tmp_path: Path) -> None:
    library, other = tmp_path / "runs.sqlite3", tmp_path / "other.txt"
    other.write_bytes(CPU.read_bytes().replace(b"5125.12", b"5125.13"))
    imported(library, str(CPU), str(other))
    with closing(Store(library)) as store:
        history = read_history(store, HistoryQuery(("elsewhere",), "events_per_second"))
    assert [point.undated for point in history.points] == [True, True]
    assert MESSAGES["history"] in notes_of(history)
    shown = call(library, "history", "elsewhere", "--metric", "events_per_second")
    assert len(re.findall(r"imported \d{4}-\d\d-\d\d", shown)) == 2


@pytest.mark.parametrize(
    "stamp",
    [1795196379343, 10**19, 253402300799, 0, 315532800, int(datetime.now(UTC).timestamp()) + 10 * 86400],
    ids=["ms for s", "no date", "year 9999", "1970", "1980", "in ten days"],
)
def test_an_impossible_date_is_not_used(tmp_path: Path, stamp: int) -> None:
    library, file = tmp_path / "runs.sqlite3", tmp_path / "fio.json"
    text = re.sub(r'"timestamp" : \d+', f'"timestamp" : {stamp}', FIO.read_text())
    file.write_text(text)
    (one,) = imported(library, str(file))
    record = loaded(library, one["run"])
    assert record.summary.is_undated
    noted = any(MESSAGES["not_used"] in note for trial in record.trials for note in trial.notes)
    assert noted or stamp > 253402300799  # what is no date at all is as none


def test_a_time_without_a_zone_is_noted(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(UNIXBENCH))
    assert MESSAGES["no_zone"] in loaded(library, one["run"]).trials[0].notes
    assert MESSAGES["no_zone"] in call(library, "show", one["run"])


def test_an_import_of_an_older_version_is_one_without_a_date(tmp_path: Path) -> None:
    library = tmp_path / "runs.sqlite3"
    (one,) = imported(library, str(CPU))
    with closing(sqlite3.connect(library)) as connection, connection:
        connection.execute("UPDATE runs SET imported = NULL")
    assert loaded(library, one["run"]).summary.is_undated
    assert json.loads(call(library, "list", "--json"))[0]["imported"] is not None
    (again,) = imported(library, str(CPU))
    assert again["present"]
    call(library, "rejudge", "--all")


@pytest.mark.parametrize("date", ["9999-01-01", "1970-01-01"])
def test_an_impossible_date_of_a_table_is_refused(tmp_path: Path, date: str) -> None:
    table = tmp_path / "results.csv"
    table.write_text(f"when,ms\n{date},5\n")
    words = ["import", str(table), "--map", "when=date", "--map", "ms=latency:ms:lower"]
    ran = CliRunner().invoke(benchwright, ["--store", str(tmp_path / "runs.sqlite3"), *words])
    assert ran.exit_code != 0
    assert date in ran.output
