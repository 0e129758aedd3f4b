"""A library in PostgreSQL beside the same one in SQLite: the same work on each in turn, and the ratio of the pairs."""

import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from app.library_location import Location, ServerUrl
from app.library_rows import LibraryRows
from app.run_filter import parse_filter
from app.run_matching import matcher
from app.services import Workstation
from tests.perf.host import move_home
from tests.perf.large_library import make_library
from tests.perf.library_20000 import METRIC
from tests.perf.library_samples import MEAN, RUNS, SERIES, TICKS, add_samples, duckdb_table, has_duckdb
from tests.perf.outcome import Met, Outcome, paired_ratio, seconds_line, timed
from tests.postgresql import Server, programs

SIZES = (1_000, 20_000)
PAIRS = 5
MOVED = 10
"""Runs that are exported, deleted and imported in one turn."""

READ_RUNS = 20
"""Runs whose samples are read in one turn."""

VIEW, VIEW_OF_SERVER, PLAIN = "results_samples", "results.samples", "plain_samples"

Work = Callable[[Location], object]


def run() -> list[Outcome]:
    """Return the seconds in PostgreSQL and their ratios to SQLite, of each size of SIZES and of 10 M samples."""
    if programs() is None:
        return [Outcome("library in PostgreSQL", "–", "not measured: apt-get install postgresql", "", Met.UNDECIDED)]
    server = Server(durable=True)
    try:
        server.make_template()
        with tempfile.TemporaryDirectory() as folder:
            move_home(Path(folder) / "home")
            found = [one for size in SIZES for one in _measured(Path(folder), server, size)]
            return [*found, *_of_samples(Path(folder), server)]
    finally:
        server.close()


def _measured(folder: Path, server: Server, size: int) -> Iterator[Outcome]:
    file, url = folder / f"{size}.sqlite3", server.library()
    make_library(file, size)
    empty = _size(server, url)
    make_library(url, size)
    server.execute("VACUUM ANALYZE", _database(url))
    kilobytes = (_size(server, url) - empty) / size / 1e3
    yield _figure(f"{size:,} runs, kB a run", kilobytes, file.stat().st_size / size / 1e3)
    hosts, number = folder / "hosts.toml", count()
    with closing(Workstation(file, hosts)) as here, closing(Workstation(url, hosts)) as there:
        open_one: dict[Location, Workstation] = {file: here, url: there}
        rows = here.library()
        chosen = [row.id for row in rows.rows if not row.baselines][:MOVED]

        def export(location: Location) -> None:
            bundle = folder / f"bundle-{size}-{next(number)}.sqlite3"
            list(open_one[location].export_library(chosen, bundle))
            bundles[location] = bundle

        bundles: dict[Location, Path] = {}
        works: Sequence[tuple[str, Work, float, int]] = (
            ("opened and list read", _open, 1.0, 1),
            (f"filter “{METRIC}”", lambda location: _filter(open_one[location], rows), 0.1, 1),
            ("benchwright list with its start", _list, float("inf"), 1),
            ("export a run", export, 0.1, MOVED),
            ("delete a run", lambda location: _delete(open_one[location], chosen), 0.1, MOVED),
            ("import a run", lambda location: list(open_one[location].import_runs(bundles[location])), 0.1, MOVED),
        )
        moving = works[3:]
        for what, work, aim, parts in works[:3]:
            yield from _pairs(f"{size:,} runs, {what}", [_pair(work, file, url, parts) for _ in range(PAIRS)], aim)
        rounds = [[_pair(work, file, url, parts) for _, work, _, parts in moving] for _ in range(PAIRS)]
        for (what, _, aim, _), pairs in zip(moving, zip(*rounds, strict=True), strict=True):
            yield from _pairs(f"{size:,} runs, {what}", pairs, aim)
    server.drop(url)


