"""What a host-run costs two workers and their PostgreSQL server; the hosts only sleep, as for fleet_study.

A host-run is each further one, from a study of few hosts to one of many: what a start takes is left out.
"""

import os
import resource
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from app.fleet_study import HostRunState
from app.library_location import ServerUrl
from app.services import Workstation
from tests.lab_sshd import AnsweringAsker
from tests.perf.first_window import ROOT
from tests.perf.fleet_study import LONG, SHORT, lab_hosts, peak_memory, sleep_plan
from tests.perf.outcome import Met, Outcome
from tests.postgresql import Server

FEW, MANY = 10, 50
WORKERS, AT_ONCE = 2, 8

Figures = Mapping[str, float]
AIMS = {
    "processor seconds of the workers": (1.5, 0.03),
    "processor seconds of PostgreSQL": (0.5, 0.03),
    "commits": (150.0, 5.0),
    "MiB stored": (0.5, 0.02),
}
"""For a host-run of a second, and each further second of one."""


def run() -> list[Outcome]:
    """Return what each host-run costs the workers and the server, and what was lost."""
    server = Server(durable=True)
    try:
        server.make_template()
        few, many, long = (_study(server, *each) for each in ((FEW, SHORT), (MANY, SHORT), (MANY, LONG)))
    finally:
        server.close()
    what = f"{WORKERS} workers, {AT_ONCE} at once each"
    lost = 2 * MANY + FEW - many["done"] - few["done"] - long["done"]
    lines = list[Outcome]()
    for name, (aim, aim_further) in AIMS.items():
        each, further = (many[name] - few[name]) / (MANY - FEW), (long[name] - many[name]) / MANY / (LONG - SHORT)
        lines += [
            _line(f"{what}, a host-run: {name}", each, aim),
            _line(f"{what}, each further second of a host-run: {name}", further, aim_further),
        ]
    return [
        *lines,
        _line(f"{what}: peak MiB of a worker", many["memory"], 600),
        Outcome(f"{what}: host-runs lost", f"{lost:.0f}", "", "0", Met.MISSED if lost else Met.MET),
    ]


def _line(what: str, value: float, aim: float) -> Outcome:
    return Outcome(what, f"{value:.3g}", "", f"under {aim:g}", Met.MET if value < aim else Met.MISSED)


def _study(server: Server, count: int, seconds: int) -> Figures:
    """Have workers carry a study of so many hosts; return what that took in all."""
    url = server.library()
    with lab_hosts(count) as folder, closing(Workstation(url, folder / "hosts.toml")) as workstation:
        workstation.prepare_queue()
        study = workstation.begin_fleet_study(sleep_plan(count, seconds), AnsweringAsker(), by_workers=True)
        before = _figures(server, url)
        memory = _carry(folder, url)
        after = _figures(server, url)
        done = workstation.fleet_study(study.id).counts.get(HostRunState.DONE, 0)
    return {name: after[name] - before[name] for name in AIMS} | {"memory": memory, "done": float(done)}


def _carry(folder: Path, url: ServerUrl) -> float:
    """Run workers until nothing is left to do; return the peak memory of one in MiB."""
    words = [sys.executable, "-m", "app", "worker", "--once", "--yes", "--at-once", str(AT_ONCE)]
    with ExitStack() as all_of_them:
        output = all_of_them.enter_context((folder / "output").open("ab"))

        def start() -> "subprocess.Popen[bytes]":
            return subprocess.Popen(
                words, cwd=ROOT, env={**os.environ, "BENCHWRIGHT_STORE": url.url},
                stdin=subprocess.DEVNULL, stdout=output, stderr=output,
            )  # fmt: skip

        first, *others = [all_of_them.enter_context(start()) for _ in range(WORKERS)]
        peak = peak_memory(first)
    if any(worker.returncode for worker in (first, *others)):
        raise RuntimeError((folder / "output").read_text(errors="replace")[-2000:])
    return peak


def _figures(server: Server, url: ServerUrl) -> Figures:
    """Return what workers that ended, the server and the library have taken so far."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    query = "SELECT xact_commit, pg_database_size(datname) FROM pg_stat_database WHERE datname = %s"
    with server.connect() as connection:
        row = connection.execute(query, [url.url.rpartition("/")[2]]).fetchone()
    assert row is not None
    commits, size = (float(str(value)) for value in row)
    found = used.ru_utime + used.ru_stime, server.processor_seconds(), commits, size / 2**20
    return dict(zip(AIMS, found, strict=True))
