"""A study of many hosts: time, processor and memory, beside pssh and ansible running the same bare command there.

The command is ``sleep``: what the hosts do is nothing, and what is measured is the program that reaches them. A
study also reads facts, watches each host and stores everything. The simulation is of the scheduler alone.
"""

import json
import os
import resource
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from app.fleet.simulation import simulated
from app.fleet_study import FleetHost, FleetLimits, FleetPlan, HostRun, HostRunState
from app.host_attributes import HostAttributes
from app.plans.plan import Plan, Repetition, make_step
from app.services import Workstation
from tests.lab.fleet_hosts import CPU_GROUPS, fleet, names_of
from tests.lab.guard import guarded_directory
from tests.lab_sshd import AnsweringAsker
from tests.perf.first_window import ROOT
from tests.perf.fleet import IDLE
from tests.perf.host import make_keys, move_home
from tests.perf.outcome import Met, Outcome

SIZES = (10, 50, 100)
FEWER, AT_ONCE = 50, 16
COMMAND = "sleep {}"
SHORT, LONG = 1, 21
"""Seconds of a trial; the difference is what each further second takes."""

LEAST_PRIORITY, LEAST_SHARES = 19, 2
STALL, WORK, LIVE_WORK = 0.25, 0.1, 0.3
"""Seconds for which the window may be away from its events, and processor seconds that it may work at a time; when the
first run is shown live, its plots are made."""


Found = dict[str, float]
"""Seconds, processor seconds and peak MiB."""


def run() -> list[Outcome]:
    """Return what each number of hosts takes, the growth, and the simulation."""
    found = {size: _size(size) for size in SIZES}
    lines = [line for size in SIZES for line in _lines(size, found[size])]
    return [*lines, *_growth(found), _further(found[FEWER]["benchwright"]), *_window(max(SIZES)), *_simulation()]