def _of_samples(folder: Path, server: Server) -> Iterator[Outcome]:
    """Yield the same of 10 M samples, and of plain tables that have a row for each."""
    total, url, file = RUNS * SERIES * TICKS, server.library(), folder / "samples.sqlite3"
    empty = _size(server, url)
    for location in (file, url):
        add_samples(location)
    server.execute("VACUUM ANALYZE", _database(url))
    yield _figure("10 M samples, bytes a sample", (_size(server, url) - empty) / total, file.stat().st_size / total)
    hosts = folder / "hosts.toml"
    with closing(Workstation(file, hosts)) as here, closing(Workstation(url, hosts)) as there:
        open_one: dict[Location, Workstation] = {file: here, url: there}
        runs = [row.id for row in here.library().rows][:READ_RUNS]
        pairs = [
            _pair(lambda location: [open_one[location].telemetry(one) for one in runs], file, url, READ_RUNS)
            for _ in range(PAIRS)
        ]
        yield from _pairs("10 M samples, a run read as objects", pairs, 0.1)
    with closing(sqlite3.connect(file)) as of_file, closing(server.connect(_database(url))) as of_server:
        rows = "SELECT run, host, metric, time_s, value FROM {} WHERE kind = 'telemetry'"
        of_file.execute("ATTACH ? AS apart", (str(folder / "plain.sqlite3"),))
        filled = (
            timed(lambda: of_file.execute(f"CREATE TABLE apart.{PLAIN} AS {rows.format(VIEW)}")),
            timed(lambda: of_server.execute(f"CREATE TABLE {PLAIN} AS {rows.format(VIEW_OF_SERVER)}".encode())),
        )
        of_file.commit()
        yield from _pairs("10 M samples, plain table filled from the view", [filled])
        plain = of_server.execute(f"SELECT pg_total_relation_size('{PLAIN}')".encode()).fetchone()
        size = int(str(plain[0])) if plain else 0
        yield _figure(
            "10 M samples, plain table, bytes a sample",
            size / total,
            (folder / "plain.sqlite3").stat().st_size / total,
        )
        for what, in_file, in_server, times in (
            ("mean of a metric of all runs by the view", VIEW, VIEW_OF_SERVER, 1),
            ("mean of a metric of all runs, plain table", f"apart.{PLAIN}", PLAIN, PAIRS),
        ):
            pairs = [
                (
                    timed(lambda: of_file.execute(MEAN.format(in_file)).fetchall()),  # noqa: B023 (called in this turn)
                    timed(lambda: of_server.execute(MEAN.format(in_server).encode()).fetchall()),  # noqa: B023
                )
                for _ in range(times)
            ]
            yield from _pairs(f"10 M samples, {what}", pairs)
        if has_duckdb():
            with duckdb_table(folder / "plain.duckdb", folder / "plain.sqlite3", PLAIN) as (of_duckdb, _):
                query = MEAN.format(PLAIN)
                pairs = [
                    (
                        timed(lambda: of_duckdb.execute(query).fetchall()),
                        timed(lambda: of_server.execute(query.encode()).fetchall()),
                    )
                    for _ in range(PAIRS)
                ]
            yield _ratio("10 M samples, mean of a metric of all runs, plain table", pairs, "DuckDB")


def _pair(work: Work, file: Path, url: ServerUrl, parts: int) -> tuple[float, float]:
    """Return the seconds of one of the `parts` of `work` on each library, one directly after the other."""
    return timed(lambda: work(file)) / parts, timed(lambda: work(url)) / parts


def _pairs(what: str, pairs: Sequence[tuple[float, float]], aim: float = float("inf")) -> Iterator[Outcome]:
    """Yield the seconds in PostgreSQL and, of several pairs, the interval of the ratio to those in SQLite."""
    _, of_server = zip(*pairs, strict=True)
    found = seconds_line(f"{what}, PostgreSQL", of_server, aim)
    yield found if aim < float("inf") else Outcome(found.what, found.figure, found.interval, "", Met.MET)
    yield _ratio(what, pairs, "SQLite")


def _ratio(what: str, pairs: Sequence[tuple[float, float]], other: str) -> Outcome:
    """Return the ratio of the seconds in PostgreSQL to those in another database, with its interval if of several."""
    theirs, ours = zip(*pairs, strict=True)
    name = f"{what}, PostgreSQL / {other}"
    if len(pairs) == 1:
        return Outcome(name, f"{ours[0] / theirs[0]:.2f}", "", "", Met.MET)
    ratio = paired_ratio(ours, theirs)
    return Outcome(name, f"{ratio.value:.2f}", f"{ratio.low:.2f} to {ratio.high:.2f}", "", Met.MET)


def _figure(what: str, of_server: float, of_file: float) -> Outcome:
    return Outcome(f"{what}, PostgreSQL, SQLite", f"{of_server:.2f}, {of_file:.2f}", "", "", Met.MET)


def _database(url: ServerUrl) -> str:
    return url.url.rpartition("/")[2]


def _size(server: Server, url: ServerUrl) -> int:
    """Return the bytes of the library's database."""
    with closing(server.connect(_database(url))) as connection:
        found = connection.execute("SELECT pg_database_size(current_database())").fetchone()
    return int(str(found[0])) if found else 0


def _open(location: Location) -> None:
    with closing(Workstation(location, Path.home() / "hosts.toml")) as workstation:
        workstation.library()


def _filter(workstation: Workstation, library: LibraryRows) -> None:
    """Filter by a metric, whose values are read."""
    matcher(parse_filter(METRIC), library, workstation.metric_values, datetime.now(UTC))(library.rows)


def _delete(workstation: Workstation, runs: Sequence[str]) -> None:
    for run in runs:
        workstation.delete(run)


def _list(location: Location) -> None:
    command = [sys.executable, "-m", "app", "--store", str(location), "list"]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
