"""Sweeps and job files with the real fio over SSH: its own figures, the shape that depth has, and errors by name."""

import json
import shlex
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from app.events import FindingRaised, OutputRead, SampleRead, State, TrialStarted
from app.scaling.sweeps import curves_of
from suites.facts import CpuFacts, Facts, MemoryFacts
from suites.fio_job.file import effective_sections
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost
from tests.suites.captured_outputs import figures

pytestmark = [
    pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed"),
    pytest.mark.usefixtures("few_programs"),
]

JOB = """; two sections, one after the other
[global]
size=8m   # small
direct=1
ioengine=libaio
iodepth=${DEPTH}
runtime=1
time_based
group_reporting
[random]
readwrite=randread
numjobs=$ncpus
[sequence]
stonewall
rw=read
blocksize=64k
"""


def documents(output: bytes) -> list[dict[str, Any]]:
    """Return fio's documents as the standard library reads them."""
    text, decoder, position, found = output.decode(), json.JSONDecoder(), 0, []
    while (start := text.find("{\n", position)) >= 0:
        document, position = decoder.raw_decode(text, start)
        found.append(document)
    return found


def printed(events: list[object]) -> bytes:
    return b"".join(event.data for event in events if isinstance(event, OutputRead) and event.stream == "stdout")


@pytest.mark.alone
@pytest.mark.slow
def test_a_sweep_over_ssh_has_fios_own_figures_and_grows_with_depth(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    given: dict[str, Any] = {
        "directory": str(tmp_path),
        "size": "16 MiB",
        "rw": "randread",
        "depths": "1, 4, 16",
        "runtime": 1,
    }
    with workstation_in(tmp_path) as workstation:
        ended, events = run_once(workstation, "fio-sweep", "lab", **given)
    assert (ended.state, ended.reason) == (State.DONE, "")
    last = {one["jobs"][0]["job options"]["iodepth"]: one["jobs"][0]["read"] for one in documents(printed([*events]))}
    curve = next(curve for curve in curves_of(ended.parsed.figures) if curve.metric.name == "iops_by_point")
    assert {point.text: point.median for point in curve.points} == {depth: own["iops"] for depth, own in last.items()}
    assert curve.points[-1].median > 1.2 * curve.points[0].median
    live = [event.sample for event in events if isinstance(event, SampleRead)]
    assert {dict(sample.labels).get("depth") for sample in live} == {None, "1", "4", "16"}
    raised = [event.finding.id for event in events if isinstance(event, FindingRaised)]
    assert "not-from-the-device" not in raised


@pytest.mark.alone
@pytest.mark.slow
def test_the_commands_by_hand_give_a_figure_of_the_same_size(tmp_path: Path) -> None:
    given: dict[str, Any] = {
        "directory": str(tmp_path),
        "size": "16 MiB",
        "depths": "1, 8",
        "blocks": "64k",
        "runtime": 1,
    }
    with workstation_in(tmp_path) as workstation:
        ended, events = run_once(workstation, "fio-sweep", "local", **given)
    (started,) = (event for event in events if isinstance(event, TrialStarted))
    by_hand = tmp_path / "by hand"
    by_hand.mkdir()
    reported: dict[str, float] = {}
    for command in started.trial.commands:
        done = subprocess.run(shlex.split(command.line), cwd=by_hand, check=True, capture_output=True, timeout=60)
        for document in documents(done.stdout):
            job = document["jobs"][0]
            reported[job["job options"]["iodepth"]] = job["read"]["iops"]
    found = {dict(f.labels)["depth"]: f.value for f in ended.parsed.figures if f.metric.name == "iops_by_point"}
    assert set(reported) == set(found) == {"1", "8"}
    for depth, value in found.items():  # a shared machine: the same size, not the same figure
        assert 0.25 < reported[depth] / value < 4


def test_a_job_file_runs_over_ssh_as_it_is(lab_host: LabHost, tmp_path: Path) -> None:
    lab_host.add_to_home()
    given: dict[str, Any] = {"directory": str(tmp_path), "job": JOB, "environment": "DEPTH=4"}
    with workstation_in(tmp_path) as workstation:
        ended, events = run_once(workstation, "fio-job", "lab", **given)
    assert (ended.state, ended.reason) == (State.DONE, "")
    own = {job["jobname"]: job["read"] for job in documents(printed([*events]))[-1]["jobs"]}
    found = figures(ended.parsed)
    assert {name: found[f"iops {name} read"] for name in own} == {name: read["iops"] for name, read in own.items()}
    times = [event.sample.time for event in events if isinstance(event, SampleRead)]
    assert times == sorted(times)
    assert max(times) > 1.5, "the second section stands after the first"


def test_sections_are_read_as_fio_reads_them(tmp_path: Path) -> None:
    path = tmp_path / "job.fio"
    path.write_text(JOB.replace("$ncpus", "2"))
    done = subprocess.run(
        ["fio", "--showcmd", str(path)],
        check=True,
        capture_output=True,
        text=True,
        timeout=30,
        env={"DEPTH": "4", "PATH": "/usr/bin:/bin"},
    )
    reported: dict[str, dict[str, str]] = {}
    shared: dict[str, str] = {}
    current = shared
    for word in shlex.split(done.stdout)[1:]:
        name, _, value = word.removeprefix("--").partition("=")
        if name == "name":
            current = reported[value] = dict(shared)
        else:
            current[{"readwrite": "rw", "blocksize": "bs"}.get(name, name)] = value or "1"
    facts = Facts(host="h", read_at="now", cpu=CpuFacts(threads=2), memory=MemoryFacts(total=2**30))
    read = effective_sections(path.read_text(), {"DEPTH": "4"}, facts)
    assert {section.name: dict(section.options) for section in read} == reported


@pytest.mark.parametrize(
    ("job", "shown"),
    [
        pytest.param("[one]\nsize=1m\nrw=write\nfilename=${NOBODY}\n", "uses ${NOBODY}", id="variable"),
        pytest.param("[one]\nsize=1m\nioengine=nosuch\n", "nosuch", id="engine", marks=pytest.mark.slow),
        pytest.param("[one]\nsize=1m\nnosuchoption=1\n", "nosuchoption", id="option"),
        pytest.param(
            "[one]\nsize=1m\nrw=read\nbs=2m\n", "Block larger than the file", id="block", marks=pytest.mark.slow
        ),
    ],
)
def test_what_fio_refuses_is_named(job: str, shown: str, tmp_path: Path) -> None:
    with workstation_in(tmp_path) as workstation:
        ended, _ = run_once(workstation, "fio-job", "local", directory=str(tmp_path), job=job)
    assert ended.state is State.FAILED
    assert shown in ended.reason


@pytest.mark.parametrize(
    "named", [pytest.param("filename={one}/f:{two}/f", marks=pytest.mark.slow), "directory={one}:{two}\nnumjobs=2"]
)
def test_volumes_at_once_are_named_with_colons_as_fio_has_it(tmp_path: Path, named: str) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.mkdir()
    two.mkdir()
    job = f"[both]\nrw=randread\nbs=4k\nsize=2m\nruntime=1\ntime_based\n{named.format(one=one, two=two)}\n"
    with workstation_in(tmp_path) as workstation:
        ended, events = run_once(workstation, "fio-job", "local", directory=str(tmp_path), job=job)
    assert (ended.state, ended.reason) == (State.DONE, "")
    assert all(any(folder.iterdir()) for folder in (one, two))
    (own, *_others) = documents(printed([*events]))[-1]["jobs"]
    assert own["read"]["total_ios"] > 0