def _window(count: int) -> list[Outcome]:
    """Return the longest stall of the window while it runs a study, and its longest work without a pause.

    A stall has what the window's other threads take, which carry the host-runs.
    """
    with lab_hosts(count) as folder:
        words = [sys.executable, "-m", "tests.perf.fleet_window", str(folder), str(count)]
        control = [sys.executable, "-S", "-E", "-c", IDLE]
        with subprocess.Popen(control, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as idle:
            done = subprocess.run(words, check=True, stdout=subprocess.PIPE, cwd=ROOT, timeout=1800)
            shown, _ = idle.communicate()
    found: Found = json.loads(done.stdout)
    board = f"{count} hosts, {AT_ONCE} at once: the window with the board"
    return [
        _window_line(f"{board}, longest work without a pause", found["work"], WORK),
        _window_line(f"{board}, longest stall (an idle program: {float(shown):.3f} s)", found["stall"], STALL),
        _window_line(f"{board}, longest work when a host-run is shown live", found["live"], LIVE_WORK),
        Outcome(f"{board}, host-runs lost", f"{count - found['done']:.0f}", "", "0",
                Met.MET if found["done"] == count else Met.MISSED),
    ]  # fmt: skip


def _window_line(what: str, value: float, aim: float) -> Outcome:
    return Outcome(what, f"{value:.3f} s", "", f"under {aim:g} s", Met.MET if value < aim else Met.MISSED)


def _further(short: Found) -> Outcome:
    """Return the processor time of each further second of a host-run."""
    with lab_hosts(FEWER) as folder:
        found = _measured(_own_words(folder, FEWER, LONG), {})
    each = (found["cpu"] - short["cpu"]) / FEWER / (LONG - SHORT)
    what = f"{FEWER} hosts: processor seconds of each further second of a host-run"
    return Outcome(what, f"{each:.4f}", "", "under 0.03", Met.MET if each < 0.03 else Met.MISSED)


def _own_words(folder: Path, count: int, seconds: int) -> Sequence[str]:
    return [sys.executable, "-m", "tests.perf.fleet_study", str(folder), str(count), str(seconds)]


def _size(count: int) -> Mapping[str, Found]:
    with lab_hosts(count) as folder:
        return {side: _measured(words, environment) for side, (words, environment) in _sides(folder, count).items()}


@contextmanager
def lab_hosts(count: int) -> Iterator[Path]:
    """Yield a folder with a home, with so many hosts running."""
    with guarded_directory("benchwright-bench-") as folder:
        move_home(folder / "home")
        leases = folder / "own-leases"
        leases.mkdir()
        os.environ["BENCHWRIGHT_LEASES"] = str(leases)
        with _least_priority() as put, fleet(folder / "fleet", make_keys(folder), names_of(count)) as hosts:
            for host in hosts.values():
                put(host.pid)
            yield folder


@contextmanager
def _least_priority() -> Iterator[Callable[[int], object]]:
    """Yield what gives a process and its children the least share of the processors, where CPU groups can be made.

    The hosts are on this computer, but are to take nothing from the programs. To be nice is not enough: the kernel
    gives each session, of which every SSH connection is one, the same share.
    """
    group = CPU_GROUPS / f"benchwright-bench-{os.getpid()}"
    try:
        group.mkdir()
        (group / "cpu.shares").write_text(str(LEAST_SHARES))
    except OSError:
        yield lambda pid: os.setpriority(os.PRIO_PROCESS, pid, LEAST_PRIORITY)
        return
    try:
        yield lambda pid: (group / "cgroup.procs").write_text(str(pid))
    finally:
        with suppress(OSError):
            group.rmdir()


def _sides(folder: Path, count: int) -> Mapping[str, tuple[Sequence[str], Mapping[str, str]]]:
    """Return the command line of each program, and its environment."""
    names = names_of(count)
    (folder / "hosts").write_text("\n".join(names))
    command = COMMAND.format(SHORT)
    sides: dict[str, tuple[Sequence[str], Mapping[str, str]]] = {
        "benchwright": (_own_words(folder, count, SHORT), {}),
    }
    config = f"-F {Path.home()}/.ssh/config -o UserKnownHostsFile={Path.home()}/.ssh/known_hosts"
    if shutil.which("parallel-ssh"):
        words = ["parallel-ssh", "-h", str(folder / "hosts"), "-p", str(AT_ONCE), "-x", config, command]
        sides["pssh"] = words, {}
    if shutil.which("ansible"):
        words = ["ansible", "all", "-i", f"{','.join(names)},", "-f", str(AT_ONCE), "--ssh-common-args", config, "-m",
                 "raw", "-a", command]  # fmt: skip
        sides["ansible"] = words, {"ANSIBLE_LOCAL_TEMP": str(folder / "ansible"), "LC_ALL": "C.UTF-8"}
    return sides


def _measured(words: Sequence[str], environment: Mapping[str, str]) -> Found:
    """Run a program; return its time, and what it and its children took."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    began = time.monotonic()
    process = subprocess.Popen(
        words, env={**os.environ, **environment}, cwd=ROOT, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )  # fmt: skip
    with process, ThreadPoolExecutor(1) as pool:
        peak = pool.submit(peak_memory, process)
        shown, _ = process.communicate(timeout=1800)
    seconds = time.monotonic() - began
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    if process.returncode:
        raise RuntimeError(f"{words[0]} ended with {process.returncode}: {shown[-2000:].decode(errors='replace')}")
    used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    own = json.loads(shown) if shown.startswith(b"{") else {}
    return {"seconds": seconds, "cpu": used, "memory": peak.result(), **own}


def peak_memory(process: "subprocess.Popen[bytes]") -> float:
    """Wait for the end of a process; return the largest sum of its proportional set size and those below it, in MiB."""
    peak = 0.0
    while process.poll() is None:
        peak = max(peak, sum(map(_memory, _below(process.pid))) / 1024)
        time.sleep(0.5)
    return peak


def _below(root: int) -> set[int]:
    parents = {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            parents[int(path.parent.name)] = int(path.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
    found = {root}
    for _ in range(4):
        found |= {pid for pid, parent in parents.items() if parent in found}
    return found


def _memory(pid: int) -> float:
    try:
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return next((float(line.split()[1]) for line in lines if line.startswith("Pss:")), 0.0)


def _lines(count: int, found: Mapping[str, Found]) -> list[Outcome]:
    ours = found["benchwright"]

    def beside(name: str, unit: str) -> str:
        others = [f"{side} {figures[name]:.1f}{unit}" for side, figures in found.items() if side != "benchwright"]
        return f" ({', '.join(others) or 'no other tool is installed'})"

    lost = count - int(ours.get("done", count))
    return [
        Outcome(f"{count} hosts: time{beside('seconds', ' s')}", f"{ours['seconds']:.1f} s", "", "", Met.MET),
        Outcome(f"{count} hosts: processor seconds a host{beside('cpu', ' in all')}", f"{ours['cpu'] / count:.2f}", "",
                "under 1.5", Met.MET if ours["cpu"] / count < 1.5 else Met.MISSED),
        Outcome(f"{count} hosts: peak MiB{beside('memory', '')}", f"{ours['memory']:.0f}", "", "under 600",
                Met.MET if ours["memory"] < 600 else Met.MISSED),
        Outcome(f"{count} hosts: host-runs lost", str(lost), "", "0", Met.MISSED if lost else Met.MET),
    ]  # fmt: skip


def _growth(found: Mapping[int, Mapping[str, Found]]) -> list[Outcome]:
    """Return the growth of processor time from the fewest hosts to the most, by that of their number."""
    least, most = min(SIZES), max(SIZES)
    ratio = found[most]["benchwright"]["cpu"] / found[least]["benchwright"]["cpu"] / (most / least)
    aim, met = "under 1.2", Met.MET if ratio < 1.2 else Met.MISSED
    return [
        Outcome(f"growth of processor time from {least} to {most} hosts, by their number", f"{ratio:.2f}", "", aim, met)
    ]


def _simulation() -> list[Outcome]:
    plan = large_plan(10_000, sessions=4)
    began = time.process_time()
    runs = simulated(plan, lambda one: 60.0 + one.number % 7, _fails)
    taken = time.process_time() - began
    ended = {each.one.number for each in runs if not each.failed}
    for_good = len({each.one.number for each in runs} - ended)
    what = "scheduler: processor seconds for 10,000 hosts x 4 sessions, 5 % failures, limits of zones and storage"
    return [
        Outcome(what, f"{taken:.1f} s", "", "under 60 s", Met.MET if taken < 60 else Met.MISSED),
        Outcome("scheduler: host-runs that neither ended nor failed three times", str(40_000 - len(ended) - for_good),
                "", "0", Met.MET if len(ended) + for_good == 40_000 else Met.MISSED),
    ]  # fmt: skip


def large_plan(count: int, sessions: int) -> FleetPlan:
    """Return a plan of ten groups in four zones, every hundred hosts on one storage, 500 at once."""
    hosts = tuple(
        FleetHost(f"h{number}", f"g{number % 10}", HostAttributes(zone=f"z{number % 4}", storage=f"s{number // 100}"))
        for number in range(count)
    )
    step = make_step("sysbench-cpu", {"time": 30})
    plan = Plan("large", (), (step,), repetition=Repetition(sessions=sessions, every=86400.0))
    return FleetPlan(plan, hosts, limits=FleetLimits(500, per_zone=150, per_storage=10))


def _fails(one: HostRun, attempt: int) -> bool:
    return (one.number * 7919 + attempt * 104_729) % 20 == 0


def sleep_plan(count: int, seconds: int = SHORT) -> FleetPlan:
    """Return the plan of the command on so many hosts of fleet(), in four groups."""
    step = make_step("command", {"command": COMMAND.format(seconds)})
    hosts = tuple(FleetHost(name, f"g{index % 4}") for index, name in enumerate(names_of(count)))
    return FleetPlan(Plan("sleep", (), (step,), repetition=Repetition(trials=1)), hosts, limits=FleetLimits(AT_ONCE))


def _client(folder: Path, count: int, seconds: int) -> Found:
    """Run a study of the command on every host; return the number of host-runs that are done."""
    workstation = Workstation(folder / "runs.sqlite3", folder / "hosts.toml")
    study = workstation.begin_fleet_study(sleep_plan(count, seconds), AnsweringAsker())
    ended = workstation.fleet_runner(study.id, AnsweringAsker()).run()
    return {"done": float(ended.counts.get(HostRunState.DONE, 0))}


if __name__ == "__main__":
    sys.stdout.write(json.dumps(_client(Path(sys.argv[1]), *map(int, sys.argv[2:]))))
