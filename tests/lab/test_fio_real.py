"""fio and dd for real: the suites' own commands, run by hand, against the figures that the tools print."""

import json
import os
import shutil
import signal
import subprocess
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from app.checks.before import check_plan
from app.plans.presets import tuned_plan
from remote.local import LocalSession
from remote.probe import read_facts
from suites.base import Command, Context, Purpose, Suite, complete_values
from suites.dd.suite import Dd
from suites.fio.suite import Fio
from suites.outputs import ParsedTrial
from suites.parameters import Value
from suites.vocab import Sample, Severity
from tests.messages import messages

MESSAGES = messages("lab", "test_fio_real")

MIB = 2**20

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")

ENVIRONMENT = {**os.environ, "LC_ALL": "C"}


def prepare(suite: Suite, values: Mapping[str, Value], directory: Path) -> None:
    for command in of(suite, values, Purpose.PREPARE):
        subprocess.run(command.argv, cwd=directory, check=True, capture_output=True, env=ENVIRONMENT, timeout=60)


def of(suite: Suite, values: Mapping[str, Value], purpose: Purpose) -> list[Command]:
    return [command for command in suite.commands(values, Context()) if command.purpose is purpose]


class Run:
    """One measuring command under way, parsed as it prints; stdout and stderr come mixed, as a terminal shows them."""

    def __init__(self, suite: Suite, values: Mapping[str, Value], directory: Path) -> None:
        (command,) = of(suite, values, Purpose.MEASURE)
        self.parser = suite.parser(values)
        self.output = b""
        self.process = subprocess.Popen(
            command.argv, cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env=ENVIRONMENT
        )

    def samples(self) -> Iterator[Sample]:
        """Yield the samples as they arrive, until the tool ends."""
        assert self.process.stdout is not None
        while chunk := os.read(self.process.stdout.fileno(), 65536):
            self.output += chunk
            yield from self.parser.feed(chunk)

    def end(self) -> ParsedTrial:
        """Return what the whole output means."""
        with self.process:
            for _sample in self.samples():
                pass
            return self.parser.finish(self.process.wait(timeout=30))


def of_operation(parsed: ParsedTrial, metric: str, operation: str) -> float:
    (value,) = [
        figure.value
        for figure in parsed.figures
        if figure.metric.name == metric and dict(figure.labels).get("operation") == operation
    ]
    return value


def last_document(output: bytes) -> dict[str, object]:
    document = json.loads(output[(b"\n" + output).rindex(b"\n{\n") :])
    (job,) = document["jobs"]
    assert isinstance(job, dict)
    return job


def test_the_figures_are_fios_own_and_arrive_while_it_runs(tmp_path: Path) -> None:
    values = complete_values(
        Fio(), {"rw": "randrw", "size": "16 MiB", "numjobs": 2, "runtime": 2, "ramp_time": 1, "fsync": 64}
    )
    prepare(Fio(), values, tmp_path)
    run = Run(Fio(), values, tmp_path)
    first = next(run.samples())
    assert run.process.poll() is None, "the first sample arrived only after fio had ended"
    parsed = run.end()
    assert parsed.complete
    assert first == parsed.samples[0]
    reported = last_document(run.output)
    for operation in ("read", "write"):
        own = reported[operation]
        assert isinstance(own, dict)
        assert of_operation(parsed, "iops", operation) == own["iops"]
        assert of_operation(parsed, "bandwidth", operation) == own["bw_bytes"]
        assert of_operation(parsed, "latency_p99", operation) == own["clat_ns"]["percentile"]["99.000000"]
        assert of_operation(parsed, "latency_max", operation) == own["clat_ns"]["max"]
    assert {sample.warm_up for sample in parsed.samples} == {True, False}


@pytest.mark.parametrize(
    "given",
    [
        {"ioengine": "posixaio", "block_sizes": "4k-64k", "iodepth": 4},
        {"ioengine": "pvsync2", "block_sizes": "4k,64k"},
        {"ioengine": "sync", "block_sizes": "4k/60:64k/40,16k/100", "buffer_compress_percentage": 50},
        {"ioengine": "mmap", "refill_buffers": True},
    ],
    ids=lambda given: given["ioengine"],
)
def test_every_engine_and_every_sort_of_block_size_is_accepted(given: dict[str, object], tmp_path: Path) -> None:
    values = complete_values(Fio(), {"rw": "randrw", "size": "4 MiB", "loops": 2, **given})
    prepare(Fio(), values, tmp_path)
    run = Run(Fio(), values, tmp_path)
    parsed = run.end()
    assert parsed.complete, run.output
    reported, issued = last_document(run.output), 0
    for operation in ("read", "write"):
        own = reported[operation]
        assert isinstance(own, dict)
        assert of_operation(parsed, "iops", operation) == own["iops"]
        issued += own["io_bytes"]
    if "block_sizes" not in given:  # of several sizes at random, fio stops where none fits what is left of its map
        assert issued == 2 * values["size"]


