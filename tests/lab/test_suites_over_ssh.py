"""Suites run over SSH, each beside the same commands by hand: the figures are of one size."""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

import resources
from app.events import State
from app.plans.context import step_context
from app.plans.plan import LOCAL, make_step
from app.questions import RefusingAsker
from suites.base import Purpose
from suites.facts import Facts
from suites.outputs import ParsedTrial
from suites.registry import suite as find_suite
from tests.lab.probe_runs import run_once, workstation_in
from tests.lab_sshd import LabHost

pytestmark = pytest.mark.slow

MIB = 2**20

SHORT: dict[str, dict[str, object]] = {
    "sysbench-cpu": {"time": 2},
    "sysbench-threads": {"time": 2, "threads": 2},
    "sysbench-mutex": {"mutex_locks": 50_000, "threads": 2},
    "sysbench-memory": {"time": 2, "block_size": MIB, "total_size": 2**46},
    "sysbench-fileio": {"time": 2, "total_size": 16 * MIB, "file_num": 4, "extra_flags": "direct"},
    "stress-ng": {"method": "memrate", "memrate_bytes": 16 * MIB, "time": 2},
    "dd": {"block_size": MIB, "count": 64, "flush": "fdatasync"},
    "cp": {"size": 64 * MIB, "flush": "sync", "reflink": "never"},
    "ioping": {"count": 50, "interval": 0.01, "working_set": 16 * MIB},
    "fio": {"rw": "randread", "runtime": 2, "size": 16 * MIB, "direct": True},
    "fio-job": {"job": "[j]\nrw=randread\nbs=4k\nsize=16m\nruntime=2\ntime_based\ndirect=1\n"},
    "linpack": {"threads": 2},
}
"""Every suite whose tool Debian has or that brings its own, but those whose tests of their own do the same."""

SIMILAR = 10.0
"""How far the two may lie apart on a busy computer, whose flushes take turns: of one size, not equal."""


def by_hand(folder: Path, suite_id: str, facts: Facts) -> ParsedTrial:
    """Type the commands that a step shows, one after the other, and read what they print."""
    suite = find_suite(suite_id)
    step = make_step(suite_id, SHORT[suite_id])
    commands = suite.commands(step.values, step_context(step, LOCAL, {LOCAL: facts}))
    for file in {file for command in commands for file in command.files}:
        text = resources.read_text(file.resource) if file.resource else file.text
        assert text, "what has to be built is compared by tests of its own"
        (folder / file.name).write_text(text)
        (folder / file.name).chmod(0o755)
    parser, status = suite.parser(step.values), None
    for command in commands:
        done = subprocess.run(
            command.argv, cwd=folder, capture_output=True, check=False, timeout=120, env=os.environ | {"LC_ALL": "C"}
        )
        if command.purpose is Purpose.MEASURE:
            parser.feed(done.stdout)
            parser.feed(done.stderr, "stderr")
            status = done.returncode
    return parser.finish(status)


@pytest.mark.parametrize("suite_id", SHORT)
def test_a_suite_over_ssh_gives_what_its_commands_give_by_hand(
    lab_host: LabHost, tmp_path: Path, suite_id: str
) -> None:
    suite = find_suite(suite_id)
    if suite.tool != "cp" and shutil.which(suite.tool) is None:
        pytest.skip(f"{suite.tool} is not installed")
    lab_host.add_to_home("lab")
    given = SHORT[suite_id]
    with workstation_in(tmp_path) as workstation:
        facts = workstation.facts(LOCAL, RefusingAsker())
        ended, _events = run_once(workstation, suite_id, "lab", peer=None, **given)
    assert (ended.state, ended.reason) == (State.DONE, "")
    hand = tmp_path / "hand"
    hand.mkdir()
    typed = by_hand(hand, suite_id, facts)
    assert typed.complete, typed.notes
    (over_ssh, ours) = (found.figures[0] for found in (ended.parsed, typed))
    assert (over_ssh.metric, over_ssh.labels) == (ours.metric, ours.labels)
    assert 1 / SIMILAR < over_ssh.value / ours.value < SIMILAR