def test_the_layout_writes_every_block(tmp_path: Path) -> None:
    values = complete_values(Fio(), {"rw": "randread", "size": 5 * MIB + 512 * 1024, "numjobs": 2})
    prepare(Fio(), values, tmp_path)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir()}
    assert sorted(before) == ["benchwright.0.0", "benchwright.1.0"]
    for content in before.values():
        assert len(content) == values["size"]
        blocks = [content[place : place + 4096] for place in range(0, len(content), 4096)]
        assert not any(block.count(0) == len(block) for block in blocks)
    assert all(path.stat().st_blocks * 512 >= int(values["size"]) for path in tmp_path.iterdir())
    parsed = Run(Fio(), values, tmp_path).end()
    assert parsed.complete
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_a_stopped_fio_keeps_its_figures_and_leaves_no_process(tmp_path: Path) -> None:
    values = complete_values(Fio(), {"rw": "randread", "size": "16 MiB", "numjobs": 2, "runtime": 60})
    prepare(Fio(), values, tmp_path)
    run = Run(Fio(), values, tmp_path)
    next(run.samples())
    run.process.send_signal(signal.SIGTERM)
    parsed = run.end()
    assert not parsed.complete
    assert "stopped by signal 15" in parsed.notes[0]
    assert of_operation(parsed, "iops", "read") > 0
    left = [entry for entry in Path("/proc").iterdir() if entry.name.isdigit() and works_in(entry, tmp_path)]
    assert left == []


def works_in(process: Path, directory: Path) -> bool:
    try:
        return (process / "cwd").readlink() == directory
    except OSError:  # another user's, or gone meanwhile
        return False


@pytest.mark.parametrize(
    "source",
    ["/dev/zero", "file", *(pytest.param(each, marks=pytest.mark.slow) for each in ("/dev/urandom", "prepared"))],
)
def test_the_rate_is_dds_bytes_by_its_seconds(source: str, tmp_path: Path) -> None:
    values = complete_values(Dd(), {"input": source, "block_size": "1 MiB", "count": 64, "flush": "fdatasync"})
    prepare(Dd(), values, tmp_path)
    run = Run(Dd(), values, tmp_path)
    parsed = run.end()
    found = {figure.metric.name: figure.value for figure in parsed.figures}
    assert parsed.complete
    assert parsed.notes == ()
    assert found["copied"] == 64 * MIB
    assert f"{found['elapsed']:g} s".encode() in run.output
    assert found["bandwidth"] == pytest.approx(64 * MIB / found["elapsed"] / 1e6)
    copy = (tmp_path / "benchwright.dat").read_bytes()
    assert len(copy) == 64 * MIB
    assert (len(zlib.compress(copy, 1)) < MIB) is (source == "/dev/zero")


def test_the_tuned_plan_of_this_computer_raises_no_warning() -> None:
    session = LocalSession()
    try:
        facts = {"local": read_facts(session)}
    finally:
        session.close()
    report = check_plan(tuned_plan(["local"], ["fio", "dd"], facts, "p"), facts)
    # Of the steps: what else goes on on this computer while it is tested is nothing that a plan could help.
    assert [found for found in report.findings if found.severity is not Severity.INFO and found.step is not None] == []


def test_a_directory_that_is_not_there_is_told_from_real_facts() -> None:
    session = LocalSession()
    try:
        facts = {"local": read_facts(session, ["/nowhere/at/all"])}
    finally:
        session.close()
    plan = tuned_plan(["local"], ["fio"], facts, "p")
    (step,) = plan.steps
    moved = replace(step, values={**step.values, "directory": "/nowhere/at/all"})
    report = check_plan(replace(plan, steps=(moved,)), facts)
    assert ("directory-not-writable", "/nowhere/at/all: there is no such directory.") in [
        (found.id, found.measured) for found in report.findings
    ]


def test_a_steady_state_is_reached_and_told(tmp_path: Path) -> None:
    given = {"rw": "randread", "size": "16 MiB", "runtime": 30, "steady_state": "iops:90%", "steady_duration": 2}
    values = complete_values(Fio(), given)
    prepare(Fio(), values, tmp_path)
    run = Run(Fio(), values, tmp_path)
    parsed = run.end()
    assert parsed.complete
    reported = last_document(run.output)["steadystate"]
    assert isinstance(reported, dict)
    assert reported["attained"] == 1
    assert any(note.startswith(MESSAGES["steady_state_iops_90_over_2"]) for note in parsed.notes)
    found = {figure.metric.name: figure.value for figure in parsed.figures}
    assert found["steady_iops"] == reported["data"]["iops_mean"]


def test_written_data_are_read_back_and_hints_are_accepted(tmp_path: Path) -> None:
    given = {"rw": "write", "size": "4 MiB", "verify": "crc32c", "invalidate": False, "fadvise_hint": "sequential"}
    values = complete_values(Fio(), given)
    prepare(Fio(), values, tmp_path)
    parsed = Run(Fio(), values, tmp_path).end()
    assert parsed.complete
    operations = {dict(figure.labels)["operation"] for figure in parsed.figures if figure.metric.name == "iops"}
    assert operations == {"write"}  # the reads that verify are named, not measured
    assert any("verif" in note for note in parsed.notes)
